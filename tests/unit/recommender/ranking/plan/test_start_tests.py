"""Tests of starts as factors on recipes and layouts: sign, reach, and starts that never ran."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kg.nouns.entities import Problem, Source
from kg.nouns.knowledge import HardwareProfile, Level, Model
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import problem_triples, to_triples
from recommender.ranking.plan.start_tests import StartTests
from recommender.ranking.starts.starts import StartReliability
from tests.samples.graphs import store_of
from tests.unit.recommender.ranking.starts.situations import problem, situation

SPLIT = (8, 1, 1, 1, 1)


def outcome(gain: float | None, about: Problem | None = None, number: int = 0, failures: int = 0) -> Outcome:
    return Outcome(
        id=f"o{number}",
        problem=(about or problem()).id,
        metric="throughput",
        configuration=Settings({"tensor_parallel_size": 8}),
        verdict="undecided" if gain is None else "better" if gain > 0 else "worse",
        scheme="randomised",
        pairs=0 if gain is None else 20,
        alpha=0.01,
        margin=0.01,
        time=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number),
        source=Source(title=f"A/B {number}"),
        gain=gain,
        failures=failures,
        recipes=("r",),
        layout=Settings({"tp": 8}),
    )


def reliability(
    *tests: tuple[Outcome, Problem], model: str = "small", chip: str = "chip-a"
) -> StartReliability:
    places = [("acme", Level.VENDOR, None), ("line", Level.FAMILY, "acme"), ("other", Level.VENDOR, None)]
    chips = [("chip-a", Level.DEVICE, "line"), ("chip-c", Level.DEVICE, "other")]
    nouns: list[object] = [
        HardwareProfile(id=name, labels={"en": name}, level=level, broader=above)
        for name, level, above in (*places, *chips)
    ]
    for name, family in (("small", "pine"), ("large", "pine"), ("experts", "oak")):
        nouns.append(Model(id=name, labels={"en": name}, family=family, architecture="decoder"))
    graph = store_of(*nouns)
    for test, about in tests:
        graph.extend([*problem_triples(about, 1), *to_triples(test)])
    return StartTests(graph, HardwareTree(graph)).reliability(situation(model, chip))


def test_a_worse_start_takes_weight_and_a_better_one_gives_it() -> None:
    here = problem()
    worse, better = reliability((outcome(-0.2), here)), reliability((outcome(0.2), here))
    assert worse.recipes["r"] < 0.05
    assert worse.layouts[SPLIT] == 0.0
    assert 1.2 < better.recipes["r"] < 2
    assert 1.2 < better.layouts[SPLIT] < 2
    assert reliability() == replace(worse, recipes={}, layouts={})


def test_a_layout_that_lost_here_is_out_until_it_wins_and_not_for_its_settings() -> None:
    lost, won = (outcome(-0.2), problem()), (outcome(0.2, number=1), problem())
    assert reliability(won, lost).layouts[SPLIT] > 0.0
    same = replace(lost[0], control=Settings({"tensor_parallel_size": 8}))
    assert 0.0 < reliability((same, problem())).layouts[SPLIT] < 0.05


def test_a_recipe_is_judged_by_its_family_and_a_layout_by_its_model() -> None:
    of_family, of_others = (reliability((outcome(0.2), problem()), model=one) for one in ("large", "experts"))
    assert of_family.recipes["r"] > of_others.recipes["r"]
    assert of_family.layouts == of_others.layouts


def test_a_start_that_never_ran_is_worth_least() -> None:
    here = problem()
    failed = reliability((outcome(None, failures=3), here))
    assert failed.recipes["r"] <= reliability((outcome(-0.1), here)).recipes["r"]
    assert failed.recipes["r"] > 0


@pytest.mark.parametrize(
    ("model", "chip"), [("large", "chip-a"), ("experts", "chip-a"), ("experts", "chip-c")]
)
def test_it_says_less_elsewhere(model: str, chip: str) -> None:
    test = (outcome(-0.2), problem())
    here, there = reliability(test), reliability(test, model=model, chip=chip)
    assert here.layouts[SPLIT] < there.layouts[SPLIT] < 1
    assert here.recipes["r"] <= there.recipes["r"] < 1


def test_a_gain_in_another_metric_says_nothing() -> None:
    test = replace(outcome(-0.3), metric="ttft")
    assert reliability((test, problem())).recipes == {}
