"""Models of a graph by name, each read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import UnknownEntityError
from kg.nouns.knowledge import Model
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from kg.triples.graph import GraphStore


class ModelFinder:
    """Models of a graph by name."""

    def __init__(self, graph: GraphStore) -> None:
        self._graph = graph
        self._models: dict[str, Model | None] = {}

    def find(self, name: str | None) -> Model | None:
        """The model of a name; None for no name or one that the graph does not have."""
        if not name:
            return None
        if name not in self._models:
            try:
                self._models[name] = from_graph(self._graph, Model, name)
            except UnknownEntityError:
                self._models[name] = None
        return self._models[name]
