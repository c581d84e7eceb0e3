"""Facts of the model that a problem is about."""

from collections.abc import Mapping

from kg.errors import UnknownEntityError
from kg.nouns.entities import Problem
from kg.nouns.knowledge import Model
from kg.terms.meanings import kind_of
from kg.triples.graph import GraphStore
from kg.triples.network_table import network_facts
from kg.triples.serialisation import from_graph

SIZED = frozenset({"hidden_size", "flops_per_sample"})
"""Facts of which a model that can be priced has one."""
COUNTED = frozenset({"parameters", "active_parameters"})
"""Facts that follow from the sizes: those of a name are not those of other sizes."""


def model_facts(graph: GraphStore, problem: Problem) -> dict[str, float | str]:
    """Facts of the model of a problem, with its architecture: the sizes that it states over the graph's."""
    try:
        known = facts_of(from_graph(graph, Model, problem.workload.model or ""))
    except UnknownEntityError:
        return plain_facts({**problem.workload.shape, **problem.workload.traits})
    if not (stated := stated_sizes(problem)):
        return known
    return {**{name: value for name, value in known.items() if name not in COUNTED}, **stated}


def stated_sizes(problem: Problem) -> dict[str, float | str]:
    """Facts of the network that a problem states, where it states its sizes; else none."""
    stated = plain_facts({**problem.workload.shape, **problem.workload.traits})
    if not SIZED & set(stated):
        return {}
    return {name: value for name, value in stated.items() if kind_of(name) not in {"length", "batch"}}


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
