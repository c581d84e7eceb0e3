"""Plans made from the shipped knowledge."""

from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.setting_registry import registry
from recommender.applicability.gate import IN_PROFILES
from recommender.ranking.change import Change
from recommender.ranking.plan.planner import TESTS, Planned, undoing
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.workspace.workspace import Workspace

GRAPH = PlanSetting(
    where=SettingPlace.JSON,
    key="compilation_config.cudagraph_mode",
    value="FULL_DECODE_ONLY",
    origin=Origin.RECIPE,
)


def flag(key: str, value: Value = None, origin: Origin = Origin.CURRENT) -> PlanSetting:
    return PlanSetting(where=SettingPlace.FLAG, key=key, value=value, origin=origin)


@pytest.mark.parametrize(
    ("begun", "added"),
    [
        (flag("--enforce-eager"), ["--no-enforce-eager"]),
        (flag("--enforce-eager", value=True), ["--no-enforce-eager"]),
        (flag("--enforce-eager", origin=Origin.RECIPE), []),
        (flag("--enforce-eager", value=False), []),
        (flag("--async-scheduling"), []),
        (flag("--max-num-seqs", value=8), []),
    ],
)
def test_eager_mode_is_taken_back_for_a_graph(begun: PlanSetting, added: list[str]) -> None:
    change = Change(id="a", title="Graph", settings=(GRAPH,))
    found = undoing(change, [begun], "serving", registry("vllm-ascend").at("0.18.0"))
    assert [item.key for item in found] == added


QUESTION: dict[str, Any] = {"model": "bert-large", "phase": "training", "hardware": "910b3", "count": 8}


def planned_if_any(workspace: Workspace, k: int = 5, **more: Any) -> Planned | None:
    problem, _ = workspace.problem({**QUESTION, **more})
    recommender, model = workspace.snapshot.recommender, workspace.ask.model_facts(problem)
    rules = recommender.feasibility.of(problem, model, ())
    return recommender.planner.plan(problem, k, model=model, rules=rules)


def planned(*told: Any, **more: Any) -> Planned:
    made = planned_if_any(*told, **more)
    assert made is not None
    return made


def test_a_plan_says_what_was_understood(shipped: Workspace) -> None:
    made = planned(shipped, shape={"seq_len": 512})
    facts = made.plan.understood
    assert (facts["devices"], facts["seq_len"], facts["phase"]) == (8, 512, "training")
    assert "ascend-910b3" in facts["hardware"]  # type: ignore[operator]
    assert list(facts) == sorted(facts)


def test_a_change_rests_on_what_its_tier_says(shipped: Workspace) -> None:
    made = planned(shipped, 8)
    assert len(made.plan.changes) == 8
    assert made.plan.further
    for change in made.plan.changes:
        assert change.basis.startswith(change.tier) or not change.strategy


def test_the_first_changes_are_those_with_a_number(shipped: Workspace) -> None:
    made, longer = planned(shipped, TESTS), planned(shipped, 50)
    assert all(one.gain is not None for one in made.plan.changes)
    winning = [one.id for one in longer.plan.changes if one.wins and IN_PROFILES not in one.provided]
    assert [one.id for one in made.plan.changes][: len(winning)] == winning[:TESTS]


def test_an_observed_bottleneck_comes_first_and_the_rest_stays(shipped: Workspace) -> None:
    plain = planned(shipped, 50)
    observed = planned(shipped, 50, bottlenecks={"host-bound": 0.3})
    first = [item.bottleneck for item in observed.plan.changes]
    assert first[0] == "host-bound"
    assert first == sorted(first, key=lambda name: not name)
    assert not any(item.bottleneck for item in plain.plan.changes)
    assert "" in first


def test_where_no_framework_is_usual_there_is_no_plan(shipped: Workspace) -> None:
    assert planned_if_any(shipped, hardware="gaudi-3", model="qwen3-8b") is None


def test_a_start_that_fits_nowhere_has_no_changes(shipped: Workspace) -> None:
    made = planned(shipped, model="deepseek-v3", phase="serving", count=1)
    assert not made.plan.fits
    assert (made.plan.changes, made.ranked) == ((), ())


