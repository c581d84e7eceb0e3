"""Problems and their parts, and the batches they came in."""

from datetime import datetime
from functools import lru_cache
from typing import Any

from pyoxigraph import NamedNode

from kg.nouns.entities import Better, Hardware, Limit, Objective, Problem, Workload, WorkloadKind
from kg.nouns.provenance import Batch
from kg.nouns.values import Settings
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.iris import literal
from kg.triples.tables.common import unit_of
from kg.triples.tables.descriptions import Pair
from kg.triples.tables.fields import (
    Decoded,
    EnumField,
    Field,
    LinkField,
    LiteralField,
    Node,
    Packed,
    Spread,
    SubjectDraft,
    TextsField,
)
from kg.triples.tables.table import Inline, NounTable, Refer, Statements
from kg.triples.vocabulary import TG, XSD_DATE_TIME, Shared


class _Shares(Field):
    """Observed bottlenecks of a problem, each with its share of the time where that is known."""

    __slots__ = ()

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write a node for each share, and the plain edge beside it."""
        for name, share in value.items():
            bottleneck = iris.bottleneck_iri(name)
            pairs: list[Pair] = [
                (names.RDF_TYPE, TG.BOTTLENECK_SHARE),
                (TG.OF_BOTTLENECK, bottleneck),
            ]
            if share is not None:
                pairs.append((TG.SHARE, literal(share)))
            node = iris.part_iri(draft.subject, self.predicate, pairs)
            draft.others.describe(node, pairs)
            draft.add(self.predicate, node)
            draft.add(TG.HAS_BOTTLENECK, bottleneck)

    def read(self, node: Node) -> object:
        """Return the share of each bottleneck."""
        shares: dict[str, object] = {}
        for iri in node.nodes(self.predicate):
            part = Node(node.store, iri)
            share = part.literals(TG.SHARE)
            shares[iris.name_of(part.nodes(TG.OF_BOTTLENECK)[0])] = iris.value_of(share[0]) if share else None
        return Settings(shares)


@lru_cache(maxsize=4096)
def _objective_iri(objective: Objective) -> NamedNode:
    parts = (objective.metric, objective.better, objective.unit or "")
    return NamedNode(f"{names.NAMESPACE}objective/{'/'.join(map(iris.segment, parts))}")


OBJECTIVE = NounTable(
    Objective,
    TG.OBJECTIVE,
    LiteralField(name="metric", predicate=TG.METRIC),
    EnumField(name="better", predicate=TG.BETTER, choices=Better),
    LiteralField(name="unit", predicate=TG.UNIT_SYMBOL),
    iri=_objective_iri,
    derived=unit_of,
)

WORKLOAD = NounTable(
    Workload,
    TG.WORKLOAD,
    EnumField(name="kind", predicate=TG.WORKLOAD_KIND, choices=WorkloadKind),
    LiteralField(name="operator", predicate=TG.OPERATOR),
    LinkField(name="model", predicate=TG.OF_MODEL, iri=iris.model_iri),
    Spread(name="shape", path="dimension"),
    LiteralField(name="precision", predicate=TG.PRECISION),
    Spread(name="traits", path="trait"),
    from_id=iris.workload_iri,
)

LIMIT = NounTable(
    Limit,
    TG.LIMIT,
    LiteralField(name="metric", predicate=TG.METRIC),
    LiteralField(name="maximum", predicate=TG.MAXIMUM),
    LiteralField(name="unit", predicate=TG.UNIT_SYMBOL),
    derived=unit_of,
)

HARDWARE = NounTable(
    Hardware,
    None,
    LinkField(name="name", predicate=TG.HARDWARE, iri=iris.hardware_iri),
    LiteralField(name="reported", predicate=TG.REPORTED_HARDWARE),
    LiteralField(name="count", predicate=TG.DEVICE_COUNT),
    Packed(name="traits", predicate=TG.HARDWARE_TRAITS),
)

PROBLEM = NounTable(
    Problem,
    TG.PROBLEM,
    Refer(
        name="workload",
        predicate=TG.OF_WORKLOAD,
        table=WORKLOAD,
        iri=lambda problem: iris.workload_iri(problem.task_id),
    ),
    Inline(name="hardware", table=HARDWARE),
    Refer(name="objective", predicate=TG.OF_OBJECTIVE, table=OBJECTIVE),
    Statements(name="limits", predicate=TG.LIMITED_BY, table=LIMIT, ordered=True),
    _Shares(name="bottlenecks", predicate=TG.BOTTLENECK_SHARES),
    Packed(name="current", predicate=TG.CURRENT),
    Spread(name="software", path="software"),
    iri=lambda problem: iris.problem_iri(problem.id),
    from_id=iris.problem_iri,
)

BATCH = NounTable(
    Batch,
    TG.BATCH,
    LiteralField(name="number", predicate=TG.BATCH_NUMBER),
    Decoded(
        name="time",
        predicate=Shared.ENDED_AT,
        encode=iris.time_text,
        decode=datetime.fromisoformat,
        datatype=XSD_DATE_TIME,
    ),
    TextsField(name="files", predicate=TG.FILE),
    Packed(name="counts", predicate=TG.COUNTS),
    TextsField(name="completed", predicate=TG.COMPLETED),
    LiteralField(name="origin", predicate=TG.ORIGIN),
    LiteralField(name="seal", predicate=TG.SEAL),
    iri=lambda batch: iris.batch_iri(batch.number),
    from_id=iris.batch_iri,
)
