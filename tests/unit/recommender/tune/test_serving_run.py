"""One start of a server: proven, warm, probed, ended; and numbers that follow from its settings."""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import WorkspaceError
from kg.nouns.entities import Better, Status
from recommender.tune import serving_run
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.launch_script import LaunchScript
from recommender.tune.limits import LatencyLimit
from recommender.tune.load import Load, LoadKind
from recommender.tune.load_client import LoadClient
from recommender.tune.ports import free_port
from recommender.tune.serving_evaluator import ServingEvaluator, _interpolated, serving_objective
from recommender.tune.serving_run import Probe
from recommender.tune.tune_result import TuneResult, TuneStart
from tests.fake_engine import install, running

LOAD = Load(kind=LoadKind.CONCURRENCY, value=4, requests=16, least_s=0.2, input_len=8, output_len=6)


@pytest.fixture
def evaluator(tmp_path: Path) -> ServingEvaluator:
    """It, of a script that starts an engine of four slots and 4 ms a token."""
    install(tmp_path / "bin")
    path = tmp_path / "serve.sh"
    path.write_text("vllm serve /m/tiny --max-num-seqs 4\n")
    return ServingEvaluator(
        place=LaunchPlace(
            script=LaunchScript.read(path, tmp_path, path.read_text()),
            base={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
            folder=tmp_path / "runs",
            mark="test-serving",
            silence_s=20,
        ),
        load=LOAD,
        repeats=0,
    )


def measure(made: ServingEvaluator, bar: float | None = None, **flags: tuple[str, ...]) -> TuneResult:
    edits = ScriptEdits(flags={f"--{name.replace('_', '-')}": words for name, words in flags.items()})
    return made.evaluate(TuneStart(edits=edits, number=0, bar=bar), threading.Event())


def test_more_slots_give_more_tokens_and_a_slow_kernel_fewer(evaluator: ServingEvaluator) -> None:
    slower = {**evaluator.place.base, "TOKEN_MS": "20"}  # so that a busy machine adds little to it
    evaluator.place = replace(evaluator.place, base=slower)
    evaluator.load = replace(LOAD, output_len=3)
    base = measure(evaluator)
    runs = (base, measure(evaluator, max_num_seqs=("1",)), measure(evaluator, enforce_eager=()))
    best, one, slow = (item.value or 0.0 for item in runs)
    assert min(one, slow) > 0
    assert 1.5 * max(one, slow) < best <= 4 * 1000 / 20  # four slots, 20 ms a token: no client counts more
    assert base.others["ttft_p50_s"] >= 0.02
    assert len(base.answers) == len(base.tokens) == 8
    assert (base.wavers, base.wavering) == (False, (0.0,) * 8)
    assert evaluator.words_per_token == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("sglang", "sglang serve --model-path /m/tiny --port 30000"),
        ("mindieservice_daemon", "export PORT=1025\n./bin/mindieservice_daemon"),
    ],
)
def test_every_engine_is_started_asked_and_ended(
    evaluator: ServingEvaluator, tmp_path: Path, program: str, line: str
) -> None:
    """By its own command, with its own flags for port and name; MindIE keeps the port of its configuration."""
    install(tmp_path / "bin", program)
    script = LaunchScript.read(tmp_path / "serve.sh", tmp_path, f"{line}\n")
    evaluator.place = replace(evaluator.place, script=script)
    found = measure(evaluator)
    assert found.is_ok, found.reason
    assert found.value is not None
    assert found.value > 100


