"""Models of a graph found by their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from kg.triples import nodes
from kg.triples.iris import model_iri, name_of, named, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.triples.graph import GraphStore

DECISIVE = ("hidden_size", "layers", "attention_heads")
"""Facts that must be told and agree."""

PADDED = frozenset({"vocabulary_size"})
"""Facts that a launch may round up, and that therefore decide nothing."""

_MODELS = model_iri("").value


def models_of_size(store: GraphStore, sizes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the ids of the models whose facts agree with all given sizes, sorted.

    Args:
        store: The graph.
        sizes: Facts by name, such as ``hidden_size``; other names are passed over.

    Returns:
        Empty where one of :data:`DECISIVE` is not given, or no model agrees.
    """
    if any(not isinstance(sizes.get(name), int) for name in DECISIVE):
        return ()
    given = [name for name, value in sizes.items() if isinstance(value, int) and name not in PADDED]
    models: list[str] = []
    wanted = Literal(int(str(sizes[DECISIVE[0]])))
    for node in nodes.subjects(store, named("property", DECISIVE[0]), wanted):
        if not node.value.startswith(_MODELS):
            continue
        facts = {name: _fact(store, node, name) for name in given}
        if "experts" not in given and _fact(store, node, "experts") is not None:
            continue  # what has experts says so
        if all(facts.get(name) == sizes[name] for name in DECISIVE) and all(
            value is None or value == sizes[name] for name, value in facts.items()
        ):
            models.append(name_of(node))
    return tuple(sorted(models))


def _fact(store: GraphStore, node: NamedNode, name: str) -> object:
    return next(map(value_of, nodes.literals(store, node, named("property", name))), None)