def test_recipes_that_are_withheld_are_not_in_the_plan(shipped: Workspace) -> None:
    from recommender.ranking.starts.finder import StartFinder

    question: dict[str, Any] = {"model": "qwen3-8b", "phase": "serving", "count": 2}
    made = planned(shipped, **question)
    ids = frozenset(one.recipe.id for one in made.starts.recipes)
    planner = shipped.snapshot.recommender.planner
    problem, _ = shipped.problem({**QUESTION, **question})
    model = shipped.ask.model_facts(problem)
    bare = replace(planner, starts=StartFinder(shipped.graph, shipped.hardware, ids)).plan(
        problem, 5, model=model, rules=shipped.snapshot.recommender.feasibility.of(problem, model, ())
    )
    assert bare is not None
    assert bare.starts.recipes == ()
    assert all(str(item.origin) != "recipe" for item in bare.plan.start.settings)
    assert all(change.strategy for change in bare.plan.changes)


def test_a_short_time_for_each_token_has_gains_of_its_own(shipped: Workspace) -> None:
    """Drafts halve the time of a token for one user; the same change is worth less where many wait."""
    question: dict[str, Any] = {"model": "qwen3-32b", "phase": "serving", "count": 4}
    gains = {}
    for metric, users in (("tpot", 1), ("throughput", 64)):
        made = planned(shipped, 50, **question, objective=metric, traits={"concurrency": users})
        changes = {item.strategy: item for item in made.plan.changes}
        gain = changes["eagle3"].gain
        assert gain is not None
        gains[metric] = gain.expected
    assert gains["tpot"] > max(gains["throughput"], 0.5)


def test_a_change_that_needs_what_is_not_for_here_is_not_offered(shipped: Workspace) -> None:
    question = {
        "model": "deepseek-v3",
        "phase": "training",
        "hardware": "ascend-910c",
        "count": 512,
        "software": {"mindspeed-llm": "2.3"},
        "current": {"moe_fb_overlap": True},
    }
    answer = shipped.recommend(question, k=20)
    assert answer.plan is not None
    offered = {change.strategy for change in (*answer.plan.changes, *answer.plan.further)}
    assert "overlap-param-gather" not in offered
    [why] = [one.because for one in answer.plan.not_here if one.strategy == "Parameter all-gather overlapped"]
    assert "Overlap gradient reduction" in why


def test_no_change_admits_fewer_requests_than_the_start_is_priced_with(shipped: Workspace) -> None:
    question = {"model": "qwen3-30b-a3b", "phase": "serving", "hardware": "l40s", "count": 4}
    current = {"tensor_parallel_size": "4", "gpu_memory_utilization": "0.7"}
    made = planned(shipped, 50, **question, software={"vllm": ""}, current=current)
    assert made.plan.changes
    offered = [one.configuration.get("max-num-seqs", 256) for one in made.plan.changes]
    assert min(int(str(value)) for value in offered) >= 256


@pytest.mark.parametrize("is_told", [False, True])
def test_what_the_start_alone_sets_is_not_taken_away_by_its_changes(
    shipped: Workspace, is_told: bool
) -> None:
    current = {"no_gradient_accumulation_fusion": True} if is_told else {}
    made = planned(shipped, 50, model="llama-2-7b", software={"mindspeed-llm": ""}, current=current)
    begun = {item.key for item in made.plan.start.settings}
    assert "--no-gradient-accumulation-fusion" in begun
    assert ("fused-matmul-add" in {one.strategy for one in made.plan.changes}) == is_told


def test_a_change_that_frees_memory_lets_in_more_where_memory_bounds_the_load(shipped: Workspace) -> None:
    question = {"model": "qwen3-32b", "phase": "serving", "hardware": "h100-sxm", "count": 1}
    made = planned(shipped, 50, **question, software={"vllm": ""})
    admitted = next(item.value for item in made.plan.start.settings if item.key == "--max-num-seqs")
    change = next(one for one in made.plan.changes if one.configuration.get("quantization") == "fp8")
    more = change.configuration["max_num_seqs"]
    assert float(str(more)) > float(str(admitted))
    assert change.gain is not None
    assert change.gain.factor > 2
    told = planned(shipped, 50, **question, software={"vllm": ""}, traits={"concurrency": admitted})
    assert all("max_num_seqs" not in one.configuration for one in told.plan.changes if one.strategy)


def test_a_launch_of_megatron_states_the_experts_that_a_layout_spreads(shipped: Workspace) -> None:
    mixture: dict[str, Any] = {
        "model": "mixtral-8x7b",
        "hardware": "h100-sxm",
        "count": 32,
        "software": {"megatron-lm": ""},
    }
    current = {
        "tensor_model_parallel_size": 8,
        "pipeline_model_parallel_size": 4,
        "expert_model_parallel_size": 1,
    }
    made = planned(shipped, **mixture, shape={"seq_len": 4096}, current=current)
    spread = [one for one in made.plan.changes if one.title.startswith("Divide it as") and "EP" in one.title]
    assert spread
    assert not any("num-experts" in one.because for one in made.plan.not_here)
