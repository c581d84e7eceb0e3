"""Changes before they have their place."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind
from kg.nouns.gain import Gain
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.cost_model.question import Question
from recommender.ranking.change import Change
from recommender.ranking.changes.bottlenecks import Match
from recommender.ranking.changes.prior import Prior
from recommender.ranking.changes.ranked_strategy import RankedStrategy, SeenEffect
from recommender.ranking.plan.candidate import (
    USUAL,
    of_recipes,
    of_strategy,
    without_conflicts,
)
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from tests.unit.recommender.cost_model.machines import machine_of, model
from tests.unit.recommender.ranking.starts.situations import SOURCE, agreed, problem, recipe

SERVED = Question(
    model=model("qwen3-8b"),
    machine=machine_of("h100-sxm", 1),
    phase="serving",
    engine="vllm",
    version="0.33.0",
    settings={"input_len": 4096, "output_len": 512, "batch": 64, "tensor_parallel": 1},
)


def ranked(
    identifier: str = "s",
    *,
    gain: float | None = None,
    kind: Kind = Kind.PUBLISHED,
    distance: Distance | None = None,
    match: Match | None = None,
    provided: str = "",
    conflicts: tuple[str, ...] = (),
    **more: Any,
) -> RankedStrategy:
    """A strategy with an effect if it has a gain; its interval is a tenth to both sides."""
    more.setdefault(
        "sets", (Assignment(parameter=f"{identifier}_knob", value=1, flag=f"--{identifier}-knob"),)
    )
    strategy = Strategy(
        id=identifier,
        labels={"en": identifier.title()},
        kind=more.pop("known", "documented"),
        sources=(SOURCE,),
        **more,
    )
    effect = Effect(context=Context(hardware="chip-a"), strategy=identifier, metric="throughput", kind=kind)
    return RankedStrategy(
        strategy=strategy,
        gain=Gain(expected=0.0, low=-1, high=1)
        if gain is None
        else Gain(expected=gain, low=gain - 0.1, high=gain + 0.1),
        match=match or Match(),
        effects=() if gain is None else (SeenEffect(effect=effect, trust=1.0, distance=Distance.SIBLING),),
        distance=distance,
        prior=Prior(mean=0.1, between_strategies=0.1, between_contexts=0.1, strategies=3),
        conflicts=conflicts,
        provided=provided,
    )


def candidate_if_any(
    item: RankedStrategy, share: float = 0.0, begun: Mapping[str, object] | None = None
) -> Change | None:
    return of_strategy(problem(), item, share, 0, begun or {}, "1")


def candidate(*told: Any, **more: Any) -> Change:
    made = candidate_if_any(*told, **more)
    assert made is not None
    return made


def of_group(*items: AgreedSetting, question: Question | None = None) -> Change:
    made = of_recipes(problem(), items, "1", question)
    assert made is not None
    return made


def ordered(*items: tuple[RankedStrategy, float]) -> list[str]:
    made = [candidate_if_any(item, share) for item, share in items]
    kept = [one for one in made if one is not None]
    return [one.strategy for one in sorted(kept, key=lambda one: one.order)]


def test_a_gain_of_the_prior_alone_is_not_shown_as_one() -> None:
    made = candidate(ranked())
    assert made.gain is None
    assert made.tier == "documented"
    assert made.basis == "documented, never measured here: no gain is known"


def test_a_gain_over_what_the_start_may_not_run_names_it() -> None:
    item = ranked(gain=0.1)
    over = replace(item.effects[0].effect, context=Context(against=Settings({"algo": "ring"})))
    made = candidate(replace(item, effects=(replace(item.effects[0], effect=over, runs_baseline=False),)))
    assert made.plan_json()["gain"]["against"] == made.baseline == "algo=ring"
    plain = candidate(item)
    assert plain.plan_json()["gain"]["against"] == "the start"
    assert plain.baseline == "the same without it"


def test_only_a_measured_gain_overrules_the_start() -> None:
    begun = {"s_knob": 2}
    assert candidate_if_any(ranked(), begun=begun) is None
    assert candidate(ranked(gain=0.1), begun=begun) is not None


@pytest.mark.parametrize(
    ("kind", "distance", "tier"),
    [
        (Kind.MEASURED, Distance.SAME_DEVICE, "measured here"),
        (Kind.MEASURED, Distance.SIBLING, "measured elsewhere"),
        (Kind.PUBLISHED, Distance.SAME_DEVICE, "published"),
    ],
)
def test_the_best_of_the_effects_says_how_a_gain_is_known(kind: Kind, distance: Distance, tier: str) -> None:
    made = candidate(ranked(gain=0.1, kind=kind, distance=distance))
    assert made.tier == tier
    assert made.basis == tier


def test_larger_gains_and_more_agreement_come_first() -> None:
    assert ordered((ranked("a", gain=0.01), 0.0), (ranked("b", gain=0.3), 0.0), (ranked("c"), 1.0)) == [
        "b",
        "c",
        "a",
    ]


def test_what_is_for_an_observed_bottleneck_comes_before_any_gain() -> None:
    observed = ranked("observed", gain=0.01, match=Match(bottleneck="b", through="b", share=0.2))
    assert ordered((ranked("large", gain=0.5), 1.0), (observed, 0.0)) == ["observed", "large"]


def test_what_an_open_condition_may_win_counts_half_unless_many_recipes_do_it() -> None:
    open_one, plain = ranked("open", gain=0.15, provided="prompts share"), ranked("plain", gain=0.1)
    assert ordered((open_one, USUAL - 0.01), (plain, 0.0)) == ["plain", "open"]
    large = ranked("open", gain=0.3, provided="prompts share")
    assert ordered((large, USUAL - 0.01), (plain, 0.0)) == ["open", "plain"]
    assert ordered((open_one, USUAL), (plain, 0.0)) == ["open", "plain"]


def test_settings_are_written_where_they_belong() -> None:
    sets = (
        Assignment(parameter="a_knob", value=1, flag="--a-knob"),
        Assignment(parameter="MY_ENV", value="x", environment=True),
        Assignment(parameter="inner.fused", value=True, carrier="--own-config"),
    )
    made = candidate(ranked(sets=sets))
    assert [(item.where, item.key, item.value) for item in made.settings] == [
        (SettingPlace.FLAG, "--a-knob", 1),
        (SettingPlace.ENV, "MY_ENV", "x"),
        (SettingPlace.JSON, "own_config.inner.fused", True),
    ]


def test_settings_of_recipes_say_who_sets_them_and_claim_no_gain() -> None:
    first = recipe("guide")
    items = [agreed("cfg.deep.one", "4", 0.4, first=first), agreed("cfg.deep.two", "true", 0.2, first=first)]
    change = of_group(*items)
    assert change.title == "cfg.deep.one 4, cfg.deep.two true"
    assert (change.gain, change.strategy, change.accuracy) == (None, "", "unknown")
    assert [(item.key, item.value, item.agreement) for item in change.settings] == [
        ("cfg.deep.one", 4, 0.4),
        ("cfg.deep.two", True, 0.2),
    ]
    assert change.evidence[0].source == "https://example.org/guide"
    assert change.flags == ("cfg.deep.one=4", "cfg.deep.two=true")
    assert change.basis.startswith("set by 40% of the recipes")


@pytest.mark.parametrize(
    ("key", "value", "flag"),
    [
        ("--async-scheduling", "true", "--async-scheduling"),
        ("--block-size", "64", "--block-size 64"),
        ("MY_ENV", "1", "export MY_ENV=1"),
    ],
)
def test_settings_of_recipes_are_ready_to_paste(key: str, value: str, flag: str) -> None:
    assert of_group(agreed(key, value)).flags == (flag,)


def test_settings_with_long_paths_are_told_apart_in_a_title() -> None:
    path = "additional_config.ascend_compilation_config"
    items = [agreed(f"{path}.enable_npugraph_ex", "false"), agreed(f"{path}.fuse_norm_quant", "false")]
    assert of_group(*items).title == "enable_npugraph_ex false, fuse_norm_quant false"


@pytest.mark.parametrize(
    ("setting", "low", "high"),
    [
        (agreed("--kv-cache-dtype", "fp8"), 1.05, 1.5),  # half the bytes of long caches
        (agreed("--max-num-batched-tokens", "16384"), 1.0, 1.0),  # more room than the prompts take
    ],
)
def test_a_setting_of_recipes_is_simulated_where_the_cost_model_has_it(
    setting: AgreedSetting, low: float, high: float
) -> None:
    change = of_group(setting, question=SERVED)
    assert change.gain is not None
    assert change.tier == "modelled"
    assert low <= math.exp(change.gain.expected) <= high
    assert of_group(agreed("--served-model-name", "m"), question=SERVED).gain is None


def test_a_setting_of_recipes_that_is_modelled_to_lose_is_not_offered() -> None:
    assert of_recipes(problem(), [agreed("--enforce-eager", "true")], "1", SERVED) is None


def test_of_two_that_exclude_each_other_the_better_stays() -> None:
    better, worse, free = (
        candidate(item) for item in (ranked("better", conflicts=("worse",)), ranked("worse"), ranked("free"))
    )
    assert without_conflicts([better, worse, free]) == [better, free]
    assert without_conflicts([worse, better, free]) == [worse, free]


def test_what_sets_no_more_than_a_better_one_is_left_out() -> None:
    def sets(*names: str) -> tuple[Assignment, ...]:
        return tuple(Assignment(parameter=name, value=1, flag=f"--{name}") for name in names)

    both, one, work = (
        candidate(ranked(name, sets=held))
        for name, held in (("both", sets("x", "y")), ("one", sets("x")), ("work", ()))
    )
    assert without_conflicts([both, one, work, work]) == [both, work, work]
    assert without_conflicts([one, both]) == [one, both]


@pytest.mark.parametrize(
    ("sets", "provided"),
    [
        (Assignment(parameter="quantization", value="ascend"), "the checkpoint is quantised so"),
        (Assignment(parameter="quantization", value="fp8"), ""),
        (
            Assignment(parameter="speculative_config.model", value="DRAFT_MODEL"),
            "there is a draft model trained for it",
        ),
    ],
)
def test_what_no_setting_gives_is_a_condition(sets: Assignment, provided: str) -> None:
    change = candidate(ranked(gain=0.2, sets=(sets,), provided="prompts are long"))
    assert change.provided == " and ".join(filter(None, ["prompts are long", provided]))
