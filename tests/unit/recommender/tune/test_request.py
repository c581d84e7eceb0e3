"""The request of a tune: budgets, loads, the script as it was, and a journal without secrets."""

import json
from pathlib import Path

import pytest

from cli.values import span_s
from kg.errors import InputError
from recommender.tune.load import LoadKind
from recommender.tune.request import USERS, TuneRequest, budget_of, mark_of


def request(tmp_path: Path, **more: object) -> TuneRequest:
    path = tmp_path / "serve.sh"
    if not path.exists():
        path.write_text("vllm serve /m/a\n")
    return TuneRequest.from_json(
        {"script": str(path), "script_digest": "", "folder": str(tmp_path), "budget": {}, **more}
    )


def test_budgets_as_people_write_them() -> None:
    both = budget_of(["30 evaluations", "1h"], span_s)
    assert (both.evaluations, both.seconds) == (30, 3600.0)
    assert budget_of(["1 start"], span_s).evaluations == 1
    for text in ("0 evaluations", "soon", "-1h"):
        with pytest.raises(InputError):
            budget_of([text], span_s)


def test_a_budget_has_room_for_whole_starts_and_pairs() -> None:
    budget = budget_of(["30 evaluations", "100s"], span_s)
    assert budget.has(10, 5.0, 20, 50.0)
    assert not budget.has(11, 1.0, 20, 0.0)
    assert not budget.has(11, 5.0, 0, 50.0)
    assert budget.pairs(5.0, 10, 20.0) == 8
    assert budget.pairs(1.0, 20, 0.0) == 5
    assert budget.pairs(5.0, 40, 0.0) == 0


def test_the_usual_load_follows_from_limits(tmp_path: Path) -> None:
    plain = request(tmp_path).load_of()
    assert (plain.kind, plain.value) == (LoadKind.CONCURRENCY, USERS)
    assert request(tmp_path, limits=["ttft_p99<=2s"]).load_of().kind is LoadKind.FIND
    assert request(tmp_path, load="20/s", limits=["ttft_p99<=2s"]).load_of().value == 20
    with pytest.raises(InputError, match="needs limits"):
        request(tmp_path, load="find").load_of()


def test_a_trace_gives_lengths_and_moments(tmp_path: Path) -> None:
    rows = [{"timestamp": 1000 * at, "input_length": 10 + at, "output_length": 2} for at in (2, 0, 1)]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    load = request(tmp_path, trace=str(tmp_path / "trace.jsonl"), load="4/s").load_of()
    assert load.shapes == ((0.0, 10, 2), (1.0, 11, 2), (2.0, 12, 2))
    (tmp_path / "bare.jsonl").write_text('{"input_length": 3, "output_length": 2}\n')
    with pytest.raises(InputError, match="when it arrives"):
        request(tmp_path, trace=str(tmp_path / "bare.jsonl")).load_of()


def test_a_script_that_changed_is_not_the_one_that_was_begun(tmp_path: Path) -> None:
    asked = request(tmp_path)
    known = request(tmp_path, script_digest=asked.read_script().digest)
    assert known.read_script().program == "vllm"
    (tmp_path / "serve.sh").write_text("vllm serve /m/b\n")
    with pytest.raises(InputError, match="is not the script"):
        known.read_script()


def test_numbers_out_of_range_and_marks(tmp_path: Path) -> None:
    for more in ({"requests": 0}, {"output_len": 0}, {"steps": 0}, {"alpha": 0.5}):
        with pytest.raises(InputError):
            request(tmp_path, **more)
    assert mark_of(tmp_path) == mark_of(tmp_path / "x" / "..")
    assert mark_of(tmp_path) != mark_of(tmp_path / "x")


def test_a_secret_is_not_kept_and_is_asked_for_again(tmp_path: Path) -> None:
    client = "bench --api-key sk-very-secret --url {url} --out {out}"
    asked = request(
        tmp_path, client=client, line=r"token: (\S+)", question={"current": {"x": "HF_TOKEN=hf_1"}}
    )
    text = json.dumps(asked.about())
    assert "sk-very-secret" not in text
    assert "hf_1" not in text
    kept = TuneRequest.from_json(json.loads(text))
    assert (kept.script, kept.line) == (asked.script, asked.line)
    with pytest.raises(InputError, match="holds a secret"):
        kept.unmasked("", "")
    assert kept.unmasked("", client).client == client
