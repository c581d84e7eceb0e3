"""The best measurement of exactly a question is its decision."""

from pathlib import Path

from recommender.ranking.plan_setting import Origin
from tests.unit.recommender.ranking.measured.served_cases import starts, with_cases

TRAINED = {
    "model": "llama-2-13b",
    "phase": "training",
    "hardware": "910b3",
    "count": 8,
    "shape": {"seq_len": 4096},
}


TRAINED_TASK = {
    "kind": "training", "op": "pretrain", "model": "llama-2-13b", "shape": {"seq_len": 4096}, "dtype": "bf16",
}  # fmt: skip


def trained(value: float, **config: object) -> dict[str, object]:
    return {
        "task": TRAINED_TASK,
        "hardware": {"name": "910B3", "count": 8},
        "config": config,
        "outcome": {"metric": "throughput", "unit": "tokens/s", "value": value, "status": "ok"},
        "source": {"repo": "my runs"},
    }


def test_the_fastest_run_of_the_very_question_is_the_start_as_it_ran(
    shipped_path: Path, tmp_path: Path
) -> None:
    fast: dict[str, object] = {
        "tensor_model_parallel_size": 8,
        "micro_batch_size": 2,
        "sequence_parallel": True,
    }
    slow = trained(12_100, pipeline_model_parallel_size=8, micro_batch_size=1)
    with with_cases(shipped_path, tmp_path, trained(17_500, **fast), slow) as workspace:
        found = starts(workspace, TRAINED)
    first = found.first
    stated = {item.name: item.value for item in first.settings if item.origin is Origin.CURRENT}
    assert stated == fast
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


def test_what_a_run_lost_to_is_the_start_and_the_run_is_not(shipped_path: Path, tmp_path: Path) -> None:
    before = {"value": 17_500, "config": {"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2}}
    lost = {**trained(12_100, tensor_model_parallel_size=8), "baseline": before}
    with with_cases(shipped_path, tmp_path, lost) as workspace:
        first = starts(workspace, TRAINED).first
    assert (str(first.layout), first.expected[0].value) == ("TP 4 x PP 2", 17_500)


def test_a_run_in_other_words_than_the_engines_is_written_in_theirs(
    shipped_path: Path, tmp_path: Path
) -> None:
    of_others = trained(7_500, tp=8, mbs=2, flavour="x")
    with with_cases(shipped_path, tmp_path, of_others, trained(7_000, pp=8, mbs=1)) as workspace:
        first = starts(workspace, TRAINED).first
    stated = {item.key: item.value for item in first.settings if item.origin is Origin.CURRENT}
    stated.pop("--pipeline-model-parallel-size")  # 1, which the program states anyway
    assert stated == {"--tensor-model-parallel-size": 8, "--micro-batch-size": 2}
    assert first.expected[0].value == 7_500


def test_repeated_measurements_give_their_median_and_its_interval(shipped_path: Path, tmp_path: Path) -> None:
    repeats = [trained(value, tp=8) for value in (7_000, 7_100, 7_400)]
    for number, row in enumerate(repeats):
        row["source"] = {"repo": f"run {number}"}
    with with_cases(shipped_path, tmp_path, *repeats) as workspace:
        rate = starts(workspace, TRAINED).first.expected[0]
    assert rate.value == 7_100
    assert 6_800 < rate.low < 7_100 < rate.high < 7_400


def test_steps_are_a_throughput_where_the_batch_is_stated(shipped_path: Path, tmp_path: Path) -> None:
    step = trained(2.0, tp=8)
    step["task"] = {**TRAINED_TASK, "shape": {"seq_len": 4096, "global_batch": 16}}
    step["outcome"] = {"metric": "step_time", "unit": "s", "value": 2.0, "status": "ok"}
    with with_cases(shipped_path, tmp_path, step) as workspace:
        first = starts(workspace, TRAINED).first
    assert first.expected[0].value == 16 * 4096 / 2.0


def test_what_runs_now_has_its_own_number_where_it_was_measured(shipped_path: Path, tmp_path: Path) -> None:
    row = trained(17_500, tensor_model_parallel_size=8, micro_batch_size=2)
    with with_cases(shipped_path, tmp_path, row) as workspace:
        for micro, tier in ((2, "measured here"), (4, "modelled")):
            now = {"tensor_model_parallel_size": 8, "micro_batch_size": micro}
            number = starts(workspace, {**TRAINED, "current": now}).first.expected[0]
            assert (number.tier, number.value == 17_500) == (tier, micro == 2)


OTHERS: tuple[dict[str, object], ...] = (
    {"hardware": {"name": "910B3", "count": 16}},
    {"hardware": {"name": "910B2", "count": 8}},
    {"config": {"tp": 16}},
    {"software": {"deepspeed": ""}},
    {"task": {**TRAINED_TASK, "shape": {"seq_len": 8192}}},
    {"task": {**TRAINED_TASK, "model": "llama-2-7b"}},
    {"kind": "modelled"},
)


def test_a_measurement_of_another_question_is_no_decision(shipped_path: Path, tmp_path: Path) -> None:
    rows = [{**trained(99_000 + place, tp=8), **other} for place, other in enumerate(OTHERS)]
    with with_cases(shipped_path, tmp_path, *rows) as workspace:
        first = starts(workspace, TRAINED).first
    assert [item.value for item in first.expected if item.tier == "measured here"] == []


def test_a_run_of_another_release_than_the_told_one_is_not_of_the_question(
    shipped_path: Path, tmp_path: Path
) -> None:
    runs = [
        {**trained(7_000, tp=8), "software": {"mindspeed-llm": "2.1.0"}},
        {**trained(9_000, tp=4, pp=2), "software": {"mindspeed-llm": "2.3.0"}},
    ]
    found = {}
    with with_cases(shipped_path, tmp_path, *runs) as workspace:
        for told in ("", "2.1", "2.3.0", "26.0.0"):
            first = starts(workspace, {**TRAINED, "software": {"mindspeed-llm": told}}).first
            [rate] = [item for item in first.expected if item.metric == "throughput"]
            found[told] = rate.value if rate.tier == "measured here" else None
    assert found == {"": 9_000, "2.1": 7_000, "2.3.0": 9_000, "26.0.0": None}
