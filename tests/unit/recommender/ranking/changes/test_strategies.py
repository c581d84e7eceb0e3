"""Strategies ranked, chosen and shown: on a small graph where every number can be followed."""

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pyoxigraph import Triple

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import (
    Better,
    Hardware,
    Kind,
    Objective,
    Problem,
    Source,
    Trust,
    Workload,
    WorkloadKind,
)
from kg.nouns.gain import Gain
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    HardwareProfile,
    Level,
    Relation,
    Strategy,
    VersionBound,
)
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.iris import source_iri
from kg.triples.serialisation import to_triples
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import Shared
from recommender.ranking.changes.ranked_strategy import RankedStrategy
from recommender.ranking.changes.recommendations import as_change, choose
from recommender.ranking.changes.strategies import StrategyRanker, most_influential
from recommender.ranking.feasibility.feasibility import Refusal
from tests.samples.graphs import store_of

MANUAL = Source(title="Manual", url="https://example.org/manual")
NOW = datetime(2025, 1, 1, tzinfo=UTC)


def strategy(identifier: str, mitigates: str = "", **more: Any) -> Strategy:
    return Strategy(
        id=identifier,
        labels={"en": identifier},
        kind=more.pop("kind", "documented"),
        mitigates=(Relation(target=mitigates, source=MANUAL),) if mitigates else (),
        sources=(MANUAL,),
        **more,
    )


def sets(parameter: str, value: Any = True, flag: str = "") -> tuple[Assignment]:
    return (Assignment(parameter=parameter, value=value, flag=flag),)


def effect(identifier: str, *gains: float, hardware: str = "chip", metric: str = "throughput") -> Effect:
    empty = Effect(context=Context(hardware=hardware), strategy=identifier, metric=metric, kind=Kind.MEASURED)
    return empty.add(gains, now=NOW)


STRATEGIES = (
    strategy("overlap", "wait", sets=sets("overlap", flag="--overlap")),
    strategy(
        "compress",
        "wait",
        sets=sets("compress", 8),
        conflicts_with=(Relation(target="overlap", source=MANUAL),),
    ),
    strategy("recompute", "memory", sets=(*sets("recompute"), *sets("granularity", "full"))),
    strategy("harmful", "wait", contraindicated_by=(Relation(target="memory", source=MANUAL),)),
    strategy("newer", "wait", since=(VersionBound(software="cann", version="9.0", source=MANUAL),)),
    strategy("unrelated", "io"),
    strategy("promised", "wait", kind="claimed"),
)
EFFECTS = (
    effect("overlap", 0.3, 0.3, 0.3),
    effect("compress", 0.2, hardware="sister"),
    effect("recompute", 0.05),
)


@pytest.fixture(scope="module")
def ranker() -> StrategyRanker:
    graph = store_of(
        HardwareProfile(id="acme", labels={"en": "Acme"}, level=Level.VENDOR),
        HardwareProfile(id="arch", labels={"en": "Arch"}, level=Level.ARCHITECTURE, broader="acme"),
        HardwareProfile(id="family", labels={"en": "Family"}, level=Level.FAMILY, broader="arch"),
        HardwareProfile(id="chip", labels={"en": "Chip"}, level=Level.DEVICE, broader="family"),
        HardwareProfile(id="sister", labels={"en": "Sister"}, level=Level.DEVICE, broader="family"),
        *(Bottleneck(id=name, labels={"en": name}) for name in ("wait", "memory", "io")),
        *STRATEGIES,
        *EFFECTS,
    )
    return StrategyRanker(graph, HardwareTree(graph))


def problem(current: dict[str, Any] | None = None, software: Any = None, **shares: float | None) -> Problem:
    return Problem(
        workload=Workload(kind=WorkloadKind.TRAINING, operator="train"),
        hardware=Hardware(name="chip"),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        bottlenecks=Settings(shares),
        current=None if current is None else Settings(current),
        software=Settings(software or {}),
    )


def ids(ranked: list[RankedStrategy]) -> set[str]:
    return {item.strategy.id for item in ranked}


def rules(refused: list[Refusal]) -> dict[str, str]:
    return {item.reason.partition(":")[0]: item.rule for item in refused}


