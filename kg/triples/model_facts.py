"""Facts of the model that a problem is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import UnknownEntityError
from kg.nouns.knowledge import Model
from kg.triples.network_table import network_facts
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Problem
    from kg.triples.graph import GraphStore


SIZED = frozenset({"hidden_size", "flops_per_sample"})
"""Facts of which a model that can be priced has one."""


def model_facts(graph: GraphStore, problem: Problem) -> dict[str, float | str]:
    """Facts of the model of a problem, with its architecture: the graph's, or the sizes that it states."""
    try:
        return facts_of(from_graph(graph, Model, problem.workload.model or ""))
    except UnknownEntityError:
        return plain_facts({**problem.workload.shape, **problem.workload.traits})


def facts_of(model: Model) -> dict[str, float | str]:
    """Facts of a model by name, with its architecture; those of the table where the graph has no sizes."""
    known = plain_facts({fact.name: fact.value for fact in model.facts})
    if not SIZED & set(known):
        names = (model.id, *model.labels.values(), *model.aliases)
        known = {**next(filter(None, map(network_facts, names)), {}), **known}
    return {**known, "architecture": model.architecture}


def plain_facts(facts: Mapping[str, object]) -> dict[str, float | str]:
    """The facts whose value is a number or a text."""
    return {name: value for name, value in facts.items() if isinstance(value, int | float | str)}
