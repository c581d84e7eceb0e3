"""Settings of strategies that exclude each other, as the graph has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kg.nouns.knowledge import Strategy
from kg.triples.serialisation import from_graph
from kg.triples.vocabulary import TG, name_of, parameter_iri

if TYPE_CHECKING:
    from kg.nouns.values import Settings
    from kg.triples.graph import GraphStore

Pair = tuple["Settings", "Settings", str, str]
"""What either sets, who excludes whom, and who says so."""


class Exclusions:
    """The pairs of strategies that cannot be combined; each is read when it is first needed.

    Args:
        graph: The knowledge.
    """

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._read: dict[str, Strategy] = {}
        self._setting: dict[str, tuple[str, ...]] = {}
        self._among: dict[frozenset[str], tuple[Pair, ...]] = {}

    def among(self, names: frozenset[str]) -> tuple[Pair, ...]:
        """The pairs of which both only set parameters of these names; found once for each set of names."""
        if names not in self._among:
            self._among[names] = self._pairs(names)
        return self._among[names]

    def setting(self, parameter: str) -> tuple[Strategy, ...]:
        """The strategies that set a parameter."""
        return tuple(self._strategy(name) for name in self._that_set(parameter))

    def _pairs(self, names: frozenset[str]) -> tuple[Pair, ...]:
        found = {name: self._strategy(name) for parameter in names for name in self._that_set(parameter)}
        whole = {name: item for name, item in found.items() if item.sets and set(item.configuration) <= names}
        pairs: dict[frozenset[str], Pair] = {}
        for one in whole.values():
            for relation in one.conflicts_with:
                other = whole.get(relation.target)
                if other is None or one.configuration == other.configuration:
                    continue
                source = f"{relation.source.title} {relation.source.url}".strip()
                said = f"{one.label} and {other.label}"
                pairs.setdefault(
                    frozenset({one.id, other.id}), (one.configuration, other.configuration, said, source)
                )
        return tuple(pairs.values())

    def _that_set(self, parameter: str) -> tuple[str, ...]:
        """Ids of the strategies that set a parameter."""
        if parameter not in self._setting:
            found: set[str] = set()
            for assigned in self._graph.triples(None, TG.OF_PARAMETER, parameter_iri(parameter)):
                if isinstance(assigned.subject, NamedNode):
                    for sets in self._graph.triples(None, TG.SETS, assigned.subject):
                        if isinstance(sets.subject, NamedNode):
                            found.add(name_of(sets.subject))
            self._setting[parameter] = tuple(sorted(found))
        return self._setting[parameter]

    def _strategy(self, name: str) -> Strategy:
        if name not in self._read:
            self._read[name] = from_graph(self._graph, Strategy, name)
        return self._read[name]
