"""Nodes of a hardware tree, with facts of one data sheet."""

from typing import Any

from kg.nouns.entities import Source
from kg.nouns.knowledge import Confidence, Fact, FactKind, HardwareProfile, Level
from kg.triples.hardware_tree import HardwareTree
from tests.samples.graphs import store_of

SHEET = Source(title="a data sheet", url="https://example.org/sheet")


def facts(**values: float | str) -> tuple[Fact, ...]:
    """Facts by name."""
    known = {"source": SHEET, "kind": FactKind.DOCUMENTED, "confidence": Confidence.HIGH}
    return tuple(Fact(name=name, value=value, **known) for name, value in values.items())  # type: ignore[arg-type]  # by name


def node(name: str, level: Level, broader: str | None = None, **more: Any) -> HardwareProfile:
    """A node whose label is its name."""
    return HardwareProfile(id=name, labels={"en": name}, level=level, broader=broader, **more)


def tree_of(*nodes: HardwareProfile) -> HardwareTree:
    """A tree of them."""
    return HardwareTree(store_of(*nodes))