def with_effects(*effects: Effect) -> StrategyRanker:
    graph = store_of(
        HardwareProfile(id="chip", labels={"en": "Chip"}, level=Level.DEVICE),
        *STRATEGIES,
        *effects,
    )
    return StrategyRanker(graph, HardwareTree(graph))


def overlap(ranker: StrategyRanker, question: Problem) -> RankedStrategy:
    return next(item for item in ranker.rank(question)[0] if item.strategy.id == "overlap")


def test_a_gain_over_something_is_none_where_that_does_not_run() -> None:
    over_ring = replace(effect("overlap", 0.4).context, against=Settings({"algo": "ring"}))
    ranker = with_effects(replace(effect("overlap", 0.4), context=over_ring))
    other = overlap(ranker, problem({"--algo": "direct"}))
    assert other.effects == ()
    unknown, same = overlap(ranker, problem()), overlap(ranker, problem({"--algo": "ring"}))
    assert unknown.gain == same.gain
    assert as_change(unknown, problem(), "1").against == "algo=ring"
    assert as_change(same, problem(), "1").baseline == "the same without it"


def test_evidence_of_another_batch_or_framework_weighs_less() -> None:
    def weight(context: Context) -> float:
        ranker = with_effects(replace(effect("overlap", 0.4), context=context))
        asked = problem(software={"vllm-ascend": "0.18.0"})
        asked = replace(asked, workload=replace(asked.workload, shape=Settings({"batch": 8})))
        return overlap(ranker, asked).effects[0].weight

    here = Context(hardware="chip")
    near, far, elsewhere = (
        weight(replace(here, facts=Settings(facts)))
        for facts in ({"batch": 8}, {"batch": 512}, {"batch": 8, "software.sglang": "0.5"})
    )
    assert weight(here) == near
    assert far < near
    assert elsewhere < near


def test_only_what_is_for_an_observed_bottleneck_is_ranked(ranker: StrategyRanker) -> None:
    ranked, refused = ranker.rank(problem(wait=0.3))
    assert ids(ranked) == {"overlap", "compress", "harmful", "newer"}
    assert refused == []
    assert ids(ranker.rank(problem())[0]) == {item.id for item in STRATEGIES if item.kind != "claimed"}


def test_a_claim_is_no_advice_until_a_gain_tells_of_the_question() -> None:
    told = replace(effect("promised", 0.5), kind=Kind.CLAIMED)
    other = replace(effect("promised", 0.4), context=Context(hardware="chip", against=Settings({"a": 1})))
    for gain in (told, other):
        ranked, refused = with_effects(gain).rank(problem({"a": 2}), beyond=True)
        assert "promised" not in ids(ranked) | rules(refused).keys()
    assert "promised" in ids(with_effects(effect("promised", 0.1)).rank(problem())[0])


def test_own_measurements_outrank_the_prior_and_nothing_passes_its_ceiling(ranker: StrategyRanker) -> None:
    ranked, _ = ranker.rank(problem(wait=0.2))
    assert ranked[0].strategy.id == "overlap"
    for item in ranked:
        assert item.gain is not None
        assert item.gain.high <= -math.log(0.8) + 1e-12


@pytest.mark.parametrize(("level", "weight"), [(Trust.LOW, 0.25), (Trust.HIGH, 1.0)])
def test_an_effect_weighs_as_its_least_trusted_source(level: Trust, weight: float) -> None:
    graph = GraphStore()
    seen, told = effect("overlap", 0.3), replace(MANUAL, trust=level)
    for noun in (
        HardwareProfile(id="chip", labels={"en": "Chip"}, level=Level.DEVICE),
        *(Bottleneck(id=name, labels={"en": name}) for name in ("wait", "memory", "io")),
        *(STRATEGIES[0], STRATEGIES[1], seen, told),
    ):
        graph.extend(to_triples(noun))
    ranker = StrategyRanker(graph, HardwareTree(graph))

    def trust() -> float:
        ranked, _ = ranker.rank(problem(wait=0.3))
        return next(item for item in ranked if item.strategy.id == "overlap").effects[0].trust

    usual = trust()
    graph.extend([Triple(EFFECT.iri(seen), Shared.DERIVED_FROM, source_iri(told.id))])
    ranker = StrategyRanker(graph, HardwareTree(graph))
    assert trust() == pytest.approx(usual * weight)


