"""Strategies that only ever failed where a question is about: what outcomes say against trying them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kg.errors import UnknownEntityError
from kg.nouns.entities import Problem
from kg.nouns.outcomes import Outcome
from kg.triples.serialisation import from_graph
from kg.triples.tables.effects import EFFECT
from kg.triples.tables.fields import Node
from kg.triples.vocabulary import RDF_TYPE, TG, name_of, strategy_iri

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.triples.graph import GraphStore


class TreatmentFailures:
    """The outcomes of a graph whose treatment failed; read once.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._failed: dict[str, list[Outcome]] = {}
        for triple in graph.triples(None, TG.FAILED_RUNS):
            if isinstance(triple.subject, NamedNode):
                outcome = from_graph(graph, Outcome, name_of(triple.subject))
                if outcome.strategy and not outcome.pairs:
                    self._failed.setdefault(outcome.strategy, []).append(outcome)

    def of(self, strategy: str, problem: Problem, family: Callable[[str | None], str]) -> Outcome | None:
        """The newest failure of a strategy on the hardware and model family of a problem.

        None if it never failed there, or ran there too: then it depends on something else.

        Args:
            strategy: Its id.
            problem: The question.
            family: Model family of a model; empty if unknown.
        """
        if strategy not in self._failed:
            return None
        asked = (problem.hardware.name, family(problem.workload.model))

        def is_there(outcome: Outcome) -> bool:
            try:
                tried = from_graph(self._graph, Problem, outcome.problem)
            except UnknownEntityError:
                return False
            return (tried.hardware.name, family(tried.workload.model)) == asked

        found = [outcome for outcome in self._failed[strategy] if is_there(outcome)]
        if not found or self._ran(strategy, *asked):
            return None
        return max(found, key=lambda outcome: (outcome.time, outcome.id))

    def _ran(self, strategy: str, hardware: str, family: str) -> bool:
        for triple in self._graph.triples(None, TG.OF_STRATEGY, strategy_iri(strategy)):
            if isinstance(triple.subject, NamedNode):
                node = Node(self._graph, triple.subject)
                if TG.EFFECT in node.said.get(RDF_TYPE, ()):
                    effect = EFFECT.read(node)
                    if (effect.context.hardware, effect.context.family) == (hardware, family) and effect.n:
                        return True
        return False
