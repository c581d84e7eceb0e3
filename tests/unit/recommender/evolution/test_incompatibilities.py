"""Incompatibilities found in outcomes become edges with their evidence, and go when they are contradicted."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kg.nouns.entities import Source
from kg.nouns.knowledge import Assignment, Relation, Strategy
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples
from recommender.evolution.incompatibilities import failed_strategies, revise_conflicts

MANUAL = Source(title="Manual")
START = datetime(2026, 1, 1, tzinfo=UTC)


def strategy(identifier: str, conflicts: tuple[Relation, ...] = (), **sets: Any) -> Strategy:
    return Strategy(
        id=identifier,
        labels={"en": identifier},
        kind="documented",
        sets=tuple(Assignment(parameter=name, value=value) for name, value in sets.items()),
        conflicts_with=conflicts,
        sources=(MANUAL,),
    )


def outcome(
    number: int, control: dict[str, Any], *, runs: bool, changed: dict[str, Any] | None = None
) -> Outcome:
    return Outcome(
        id=f"o{number}",
        problem="p",
        metric="throughput",
        configuration=Settings({**control, **(changed or {"overlap": True})}),
        control=Settings(control),
        verdict="better" if runs else "worse",
        scheme="randomised",
        pairs=12 if runs else 0,
        failures=0 if runs else 8,
        alpha=0.01,
        margin=0.01,
        time=START + timedelta(days=number),
        source=Source(title=f"A/B {number}"),
        gain=0.1 if runs else None,
        strategy="overlap",
    )


def conflicts(outcomes: Sequence[Outcome], told: tuple[Relation, ...] = ()) -> dict[str, set[str]]:
    """Conflicts of the strategy after outcomes told one by one: by target, titles of the evidence.

    Each is stated by the other strategy too.
    """
    graph = GraphStore()
    nouns = (
        strategy("overlap", told, overlap=True),
        strategy("compress", compress=8),
        strategy("graph", tuple(Relation(target="overlap", source=item.source) for item in told), graph=1),
    )
    now = {noun.id: noun for noun in nouns}
    for noun in nouns:
        graph.extend(to_triples(noun))
    for item in outcomes:
        graph.extend(to_triples(item))
        for changed in revise_conflicts(graph, failed_strategies(graph)):
            graph.replace(to_triples(now[changed.id]), [])
            graph.extend(to_triples(changed))
            now[changed.id] = changed
    found: dict[str, set[str]] = {}
    for relation in now["overlap"].conflicts_with:
        found.setdefault(relation.target, set()).add(relation.source.title)
        assert Relation(target="overlap", source=relation.source) in now[relation.target].conflicts_with
    return found


ALONE = outcome(1, {"batch": 1}, runs=True)
TOGETHER = outcome(2, {"batch": 1, "compress": 8}, runs=False)
AGAIN = outcome(3, {"compress": 8}, runs=False)


def test_a_failure_together_that_runs_alone_is_a_conflict_with_its_evidence() -> None:
    for order in itertools.permutations([ALONE, TOGETHER, AGAIN]):
        assert conflicts(order) == {"compress": {"A/B 2", "A/B 3"}}


@pytest.mark.parametrize(
    "outcomes",
    [
        [TOGETHER],  # it may fail everywhere
        [ALONE, outcome(4, {"batch": 2}, runs=False)],  # nothing else was set
        [ALONE, outcome(5, {"compress": 8, "graph": 1}, runs=False)],  # either may be at fault
        [ALONE, outcome(6, {"compress": 8}, runs=False, changed={"overlap": True, "compress": 4})],
    ],
)
def test_what_leaves_it_open_is_no_conflict(outcomes: list[Outcome]) -> None:
    assert conflicts(outcomes) == {}


def test_an_outcome_undoes_what_others_found_and_nothing_that_was_told() -> None:
    refuted = outcome(9, {"compress": 8}, runs=True)
    told = (Relation(target="graph", source=MANUAL),)
    for order in itertools.permutations([ALONE, TOGETHER, refuted]):
        assert conflicts(order, told) == {"graph": {"Manual"}}
