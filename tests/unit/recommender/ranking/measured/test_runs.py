"""Measured runs among the cases of a workspace."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from recommender.cost_model.anchors import MeasuredStep, StepKey
from recommender.ranking.measured.runs import MOST_OWN, RunReader, framework_id, thinned
from tests.unit.recommender.ranking.measured.served_cases import case, runs, with_cases


@pytest.mark.parametrize(
    ("name", "framework"), [("TRT", "tensorrt-llm"), ("dynamo-trt", "tensorrt-llm"), ("vllm", "vllm")]
)
def test_published_names_of_frameworks(name: str, framework: str) -> None:
    assert framework_id(name) == framework


def test_a_run_is_priced_in_the_layout_and_at_the_load_that_it_had(
    shipped_path: Path, tmp_path: Path
) -> None:
    with with_cases(shipped_path, tmp_path, case(3900, tp=2), case(1100, tp=8)) as workspace:
        found = {2 ** round(run.place.layout[0]): run for run in runs(workspace)}
    assert sorted(found) == [2, 8]
    assert [found[tp].count for tp in (2, 8)] == [2, 8]
    assert {run.settings["batch"] for run in found.values()} == {64.0}
    assert {run.place.engine for run in found.values()} == {"vllm"}
    assert {run.source for run in found.values()} == {"https://a.example/c.json"}
    assert all(abs(run.log_ratio) < 0.5 for run in found.values())  # the counting was understood


@pytest.mark.parametrize(("apart", "layout"), [(True, (1, 4)), (False, (4, 1))])
def test_attention_by_data_has_an_engine_a_device(
    apart: bool, layout: tuple[int, int], shipped_path: Path, tmp_path: Path
) -> None:
    told = case(1000, tp=4, at_once=16, config={"dp_attention": apart})
    with with_cases(shipped_path, tmp_path, told) as workspace:
        [run] = runs(workspace)
    assert (run.settings["tensor_parallel"], run.settings["data_parallel"]) == layout


@pytest.mark.parametrize("hardware", ["910b4", "atlas-800i-a2"])
def test_vllm_on_ascend_is_its_plugin_by_device_and_by_server(
    hardware: str, shipped_path: Path, tmp_path: Path
) -> None:
    with with_cases(shipped_path, tmp_path, case(300, hardware=hardware)) as workspace:
        made = workspace.snapshot
        reader = RunReader(made.trials, made.graph, made.hardware)
        [row] = [row for row in made.trials.summary(made.trials.keys()) if row.model == "llama-3-3-70b"]
        problem = reader.problem(row)
        assert problem is not None
        assert reader.engine(problem, reader.trials(row)[0]) == "vllm-ascend"


def test_a_rate_that_counts_prompts_too_is_read_as_one_of_answers(shipped_path: Path, tmp_path: Path) -> None:
    of_both = case(3900)
    of_answers = case(1950, input_len=1000)
    with with_cases(shipped_path, tmp_path, of_both, of_answers) as workspace:
        both, answers = sorted(runs(workspace), key=lambda run: -run.place.lengths[0])
    assert both.log_ratio == pytest.approx(answers.log_ratio, abs=0.02)


def test_of_a_run_repeated_the_median_counts(shipped_path: Path, tmp_path: Path) -> None:
    values = [3000, 3900, 4000]
    cases = [{**case(value), "source": {"repo": f"r{value}"}} for value in values]
    with with_cases(shipped_path, tmp_path, *cases) as workspace:
        [run] = runs(workspace)
    assert run.trial.measurement.value == 3900


GUESSED: tuple[dict[str, Any], ...] = (
    {"config": {"disaggregated": True}},
    {"config": {"spec_decoding": "mtp"}},
    {"config": {"tp": None}},
    {"config": {"concurrency": None}},
    {"config": {"concurrency": 100_000}},
    {"unit": "requests/s"},
    {"metric": "accuracy"},
)


def test_a_case_whose_price_would_be_a_guess_is_left_out(shipped_path: Path, tmp_path: Path) -> None:
    rows = [{**case(3900, **more), "source": {"repo": str(more)}} for more in GUESSED]
    with with_cases(shipped_path, tmp_path, *rows, case(1000, tp=8)) as workspace:
        found = runs(workspace)
    assert [run.settings["tensor_parallel"] for run in found] == [8]


def test_an_engine_runs_what_it_is_sent_up_to_its_batch(shipped_path: Path, tmp_path: Path) -> None:
    alone = case(18, config={"concurrency": None, "max_num_seqs": 32})
    alone["task"]["shape"]["max_concurrency"] = 1
    crowded = case(3000, config={"concurrency": 1000, "max_num_seqs": 16})
    with with_cases(shipped_path, tmp_path, alone, crowded) as workspace:
        assert {run.trial.measurement.value: run.settings["batch"] for run in runs(workspace)} == {
            18: 1,
            3000: 16,
        }


def test_of_very_many_own_runs_some_stand_for_all() -> None:
    key = StepKey(phase="serving", engine="vllm", device="ascend-910b3", site="own")
    steps = [MeasuredStep(key=key, log_ratio=0.01 * n, source="mine") for n in range(-500, 501)]
    kept = [step.log_ratio for step in thinned(steps)]
    assert 20 <= len(kept) <= MOST_OWN
    assert abs(fmean(kept)) < 0.1
    assert thinned(steps[:3]) == steps[:3]