def test_what_does_harm_there_is_refused_with_its_source(ranker: StrategyRanker) -> None:
    ranked, refused = ranker.rank(problem(wait=0.3, memory=0.2))
    assert "harmful" not in ids(ranked)
    [item] = refused
    assert item.rule == "it does harm there"
    assert item.reason == "harmful: with memory"
    assert item.source == "Manual https://example.org/manual"


def test_a_version_without_it_refuses_it(ranker: StrategyRanker) -> None:
    ranked, refused = ranker.rank(problem(software={"cann": "8.0"}, wait=0.3))
    assert "newer" not in ids(ranked)
    assert rules(refused) == {"newer": "the version has it"}
    assert "newer" in ids(ranker.rank(problem(software={"cann": "9.0"}, wait=0.3))[0])


def test_what_is_set_is_not_advised_and_what_it_excludes_is_refused(ranker: StrategyRanker) -> None:
    ranked, refused = ranker.rank(problem(current={"overlap": True}, wait=0.3))
    assert "overlap" not in ids(ranked)
    assert rules(refused) == {"compress": "it goes with what is set"}
    ranked, refused = ranker.rank(problem(current={"compress": 8}, wait=0.3))
    assert rules(refused) == {"overlap": "it goes with what is set"}


def test_each_bottleneck_has_its_first_before_any_has_its_second(ranker: StrategyRanker) -> None:
    ranked, _ = ranker.rank(problem(wait=0.4, memory=0.1))
    chosen = choose(ranked, 2)
    assert {item.match.bottleneck for item in chosen} == {"wait", "memory"}


def test_fewer_are_the_beginning_of_more(ranker: StrategyRanker) -> None:
    ranked, _ = ranker.rank(problem(wait=0.4, memory=0.1))
    most = choose(ranked, 6)
    assert all(choose(ranked, k) == most[:k] for k in range(7))


def test_a_configuration_is_known_as_that_of_a_strategy_whether_it_fits_or_not(
    ranker: StrategyRanker,
) -> None:
    assert ranker.has_one_for(Settings({"compress": 8}))
    assert ranker.has_one_for(Settings({"granularity": "full", "recompute": True}))
    for other in ({"compress": 4}, {"recompute": True}, {"compress": 8, "overlap": True}, {"unknown": 1}, {}):
        assert not ranker.has_one_for(Settings(other))


def test_only_what_is_not_set_yet_is_to_be_pasted(ranker: StrategyRanker) -> None:
    asked = problem(current={"recompute": True}, memory=0.2)
    [item] = [item for item in ranker.rank(asked)[0] if item.strategy.id == "recompute"]
    recommendation = as_change(item, asked, "1")
    assert recommendation.configuration == Settings({"granularity": "full"})
    assert recommendation.flags == ("granularity=full",)
    assert recommendation.ceiling == pytest.approx(-math.log(0.8))
    assert recommendation.bottleneck == "memory"
    assert recommendation.evidence[0].says == "1.05x throughput on chip (n=1)"


def test_ids_depend_on_question_configuration_and_knowledge(ranker: StrategyRanker) -> None:
    asked, other = problem(wait=0.3), problem(wait=0.4)
    item = ranker.rank(asked)[0][0]
    first = as_change(item, asked, "1").id
    assert first == as_change(item, asked, "1").id
    assert len({first, as_change(item, asked, "2").id, as_change(item, other, "1").id}) == 3


def gain(expected: float) -> Gain:
    return Gain(expected=expected, low=expected - 0.1, high=expected + 0.1)


SOURCES = {name: Source(title=name, url=f"https://{name}.example") for name in ("one", "two", "three")}


def test_it_is_the_one_whose_absence_changes_most() -> None:
    left = {"one": gain(0.19), "two": gain(0.35), "three": gain(0.15)}
    found = most_influential(gain(0.2), SOURCES, left.__getitem__)
    assert found is not None
    assert found.source == "two https://two.example"
    assert (found.gain, round(found.moved, 6)) == (gain(0.35), -0.15)
    assert "without two https://two.example it would be 1.42x" in str(found)
    assert found.to_json()["moves_expected_log"] == -0.15
