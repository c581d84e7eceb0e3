"""Pairs of settings that strategies of the graph declare to exclude each other."""

from kg.nouns.knowledge import Strategy
from kg.nouns.values import Settings
from kg.triples.finders import StrategyFinder
from kg.triples.graph import GraphStore

Pair = tuple["Settings", "Settings", str, str]
"""The settings of both strategies, their labels, and the source of the exclusion."""


class Exclusions:
    """The strategies of a graph that cannot be combined, as pairs of settings; read when first needed.

    Args:
        graph: The knowledge.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._strategies = StrategyFinder(graph)
        self._among: dict[frozenset[str], tuple[Pair, ...]] = {}

    def among(self, names: frozenset[str]) -> tuple[Pair, ...]:
        """Return the pairs in which both strategies set only parameters of these names."""
        if names not in self._among:
            self._among[names] = self._pairs(names)
        return self._among[names]

    def setting(self, parameter: str) -> tuple[Strategy, ...]:
        """Return the strategies that set a parameter."""
        return self._strategies.setting(parameter)

    def _pairs(self, names: frozenset[str]) -> tuple[Pair, ...]:
        strategies = {
            strategy.id: strategy
            for parameter in names
            for strategy in self._strategies.setting(parameter)
            if strategy.sets and set(strategy.configuration) <= names
        }
        pairs: dict[frozenset[str], Pair] = {}
        for one in sorted(strategies.values(), key=lambda strategy: strategy.id):
            for relation in one.conflicts_with:
                other = strategies.get(relation.target)
                if other is None or one.configuration == other.configuration:
                    continue
                source = f"{relation.source.title} {relation.source.url}".strip()
                labels = f"{one.label} and {other.label}"
                pairs.setdefault(
                    frozenset({one.id, other.id}), (one.configuration, other.configuration, labels, source)
                )
        return tuple(pairs.values())