def test_a_load_generator_of_others_is_believed(evaluator: ServingEvaluator, tmp_path: Path) -> None:
    """It asks the server that was started, under the name that this one serves, once a probe."""
    (tmp_path / "client.py").write_text(
        "import json, sys, urllib.request as r\n"
        "url, model, out = sys.argv[1:]\n"
        "body = json.dumps({'model': model, 'prompt': 'a b', 'max_tokens': 3, 'stream': False}).encode()\n"
        "said = json.load(r.urlopen(url + '/completions', body))\n"
        "tokens = said['usage']['completion_tokens']\n"
        "json.dump({'total_output_tokens': tokens, 'output_throughput': 7.5, 'model_id': model}, open(out, 'w'))\n"
    )
    client = f"{sys.executable} client.py {{url}} {{model}} {{out}}"
    found = measure(replace(evaluator, client=LoadClient.of(client, LOAD, "/m/tiny")))
    assert (found.value, found.kept, found.probes) == (7.5, True, 1)
    written = json.loads((tmp_path / "runs" / "000" / "load-0").read_text())
    assert written["total_output_tokens"] == 3
    assert written["model_id"].startswith("tunegraph-")


def test_a_candidate_below_the_best_is_dropped_by_its_first_probe(evaluator: ServingEvaluator) -> None:
    found = measure(evaluator, bar=1e5)
    assert found.is_dropped
    assert found.probes == 1
    assert "the best has 1e+05" in found.reason


def test_a_flag_that_the_engine_refuses_is_a_failure_of_the_configuration(
    evaluator: ServingEvaluator,
) -> None:
    found = measure(evaluator, max_num_seqs=("many",))
    assert found.status is Status.FAILED
    assert "invalid int value: 'many'" in found.reason


def test_what_cannot_be_written_is_not_measured(evaluator: ServingEvaluator, tmp_path: Path) -> None:
    """Flags of a command that nothing knows: the script as it is would be measured in their name."""
    script = LaunchScript.read(tmp_path / "serve.sh", tmp_path, "./my-server\n", ready="http://x:1/health")
    evaluator.place = replace(evaluator.place, script=script)
    found = measure(evaluator, speed=("9",))
    assert found.status is Status.FAILED
    assert "it cannot be written: " in found.reason


def test_answers_are_asked_of_what_is_new_and_may_be_better(evaluator: ServingEvaluator) -> None:
    start = TuneStart(edits=ScriptEdits(), number=0)
    asked: list[tuple[dict[str, Any], bool]] = [({}, True), ({"bar": 80.0}, True), ({"bar": 100.0}, False)]
    asked += [({"bar": 80.0, "is_repeat": True}, False), ({"seed": 1}, False)]
    for more, is_judged in asked:
        assert evaluator._is_judged(replace(start, **more), 90.0) is is_judged
    again = evaluator.evaluate(replace(start, is_repeat=True), threading.Event())
    assert (again.status, again.answers) == (Status.OK, ())


def test_the_highest_rate_that_keeps_a_limit(evaluator: ServingEvaluator) -> None:
    """Four slots of some 24 ms each serve at most 166 requests a second; one slot a quarter of that."""
    evaluator.load = replace(LOAD, kind=LoadKind.FIND, requests=30)
    evaluator.limits = [LatencyLimit.parse("ttft_p90<=150ms")]
    base = measure(evaluator)
    assert base.value is not None
    assert 10 < base.value < 400
    one = measure(evaluator, bar=base.value, max_num_seqs=("1",))
    assert one.is_dropped
    assert "it misses the limits at" in one.reason
    evaluator.limits = [LatencyLimit.parse("ttft_p90<=1ms")]
    none = measure(evaluator)
    assert none.is_dropped
    assert re.search(r"even for one user at a time, where ttft_p90 is 0\.0\d+ s", none.reason)


def test_a_port_in_other_hands_ends_everything_before_a_start(
    evaluator: ServingEvaluator, tmp_path: Path
) -> None:
    port = free_port()
    with running(tmp_path / "old", port) as old:
        evaluator.ready_url = f"http://127.0.0.1:{port}/health"
        with pytest.raises(WorkspaceError, match=f"port {port} is taken by process {old.pid}"):
            measure(evaluator)
        assert old.poll() is None


