"""Posteriors of a cause network by messages along its edges: exact on a tree, and linear in the edges.

Every node is on or off. A node that is seen, or that may be behind two seen ones, comes on by itself at a
rate. What is on makes each of its effects come on with the strength of the edge, each edge by itself
(noisy-OR). Evidence on a node is soft: a likelihood ratio of what was seen if the node is on over what was
seen if it is off, 1 where nothing was collected. Each edge carries what its cause knows without its effect,
and what its effect knows without its cause, until nothing changes; causes that share an effect explain each
other away.

Source:
    J. Pearl, Probabilistic Reasoning in Intelligent Systems (1988), section 4.3.2: noisy-OR gates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recommender.diagnosis.causes.network import CauseNetwork, Edge

RATE = 0.1
"""Rate at which a pattern comes on by itself. A profile that somebody looks at has three of some thirty
observable patterns: an assumption, checked by the calibration in
benchmarks/profiles/diagnosis.py."""
MOST_SWEEPS = 60
SETTLED = 1e-9
DAMPING = 0.3
"""Part of a message that stays from the sweep before: loops would make it swing."""
CERTAIN = 1e-12


@dataclass(frozen=True, slots=True)
class Posterior:
    """Chances of the nodes given the evidence.

    Attributes:
        on: Chance of each node that may be on.
    """

    on: Mapping[str, float]


def infer(network: CauseNetwork, ratios: Mapping[str, float], *, rate: float = RATE) -> Posterior:
    """Chances of all nodes given likelihood ratios by node."""
    seen = [node for node, ratio in ratios.items() if ratio > 1]
    sources = {*seen, *_common(network, seen, ratios)}
    nodes = sorted(set().union(*(network.above(node) for node in sources)))
    messages = _Messages(network, nodes, ratios, dict.fromkeys(sources, rate))
    for _ in range(MOST_SWEEPS):
        if messages.sweep() < SETTLED:
            break
    return Posterior({node: chance for node in nodes if (chance := messages.chance(node)) > 0})


class _Messages:
    """The messages of a network.

    Args:
        network: The graph.
        nodes: Those that may be on.
        ratios: Likelihood ratios of what was seen, by node.
        rates: Rates of the nodes that come on by themselves.
    """

    def __init__(
        self,
        network: CauseNetwork,
        nodes: Sequence[str],
        ratios: Mapping[str, float],
        rates: Mapping[str, float],
    ) -> None:
        known = set(nodes)
        self._nodes, self._ratios, self._rates = nodes, ratios, rates
        self._into = {node: [e for e in network.causes(node) if e.cause in known] for node in nodes}
        self._out = {node: [e for e in network.effects(node) if e.effect in known] for node in nodes}
        edges = [edge for found in self._into.values() for edge in found]
        self._down = {(edge.cause, edge.effect): rates.get(edge.cause, 0.0) for edge in edges}
        self._up = {(edge.cause, edge.effect): 1.0 for edge in edges}

    def sweep(self) -> float:
        """Renew all messages once; how much one of them changed at most."""
        most = 0.0
        for node in self._nodes:
            below = self._below(node, self._out[node])
            for edge in self._into[node]:
                off = self._off(node, (other for other in self._into[node] if other is not edge))
                off_with = off * (1 - edge.strength)
                told = (below * (1 - off_with) + off_with) / max(CERTAIN, below * (1 - off) + off)
                most = max(most, self._renew(self._up, edge, told))
        for node in self._nodes:
            off = self._off(node, self._into[node])
            odds = (1 - off) / max(CERTAIN, off)
            for edge in self._out[node]:
                rest = self._below(node, (other for other in self._out[node] if other is not edge))
                told = odds * rest / (1 + odds * rest)
                most = max(most, self._renew(self._down, edge, told))
        return most

    def chance(self, node: str) -> float:
        """Chance that a node is on."""
        off = self._off(node, self._into[node])
        odds = (1 - off) / max(CERTAIN, off) * self._below(node, self._out[node])
        return odds / (1 + odds)

    def _off(self, node: str, edges: Iterable[Edge]) -> float:
        """Chance that neither a node's own rate nor these edges bring it on."""
        passed = (1 - edge.strength * self._down[edge.cause, edge.effect] for edge in edges)
        return (1 - self._rates.get(node, 0.0)) * math.prod(passed)

    def _below(self, node: str, edges: Iterable[Edge]) -> float:
        """Likelihood ratio of what was seen of a node and beyond these edges."""
        return self._ratios.get(node, 1.0) * math.prod(self._up[e.cause, e.effect] for e in edges)

    @staticmethod
    def _renew(held: dict[tuple[str, str], float], edge: Edge, told: float) -> float:
        key = (edge.cause, edge.effect)
        before = held[key]
        held[key] = DAMPING * before + (1 - DAMPING) * told
        return abs(held[key] - before)


def _common(network: CauseNetwork, seen: Sequence[str], ratios: Mapping[str, float]) -> set[str]:
    """Unseen nodes that may be behind two or more seen ones; an unseen cause of one is in its rate."""
    behind: dict[str, set[str]] = {}
    for node in seen:
        for edge in network.causes(node):
            if edge.cause not in ratios and not edge.is_kind:
                behind.setdefault(edge.cause, set()).add(node)
    return {cause for cause, effects in behind.items() if len(effects) >= 2}
