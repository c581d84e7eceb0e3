"""The settings written for a layout take no more memory than there is."""

from typing import Any

import pytest

from kg.nouns.setting import SettingPlace
from recommender.ranking.starts.starts import Starts
from recommender.workspace.workspace import Workspace

LARGE: list[dict[str, Any]] = [
    {"model": "qwen3-32b", "phase": "serving", "hardware": "910b3", "count": 4},
    {"model": "qwen3-8b", "phase": "serving", "hardware": "910b4", "count": 2},
    {"model": "deepseek-v3", "phase": "serving", "hardware": "atlas-800i-a3", "count": 16},
    {
        "model": "qwen2-5-32b",
        "phase": "training",
        "hardware": "910b3",
        "count": 32,
        "software": {"mindspeed-llm": ""},
        "current": {"tensor_model_parallel_size": 4},
    },
]


def starts(workspace: Workspace, question: dict[str, Any]) -> Starts:
    problem, _ = workspace.problem(question)
    finder = workspace.snapshot.recommender.planner.starts
    about = finder.situation(problem)
    assert about is not None
    return finder.find(about, workspace.ask.model_facts(problem))


@pytest.mark.parametrize("question", LARGE, ids=lambda one: f"{one['model']}-{one['hardware']}")
def test_a_start_fits_with_everything_it_sets(shipped: Workspace, question: dict[str, Any]) -> None:
    found = starts(shipped, question)
    assert found.first.fits is True
    assert found.price is not None
    assert found.price.fits


def test_what_takes_too_much_memory_is_left_out_and_said(shipped: Workspace) -> None:
    found = starts(shipped, LARGE[-1])
    left_out = {one.strategy for one in found.not_here if one.fact == "memory"}
    assert left_out
    assert left_out.isdisjoint(one.key for one in found.first.settings)
    assert all("more memory than there is" in one.because for one in found.not_here if one.fact == "memory")


@pytest.mark.parametrize(("model", "recompute"), [("llama-2-7b", "none"), ("qwen3-32b", "full")])
def test_a_start_of_mindformers_sets_what_its_price_counts_on(
    shipped: Workspace, model: str, recompute: str
) -> None:
    question = {"model": model, "phase": "training", "hardware": "910b3", "count": 16}
    found = starts(shipped, {**question, "software": {"mindformers": "2.1.0"}})
    told = {item.key: item.value for item in found.first.settings}
    priced = found.question.settings if found.question else {}
    assert (told["parallel.enable_parallel_optimizer"], priced["zero_stage"]) == (True, 1)
    assert (priced.get("recompute", "none"), told.get("recompute_config.recompute", False)) == (
        recompute,
        recompute == "full",
    )
    layout = found.first.layout
    assert layout is not None
    assert layout.pp > 1
    turns = int(str(told["parallel_config.micro_batch_num"]))
    assert turns >= layout.pp
    assert turns * layout.dp * int(str(priced["micro_batch"])) == priced["global_batch"]
    assert all(item.file for item in found.first.settings if item.where is SettingPlace.YAML)
