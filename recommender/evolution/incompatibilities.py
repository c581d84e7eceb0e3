"""Strategies that cannot be combined, found in outcomes: one failed where the control had the other.

A failure speaks against strategy S together with T if T was set in the control, which ran; if S never ran
with T; if S ran somewhere without T; and if no other strategy of that control is left to suspect. The edges
follow from all outcomes of S whatever their order, and go when an outcome contradicts them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kg.errors import UnknownEntityError
from kg.nouns.knowledge import Relation, Strategy
from kg.nouns.outcomes import Outcome
from kg.triples.serialisation import all_of, from_graph
from kg.triples.tables.fields import Node
from kg.triples.vocabulary import RDF_TYPE, TG, name_of, strategy_iri
from recommender.applicability.scope import already_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.triples.graph import GraphStore


def outcomes_of(graph: GraphStore, strategy: str) -> list[Outcome]:
    """The outcomes of a strategy, oldest first."""
    found = []
    for triple in graph.triples(None, TG.OF_STRATEGY, strategy_iri(strategy)):
        if not isinstance(triple.subject, NamedNode):
            continue
        if TG.OUTCOME in Node(graph, triple.subject).said.get(RDF_TYPE, ()):
            found.append(from_graph(graph, Outcome, name_of(triple.subject)))
    return sorted(found, key=lambda outcome: (outcome.time, outcome.id))


def failed_strategies(graph: GraphStore) -> set[str]:
    """Ids of the strategies that some test could not run: only theirs can be conflicts."""
    found = set()
    for triple in graph.triples(None, TG.FAILED_RUNS):
        if isinstance(triple.subject, NamedNode):
            outcome = from_graph(graph, Outcome, name_of(triple.subject))
            if broke(outcome) and outcome.strategy:
                found.add(outcome.strategy)
    return found


def broke(outcome: Outcome) -> bool:
    """Whether the treatment of a test never ran."""
    return bool(outcome.failures) and not outcome.pairs


def revised(graph: GraphStore, strategies: Iterable[str]) -> list[Strategy]:
    """Those of some strategies whose conflicts outcomes have changed, as they are now."""
    changed = []
    every: list[Strategy] | None = None
    for identifier in sorted(set(strategies)):
        try:
            strategy = from_graph(graph, Strategy, identifier)
        except UnknownEntityError:  # a test may try what the graph does not describe
            continue
        outcomes = outcomes_of(graph, identifier)
        tests = {outcome.source.id for outcome in outcomes}
        told = tuple(item for item in strategy.conflicts_with if item.source.id not in tests)
        found: tuple[Relation, ...] = ()
        if any(broke(outcome) for outcome in outcomes):
            every = every if every is not None else [item for item in all_of(graph, Strategy) if item.sets]
            found = _found(identifier, outcomes, every)
        conflicts = (*told, *found)
        if set(conflicts) != set(strategy.conflicts_with):
            changed.append(replace(strategy, conflicts_with=conflicts))
    return changed


def _found(strategy: str, outcomes: Sequence[Outcome], every: Sequence[Strategy]) -> tuple[Relation, ...]:
    ran = [_set_in(outcome, strategy, every) for outcome in outcomes if outcome.pairs]
    harmless = set().union(*ran)
    relations = []
    for outcome in outcomes:
        if not broke(outcome):
            continue
        suspects = _set_in(outcome, strategy, every) - harmless
        if len(suspects) == 1 and any(not suspects & others for others in ran):
            relations.append(Relation(target=next(iter(suspects)), source=outcome.source))
    return tuple(relations)


def _set_in(outcome: Outcome, strategy: str, every: Sequence[Strategy]) -> set[str]:
    """Ids of the other strategies that the control of a test had, and that its treatment kept."""
    return {
        item.id
        for item in every
        if item.id != strategy
        and already_set(item, outcome.control)
        and already_set(item, outcome.configuration)
    }
