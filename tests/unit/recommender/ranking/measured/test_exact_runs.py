"""The best measurement of exactly a question is its decision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recommender.ranking.plan_setting import Origin
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import starts, with_cases

TASK = {"kind": "training", "op": "pretrain", "model": "llama-2-13b", "dtype": "bf16"}
RUNS: list[dict[str, Any]] = []


def trained(value: float, **config: object) -> dict[str, Any]:
    return {
        "task": TASK,
        "hardware": {"name": "910B3", "count": 8},
        "config": config,
        "outcome": {"metric": "throughput", "unit": "tokens/s", "value": value, "status": "ok"},
        "source": {"repo": "my runs"},
    }


def measured(*runs: dict[str, Any]) -> dict[str, Any]:
    """Keep runs for the workspace of all tests, at a length of their own; the question that they answer."""
    length = 4096 + len(RUNS)
    RUNS.extend(
        {**run, "task": {**run["task"], "shape": {"seq_len": length, **run["task"].get("shape", {})}}}
        for run in runs
    )
    return {
        "model": "llama-2-13b",
        "phase": "training",
        "hardware": "910b3",
        "count": 8,
        "shape": {"seq_len": length},
    }


@pytest.fixture(scope="module")
def workspace(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The shipped knowledge with the runs of all tests."""
    with with_cases(shipped_path, tmp_path_factory.mktemp("measured"), *RUNS) as opened:
        yield opened


FAST: dict[str, object] = {
    "tensor_model_parallel_size": 8,
    "micro_batch_size": 2,
    "sequence_parallel": True,
}
RAN_TWICE = measured(
    trained(17_500, **FAST), trained(12_100, pipeline_model_parallel_size=8, micro_batch_size=1)
)


def test_the_fastest_run_of_the_very_question_is_the_start_as_it_ran(workspace: Workspace) -> None:
    found = starts(workspace, RAN_TWICE)
    first = found.first
    stated = {item.name: item.value for item in first.settings if item.origin is Origin.CURRENT}
    assert stated == FAST
    assert {item.name for item in first.settings} - set(stated) <= {
        "pipeline_model_parallel_size",
        "CUDA_DEVICE_MAX_CONNECTIONS",
    }
    assert first.because[0] == "measured: 17,500 tokens/s with TP 8 <my runs>"
    rate = first.expected[0]
    assert (rate.metric, rate.tier, rate.value, rate.unit) == (
        "throughput",
        "measured here",
        17_500,
        "tokens/s",
    )
    assert "--use-flash-attn" in {item.key for item in found.further}  # of recipes


BEFORE = {"value": 17_500, "config": {"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2}}
LOST = measured({**trained(12_100, tensor_model_parallel_size=8), "baseline": BEFORE})


def test_what_a_run_lost_to_is_the_start_and_the_run_is_not(workspace: Workspace) -> None:
    first = starts(workspace, LOST).first
    assert (str(first.layout), first.expected[0].value) == ("TP 4 x PP 2", 17_500)


IN_OTHER_WORDS = measured(trained(7_500, tp=8, mbs=2, flavour="x"), trained(7_000, pp=8, mbs=1))


def test_a_run_in_other_words_than_the_engines_is_written_in_theirs(workspace: Workspace) -> None:
    first = starts(workspace, IN_OTHER_WORDS).first
    stated = {item.key: item.value for item in first.settings if item.origin is Origin.CURRENT}
    stated.pop("--pipeline-model-parallel-size")  # 1, which the program states anyway
    assert stated == {"--tensor-model-parallel-size": 8, "--micro-batch-size": 2}
    assert first.expected[0].value == 7_500


REPEATED = measured(
    *({**trained(value, tp=8), "source": {"repo": f"run {value}"}} for value in (7_000, 7_100, 7_400))
)


def test_repeated_measurements_give_their_median_and_its_interval(workspace: Workspace) -> None:
    rate = starts(workspace, REPEATED).first.expected[0]
    assert rate.value == 7_100
    assert 6_800 < rate.low < 7_100 < rate.high < 7_400


TIMED_BY_STEP = measured(
    {
        **trained(2.0, tp=8),
        "task": {**TASK, "shape": {"global_batch": 16}},
        "outcome": {"metric": "step_time", "unit": "s", "value": 2.0, "status": "ok"},
    }
)


def test_steps_are_a_throughput_where_the_batch_is_stated(workspace: Workspace) -> None:
    first = starts(workspace, TIMED_BY_STEP).first
    assert first.expected[0].value == 16 * TIMED_BY_STEP["shape"]["seq_len"] / 2.0


RUNS_NOW = measured(trained(17_500, tensor_model_parallel_size=8, micro_batch_size=2))


def test_what_runs_now_has_its_own_number_where_it_was_measured(workspace: Workspace) -> None:
    for micro, tier in ((2, "measured here"), (4, "modelled")):
        now = {"tensor_model_parallel_size": 8, "micro_batch_size": micro}
        number = starts(workspace, {**RUNS_NOW, "current": now}).first.expected[0]
        assert (number.tier, number.value == 17_500) == (tier, micro == 2)


OTHERS: tuple[dict[str, object], ...] = (
    {"hardware": {"name": "910B3", "count": 16}},
    {"hardware": {"name": "910B2", "count": 8}},
    {"config": {"tp": 16}},
    {"software": {"deepspeed": ""}},
    {"task": {**TASK, "shape": {"seq_len": 8192}}},
    {"task": {**TASK, "model": "llama-2-7b"}},
    {"kind": "modelled"},
)
OF_OTHERS = measured(*({**trained(99_000 + place, tp=8), **other} for place, other in enumerate(OTHERS)))


def test_a_measurement_of_another_question_is_no_decision(workspace: Workspace) -> None:
    first = starts(workspace, OF_OTHERS).first
    assert [item.value for item in first.expected if item.tier == "measured here"] == []


OF_RELEASES = measured(
    {**trained(7_000, tp=8), "software": {"mindspeed-llm": "2.1.0"}},
    {**trained(9_000, tp=4, pp=2), "software": {"mindspeed-llm": "2.3.0"}},
)


def test_a_run_of_another_release_than_the_told_one_is_not_of_the_question(workspace: Workspace) -> None:
    found = {}
    for told in ("", "2.1", "2.3.0", "26.0.0"):
        first = starts(workspace, {**OF_RELEASES, "software": {"mindspeed-llm": told}}).first
        [rate] = [item for item in first.expected if item.metric == "throughput"]
        found[told] = rate.value if rate.tier == "measured here" else None
    assert found == {"": 9_000, "2.1": 7_000, "2.3.0": 9_000, "26.0.0": None}
