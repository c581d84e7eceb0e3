"""The shipped hardware and models, as benchmarks look them up: in the graph, through the product's own readers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import data
from ingest.knowledge.files import read_knowledge
from kg.errors import TuningError, UnknownEntityError
from kg.nouns.knowledge import Model
from kg.nouns.values import Value
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import facts_of
from kg.triples.names import Names
from kg.triples.network_table import network_facts
from kg.triples.serialisation import from_graph, to_triples
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.machine import Machine, machine

A2 = ("ascend-910b1", 8, "atlas-800t-a2")
"""Device, count and server of the Ascend machine that most public measurements are of."""
A3 = ("ascend-910c", 16, "atlas-800t-a3")


class NotExpressibleError(Exception):
    """A published row that the cost model cannot be asked about; the message says what it leaves out."""


Row = TypeVar("Row")
Found = TypeVar("Found")


def expressible(
    rows: Iterable[Row], express: Callable[[Row], Found]
) -> tuple[list[tuple[Row, Found]], dict[str, list[Row]]]:
    """Rows with what is made of each, and the others by the reason, which is printed with how often."""
    found: list[tuple[Row, Found]] = []
    refused: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        try:
            found.append((row, express(row)))
        except (NotExpressibleError, TuningError, ValueError) as reason:
            refused[re.sub(r"^\S+: ", "", str(reason))].append(row)
    for why, held in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"  {len(held)} refused: {why}")
    return found, refused


@dataclass(frozen=True, slots=True)
class ShippedKnowledge:
    """The shipped hardware and models in a graph in memory.

    Attributes:
        graph: What holds them.
        hardware: Facts and distances of hardware.
        names: From what people write to the nodes of the graph.
    """

    graph: GraphStore
    hardware: HardwareTree
    names: Names

    @classmethod
    @cache
    def load(cls) -> ShippedKnowledge:
        """Read the shipped files, once; who adds to the graph is alone in its process."""
        graph = GraphStore()
        root = Path(data.__file__).parent
        for path in sorted([*root.glob("hardware/*.yaml"), *root.glob("models/*.yaml")]):
            for noun in read_knowledge(path.read_text(encoding="utf-8"), path.name):
                graph.extend(to_triples(noun))
        hardware = HardwareTree(graph)
        return cls(graph, hardware, Names(graph, hardware))

    def machine(self, device: str, count: int, server: str) -> Machine:
        """Devices in a server, for the cost model."""
        facts = self.hardware.facts
        return machine(device, facts(device), count=count, server=server, server_facts=facts(server))

    def model_facts(self, name: str) -> dict[str, Value]:
        """Facts of a model with its architecture; empty if it is not known."""
        try:
            return dict(facts_of(from_graph(self.graph, Model, name)))
        except UnknownEntityError:
            return {}

    def sizes(self, name: str) -> ModelSizes:
        """Sizes of a model by its id."""
        facts = {k: v for k, v in self.model_facts(name).items() if isinstance(v, int | float | str)}
        return model_of(name, str(facts.get("architecture", "")), facts)

    def model(self, text: str) -> ModelSizes:
        """Sizes of the model that a publication names, as the product understands it.

        Raises:
            NotExpressibleError: The graph has no such model.
        """
        facts = network_facts(text)
        try:
            found = self.names.model(text)
        except UnknownEntityError:
            found = None
        if found is not None and not (found.passed_over and facts):
            return self.sizes(found.id)
        if facts:
            return model_of(text, "vision", facts)
        raise NotExpressibleError("model not in the graph")