@pytest.mark.parametrize("line", ["--api-key $(echo s3cret-of-ours)", ""])
def test_ready_may_stand_behind_a_key_that_the_server_is_started_with(
    evaluator: ServingEvaluator, tmp_path: Path, line: str
) -> None:
    port, path = free_port(), tmp_path / "own.sh"
    path.write_text(f"export OPENAI_API_KEY=s3cret-of-ours\n./bin/vllm serve tiny --port {port} {line}\n")
    (tmp_path / "bin" / "vllm").rename(tmp_path / "bin" / "own")
    text, evaluator.ready_url = (
        path.read_text().replace("/vllm", "/own"),
        f"http://127.0.0.1:{port}/v1/models",
    )
    script = LaunchScript.read(path, tmp_path, text, ready=evaluator.ready_url)
    assert script.program == ""
    evaluator.place = replace(evaluator.place, script=script)
    assert measure(evaluator).status is Status.OK


def test_who_answers_must_be_who_was_started(
    evaluator: ServingEvaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old server on the port that nobody saw: it answers health, and it is not measured."""
    port = free_port()
    monkeypatch.setattr(serving_run, "free_port", lambda: port)
    monkeypatch.setattr(serving_run, "is_taken", lambda _: False)
    with running(tmp_path / "old", port) as old:
        with pytest.raises(WorkspaceError, match=f"port {port} is answered by process {old.pid}"):
            measure(evaluator)
        assert old.poll() is None


def test_a_disturbed_probe_is_repeated_and_then_told(
    evaluator: ServingEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Iterator[str] = iter(["a neighbour", "a neighbour", ""])
    monkeypatch.setattr(serving_run, "disturbance", lambda *_: next(told))
    evaluator.repeats = 4
    found = measure(evaluator)
    assert (len(found.void), found.disturbed, found.probes) == (2, 0, 1)
    monkeypatch.setattr(serving_run, "disturbance", lambda *_: "a neighbour")
    found = measure(evaluator)
    assert (len(found.void), found.disturbed) == (4, 1)
    assert measure(evaluator).void == ()  # who is never quiet is not waited for again


@pytest.mark.parametrize(
    ("kind", "limits", "metric", "better"),
    [
        (LoadKind.FIND, ["ttft<=1s"], "throughput", Better.HIGHER),
        (LoadKind.RATE, [], "e2e_latency", Better.LOWER),
        (LoadKind.RATE, ["ttft<=1s"], "throughput", Better.HIGHER),
        (LoadKind.CONCURRENCY, [], "throughput", Better.HIGHER),
    ],
)
def test_what_is_improved_follows_from_load_and_limits(
    kind: LoadKind, limits: list[str], metric: str, better: Better
) -> None:
    found = serving_objective(replace(LOAD, kind=kind), [LatencyLimit.parse(text) for text in limits])
    assert (found.metric, found.better) == (metric, better)
    assert found.gain(2.0, 1.0) == (2.0 if better is Better.HIGHER else 0.5)


def test_a_rate_between_two_that_were_probed() -> None:
    limits = [LatencyLimit.parse("ttft_p90<=1s")]
    made: Any = None

    def probe(rate: float, share: float) -> Probe:
        return Probe(result=made, rate=rate, kept=share >= 0.9, shares=(share,))

    assert _interpolated([probe(4, 1.0), probe(8, 0.95), probe(16, 0.92)], limits) == 16
    assert _interpolated([probe(4, 1.0), probe(16, 0.8)], limits) == pytest.approx(8)
    assert _interpolated([probe(4, 0.8), probe(8, 1.0)], limits) == pytest.approx(3.6)


def test_two_of_three_rates_tell_a_comparison(evaluator: ServingEvaluator) -> None:
    """Four slots of some 24 ms each keep 20 requests a second, and of 2,000 nearly all wait for their turn."""
    evaluator.load = replace(LOAD, kind=LoadKind.FIND, requests=20)
    evaluator.limits = [LatencyLimit.parse("ttft_p90<=150ms")]
    rates = (20.0, 2_000.0, 20_000.0)
    found = evaluator.evaluate(
        TuneStart(edits=ScriptEdits(), number=0, seed=1, rates=rates), threading.Event()
    )
    assert found.probes == 2
    assert 20 <= (found.value or 0) < 2_000
