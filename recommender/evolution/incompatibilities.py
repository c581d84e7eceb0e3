"""Conflicts between strategies that outcomes show: one failed where the control had the other.

A failure speaks against strategy S together with T if T was set in the control, which ran; if S never ran
with T; if S ran somewhere without T; and if no other strategy of that control is left to suspect. The edges
follow from all outcomes of S whatever their order, and go when an outcome contradicts them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kg.errors import UnknownEntityError
from kg.nouns.knowledge import Relation, Strategy
from kg.nouns.outcomes import Outcome
from kg.triples.finders import failed_outcomes, outcomes_of
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, from_graph
from recommender.applicability.scope import already_set


def failed_strategies(graph: GraphStore) -> set[str]:
    """Return the ids of the strategies that some test could not run: only theirs can be conflicts."""
    return {outcome.strategy for outcome in failed_outcomes(graph)}


def revise_conflicts(graph: GraphStore, strategies: Iterable[str]) -> list[Strategy]:
    """Return the strategies whose conflicts the outcomes of some have changed, with the new conflicts.

    A conflict is stated by both of its strategies, so the other one changes too.
    """
    changed: dict[str, Strategy] = {}
    every: list[Strategy] | None = None
    for identifier in sorted(set(strategies)):
        try:
            strategy = changed.get(identifier) or from_graph(graph, Strategy, identifier)
        except UnknownEntityError:  # a test may try what the graph does not describe
            continue
        outcomes = outcomes_of(graph, identifier)
        tests = {outcome.source.id for outcome in outcomes}
        documented = tuple(item for item in strategy.conflicts_with if item.source.id not in tests)
        tested: tuple[Relation, ...] = ()
        if any(outcome.treatment_never_ran for outcome in outcomes):
            every = every if every is not None else [item for item in all_of(graph, Strategy) if item.sets]
            tested = _tested_conflicts(identifier, outcomes, every)
        conflicts = (*documented, *tested)
        if set(conflicts) == set(strategy.conflicts_with):
            continue
        changed[identifier] = replace(strategy, conflicts_with=conflicts)
        for other in {item.target for item in set(conflicts) ^ set(strategy.conflicts_with)}:
            partner = changed.get(other) or from_graph(graph, Strategy, other)
            own = [
                item
                for item in partner.conflicts_with
                if item.target != identifier or item.source.id not in tests
            ]
            mirrored = [
                Relation(target=identifier, source=item.source) for item in tested if item.target == other
            ]
            changed[other] = replace(partner, conflicts_with=(*own, *mirrored))
    return list(changed.values())


def _tested_conflicts(
    strategy: str, outcomes: Sequence[Outcome], every: Sequence[Strategy]
) -> tuple[Relation, ...]:
    ran = [_set_in(outcome, strategy, every) for outcome in outcomes if outcome.pairs]
    harmless = set().union(*ran)
    relations = []
    for outcome in outcomes:
        if not outcome.treatment_never_ran:
            continue
        suspects = _set_in(outcome, strategy, every) - harmless
        if len(suspects) == 1 and any(not suspects & others for others in ran):
            relations.append(Relation(target=next(iter(suspects)), source=outcome.source))
    return tuple(relations)


def _set_in(outcome: Outcome, strategy: str, every: Sequence[Strategy]) -> set[str]:
    """Return ids of the other strategies that the control of a test had, and that its treatment kept."""
    return {
        item.id
        for item in every
        if item.id != strategy
        and already_set(item, outcome.control)
        and already_set(item, outcome.configuration)
    }
