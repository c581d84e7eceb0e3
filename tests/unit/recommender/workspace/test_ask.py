"""An answer says what its strategies gain together, and what it left out by which rule."""

import math
from typing import Any

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import merge_facts
from ingest.questions.launches.running import running_settings
from recommender.answers.answer import Answer
from recommender.workspace.workspace import Workspace

BASE: dict[str, Any] = {
    "model": "llama-2-7b",
    "phase": "training",
    "hardware": "910b3",
    "shape": {"seq_len": 4096},
}


def ask(shipped: Workspace, k: int = 5, **more: Any) -> Answer:
    problem, notes = shipped.problem({**BASE, **more})
    return shipped.recommend(problem, k, notes=notes)


def test_strategies_together_stay_below_the_ceiling_and_exclude_nothing(shipped: Workspace) -> None:
    shares = {"pipeline-bubble": 0.25, "pipeline-imbalance": 0.2}
    answer = ask(shipped, 8, count=8, bottlenecks=shares, current={"pipeline_model_parallel_size": 4})
    both = answer.together
    assert both is not None
    assert both.ceiling is not None
    assert both.ceiling == pytest.approx(-math.log1p(-0.45))
    assert both.gain.high <= both.ceiling + 1e-9
    chosen = [item for item in answer if item.id in both.ids]
    assert len(chosen) == len(both.ids) >= 2
    assert not any(item.strategy in other.conflicts for item in chosen for other in chosen)
    saved = [1 - math.exp(-item.gain.expected) for item in chosen if item.gain is not None]
    assert 1 - math.exp(-both.gain.expected) <= sum(max(0.0, value) for value in saved) + 1e-9
    assert answer.to_json()["together"]["together"] == list(both.ids)


def test_one_recommendation_has_nothing_to_be_together_with(shipped: Workspace) -> None:
    answer = ask(shipped, 1)
    assert answer.together is None
    assert answer.to_json()["together"] is None


def test_what_cannot_run_is_left_out_with_rule_source_and_certainty(shipped: Workspace) -> None:
    answer = ask(shipped, 50, count=8)
    found = {item["rule"]: item for item in answer.to_json()["refused"]}
    assert found["where it applies"]["certainty"] == "high"
    assert "where it applies" in found
    proposed = {str(item.configuration) for item in answer}
    others = [item for item in answer.refused if item.rule != "where it applies"]
    assert not proposed & {str(item.configuration) for item in others}


def test_a_limit_on_memory_is_checked_where_everything_is_told(shipped: Workspace) -> None:
    told = ask(
        shipped, 2, count=8, limits=["peak_memory<=60GB", "accuracy_loss<=1%"],
        current={"tensor_model_parallel_size": 8, "use_distributed_optimizer": True},
    )  # fmt: skip
    assert [limit.metric for limit in told.unchecked] == ["accuracy_loss"]
    planned = ask(shipped, 2, count=8, limits=["peak_memory<=60GB"])  # held against the layouts of the start
    assert planned.unchecked == ()


@pytest.mark.parametrize(("type_", "found"), [("h100-sxm", "h100-sxm"), ("bigmem", None), ("a100", "a100")])
def test_the_type_of_a_job_is_its_hardware_where_it_names_some(
    shipped: Workspace, type_: str, found: str | None
) -> None:
    """Sites choose those names; one that fits several devices asks which."""
    text = f"#SBATCH --gres=gpu:{type_}:8\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2\n"
    asked, _ = shipped.ask.questions.on_this_machine(merge_facts([read_launch(text, "job.sh")]))
    assert asked.get("hardware") == found
    judged = shipped.launches.check(asked, running_settings(text))
    assert judged.place == ("h100-sxm" if found == "h100-sxm" else "")
