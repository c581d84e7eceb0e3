"""Nouns to triples and back: one table per noun (``kg.triples.tables``) drives both directions.

``from_graph(store, type(noun), noun.id) == noun`` once ``to_triples(noun)`` is in the store, up to the
order of names and statements that have none. A problem names its workload, which all problems of one
task share; sources and objectives are shared too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pyoxigraph import Literal, NamedNode

from kg.errors import UnknownEntityError
from kg.nouns.effects import Context
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.tables.common import SOURCE
from kg.triples.tables.descriptions import TripleDescriptions
from kg.triples.tables.effects import CONTEXT, EFFECT, context_node
from kg.triples.tables.knowledge import (
    BOTTLENECK,
    CAUSE,
    GREEN_SCHEDULE,
    GRID_REGION,
    HARDWARE_PROFILE,
    MODEL,
    MODEL_FAMILY,
)
from kg.triples.tables.outcomes import OUTCOME
from kg.triples.tables.problems import BATCH, OBJECTIVE, PROBLEM, WORKLOAD
from kg.triples.tables.recipes import RECIPE
from kg.triples.tables.strategies import FAULT, FRAMEWORK, STRATEGY
from kg.triples.vocabulary import TG, Shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kg.nouns.entities import Problem, Source
    from kg.triples.graph import GraphStore, Triple
    from kg.triples.tables.descriptions import Descriptions, Pair
    from kg.triples.tables.table import NounTable

Noun = TypeVar("Noun")

_KNOWLEDGE = (BOTTLENECK, CAUSE, FAULT, FRAMEWORK, HARDWARE_PROFILE, MODEL, RECIPE, STRATEGY)
"""Tables of which a graph has some thousand rows at most, whatever cases it holds."""


def to_triples(noun: object) -> list[Triple]:
    """Return the triples of a noun and its parts; the same list for equal nouns.

    Raises:
        TypeError: The noun has no IRI of its own; a fact, say, is written with what it is a fact of.
    """
    triples = TripleDescriptions()
    describe(noun, triples)
    return triples


def describe(noun: object, out: Descriptions) -> None:
    """Describe a noun and its parts; see :func:`to_triples`."""
    table = table_of(type(noun))
    table.write(noun, table.iri(noun), out)


def from_graph(store: GraphStore, noun: type[Noun], key: str | int) -> Noun:
    """Read the noun of a class with an id (for a batch, its number).

    Raises:
        UnknownEntityError: The graph has none.
        WorkspaceError: The graph does not say something that the noun needs.
    """
    table = table_of(noun)
    if table.from_id is None:
        raise TypeError(f"a {noun.__name__} has no id")
    node = table.node(store, table.from_id(key))
    if table.term not in node.values.get(names.RDF_TYPE, ()):
        raise UnknownEntityError(f"the graph has no {noun.__name__} {key!r}")
    return table.read(node)


def all_of(store: GraphStore, noun: type[Noun]) -> Iterator[Noun]:
    """Yield every noun of a class, in the order of the store.

    Knowledge of a store that nobody writes to is read once: each question asks for it several times.
    """
    table = table_of(noun)
    kept = getattr(store, "nouns", None) if table in _KNOWLEDGE else None
    if kept is not None and noun in kept:
        yield from kept[noun]
        return
    found = (table.read(table.node(store, iri)) for iri in table.subjects(store))
    if kept is not None:
        found = iter(kept.setdefault(noun, tuple(found)))
    yield from found


def description(store: GraphStore, iri: NamedNode) -> list[Triple]:
    """Return the triples of a node and of the statements that belong to it alone.

    It is what to take away when a noun is replaced by a newer version of itself.
    """
    triples = list(store.triples(iri))
    owned = f"{names.NAMESPACE}statement/"
    for triple in list(triples):
        if isinstance(triple.object, NamedNode) and triple.object.value.startswith(owned):
            triples.extend(store.triples(triple.object))
    return triples


def table_of(noun: type[Noun]) -> NounTable[Noun]:
    """Return the table of a noun.

    Raises:
        TypeError: It is none of the graph's.
    """
    if noun not in TABLES:
        raise TypeError(f"the graph knows no {noun.__name__}")
    return cast("NounTable[Noun]", TABLES[noun])


def problem_triples(
    problem: Problem, batch: int, sources: Iterable[Source] = (), *, family: str = ""
) -> list[Triple]:
    """Return the triples of a problem and of its provenance.

    Args:
        problem: The problem.
        batch: Number of the batch that brought it.
        sources: What its measurements come from.
        family: Id of its model's family, which its contexts name; empty if unknown.
    """
    triples = TripleDescriptions()
    describe_problem(problem, batch, sources, triples, family=family)
    return triples


def describe_problem(
    problem: Problem, batch: int, sources: Iterable[Source], out: Descriptions, *, family: str = ""
) -> None:
    """Describe a problem and its provenance; see :func:`problem_triples`."""
    node = iris.problem_iri(problem.id)
    PROBLEM.write(problem, node, out)
    describe_arrival(problem, batch, sources, out)
    for bottleneck in problem.bottlenecks:
        context = Context(bottleneck=bottleneck, hardware=problem.hardware.name, family=family)
        out.describe(node, [(TG.IN_CONTEXT, context_node(context))])
        CONTEXT.write(context, context_node(context), out)


def describe_arrival(problem: Problem, batch: int, sources: Iterable[Source], out: Descriptions) -> None:
    """Describe the batch that brought new rows of a known problem, and their sources."""
    said: list[Pair] = [(TG.BATCH_OF, iris.batch_iri(batch))]
    for source in sources:
        origin = SOURCE.iri(source)
        if out.is_new(source, origin):
            SOURCE.write(source, origin, out)
        said.append((Shared.DERIVED_FROM, origin))
    out.describe(iris.problem_iri(problem.id), said)


def newest_batch(store: GraphStore) -> int:
    """Return the number of the newest acknowledged batch; 0 before the first."""
    return max(batch_numbers(store), default=0)


def batch_numbers(store: GraphStore) -> Iterator[int]:
    """Yield the numbers of the acknowledged batches; what other nodes say of a batch number is no batch."""
    for triple in store.triples(None, TG.BATCH_NUMBER):
        if isinstance(triple.object, Literal) and isinstance(triple.subject, NamedNode):
            text = triple.object.value
            if text.isdecimal() and len(text) < _DIGITS and triple.subject == iris.batch_iri(int(text)):
                yield int(text)


_DIGITS = 19
"""More digits than any number of a batch has; SQLite's integers end there."""

TABLES: dict[type, NounTable[Any]] = {
    table.noun: table
    for table in (
        SOURCE,
        OBJECTIVE,
        WORKLOAD,
        PROBLEM,
        BATCH,
        HARDWARE_PROFILE,
        MODEL_FAMILY,
        MODEL,
        BOTTLENECK,
        CAUSE,
        STRATEGY,
        FAULT,
        FRAMEWORK,
        GRID_REGION,
        GREEN_SCHEDULE,
        CONTEXT,
        EFFECT,
        OUTCOME,
        RECIPE,
    )
}
"""The nouns that have an IRI of their own."""
