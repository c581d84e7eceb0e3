"""The cause graph: which pattern or setting can bring on which, with the strength of each edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx

from kg.nouns.knowledge import Bottleneck, Cause, Confidence

STRENGTHS = {Confidence.HIGH: 0.8, Confidence.MEDIUM: 0.5, Confidence.LOW: 0.2}
"""Strength of an edge before any outcome: a source that says "causes", "may cause", "could". Assumed; the
counts of outcomes take over from :data:`PSEUDO` on."""

KIND_STRENGTH = 0.95
"""A narrower pattern is a case of the broader one, if big enough to show there."""

SUMS = frozenset({"exposed-communication", "data-parallel-communication", "host-bound", "compute"})
"""Patterns measured as a part of the step, or of its growth, which their kinds are parts of. A pipe's use is
no such sum: conversions and copies need not show in it."""

OF_ASCEND = frozenset({
    "two-card-single-link", "hccl-algorithm-unsuited", "rdma-priority-mismatch", "task-queue-off",
    "jit-compile-on", "ops-package-missing", "old-cann", "split-cube-vector-cores",
    "affinity-api-not-used", "nd-storage",
})  # fmt: skip
"""Causes that Ascend's devices and programs alone have: unseen on a GPU they may not be behind anything."""

OF_KERNELS = frozenset({"compute", "memory"})
SLOW_RANK = "slow-rank"
"""Whatever makes the kernels of one rank longer may make it the slow one."""

OF_ALLOCATION = frozenset({"memory-capacity", "memory-allocation-stall"})
"""Patterns of how much memory there is, and their kinds: they make no kernel longer."""

PSEUDO = 5.0
"""Outcomes that the published confidence of an edge weighs as much as."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One node that can bring on another.

    Attributes:
        cause: Id of the cause.
        effect: Id of the effect.
        strength: Chance that the cause brings on the effect.
        is_kind: The cause is a narrower pattern of the effect.
    """

    cause: str
    effect: str
    strength: float
    is_kind: bool = False


@dataclass(slots=True)
class CauseNetwork:
    """The cause graph with strengths.

    Attributes:
        edges: All of them.
        labels: English name of each node.
        broader: The broader pattern of each pattern that has one.
    """

    edges: Sequence[Edge]
    labels: Mapping[str, str]
    broader: Mapping[str, str]
    _graph: nx.DiGraph[str] = field(init=False)

    def __post_init__(self) -> None:
        """Index the edges by both ends."""
        self._graph = nx.DiGraph()
        self._graph.add_nodes_from(self.labels)
        self._graph.add_edges_from((edge.cause, edge.effect, {"edge": edge}) for edge in self.edges)

    @classmethod
    def of(
        cls,
        nodes: Iterable[Bottleneck | Cause],
        outcomes: Mapping[tuple[str, str], tuple[int, int]] | None = None,
    ) -> CauseNetwork:
        """The network of some knowledge.

        Args:
            nodes: All patterns and causes.
            outcomes: For an edge (cause, effect), how often a fix of the cause helped against the effect, and
                how often it did not.
        """
        edges: list[Edge] = []
        labels: dict[str, str] = {}
        broader: dict[str, str] = {}
        seen = outcomes or {}
        for node in nodes:
            labels[node.id] = node.label
            if isinstance(node, Bottleneck) and node.broader:
                broader[node.id] = node.broader
            for edge in node.caused_by:
                helped, not_helped = seen.get((edge.cause, node.id), (0, 0))
                prior = STRENGTHS[edge.confidence] * PSEUDO
                edges.append(Edge(edge.cause, node.id, (prior + helped) / (PSEUDO + helped + not_helped)))
        stated = {(edge.cause, edge.effect) for edge in edges}
        for narrow, wide in sorted(broader.items()):
            if (
                wide in SUMS
                and (narrow, wide) not in stated
                and narrow not in cls(edges, labels, {}).above(wide)
            ):
                edges.append(Edge(narrow, wide, KIND_STRENGTH, is_kind=True))
        edges.extend(
            Edge(name, SLOW_RANK, STRENGTHS[Confidence.MEDIUM])
            for name in sorted(broader)
            if _lengthens_kernels(broader, name) and (name, SLOW_RANK) not in stated
        )
        return cls(edges, labels, broader)

    def causes(self, effect: str) -> Sequence[Edge]:
        """Edges into a node."""
        return [data["edge"] for _, _, data in self._graph.in_edges([effect], data=True)]

    def effects(self, cause: str) -> Sequence[Edge]:
        """Edges out of a node."""
        return [data["edge"] for _, _, data in self._graph.out_edges([cause], data=True)]

    def above(self, node: str) -> set[str]:
        """All nodes that a node may bring on, itself included."""
        return {node, *(nx.descendants(self._graph, node) if node in self._graph else ())}


def _lengthens_kernels(broader: Mapping[str, str], node: str) -> bool:
    kinds = [node]
    while kinds[-1] in broader:
        kinds.append(broader[kinds[-1]])
    return kinds[-1] in OF_KERNELS and OF_ALLOCATION.isdisjoint(kinds)
