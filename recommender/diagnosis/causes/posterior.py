"""Exact posteriors of a cause network over small sets of causes.

Every node is on or off. A hypothesis is a set S of at most five nodes that came on by themselves. What is
on makes each of its effects come on with the strength of the edge, each edge by itself (noisy-OR), and so on
along the graph. Evidence on a node is soft: a likelihood ratio of what was seen if the node is on over what
was seen if it is off, 1 where nothing was collected. The posterior is summed over all S and over all patterns
of activation of each, without sampling or approximation; causes that share an effect explain each other away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.profiles.facts.kernels import Floats
    from recommender.diagnosis.causes.network import CauseNetwork

RATE = 0.1
"""Rate at which a pattern comes on by itself. A profile that somebody looks at has three of some thirty
observable patterns: an assumption, checked by the calibration in
benchmarks/profiles/diagnosis.py."""

MOST_CAUSES = 5
"""Nodes that came on by themselves at most: more than the three that are named, for a limit of three makes
each of four obvious ones look unlikely."""
MOST_CANDIDATES = 10
"""Nodes that may be in S: those with the strongest evidence, 638 sets."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Chances of the nodes given the evidence.

    Attributes:
        on: Chance of each node that may be on.
    """

    on: Mapping[str, float]


def infer(network: CauseNetwork, ratios: Mapping[str, float], *, rate: float = RATE) -> Posterior:
    """Chances of all nodes given likelihood ratios by node."""
    strong = sorted((node for node, ratio in ratios.items() if ratio > 1), key=lambda node: -ratios[node])
    candidates = strong[:MOST_CANDIDATES]
    room = MOST_CANDIDATES - len(candidates)
    hidden = _common(network, candidates, ratios)[:room]
    candidates += hidden
    reach = {node: network.above(node) for node in candidates}
    observed = set(ratios) | set(candidates)
    order = _order(network, set().union(*reach.values()) if reach else set())
    relevant = [node for node in order if network.above(node) & observed]
    steps = _steps(network, relevant, ratios)
    sums = np.zeros(1 + len(steps))
    odds = rate / (1 - rate)
    for size in range(MOST_CAUSES + 1):
        for chosen in combinations(candidates, size):
            reached = set().union(*(reach[node] for node in chosen))
            sums += odds**size * _activation(frozenset(chosen), steps, reached)
    total = float(sums[0])
    return Posterior(
        {step.node: float(sums[1 + i]) / total for i, step in enumerate(steps) if sums[1 + i] > 0}
    )


def _steps(network: CauseNetwork, order: Sequence[str], ratios: Mapping[str, float]) -> list[_Step]:
    """The nodes in the order of the summation, causes before effects."""
    place = {node: i for i, node in enumerate(order)}
    last = {
        node: max((place[edge.effect] for edge in network.effects(node) if edge.effect in place), default=-1)
        for node in order
    }
    return [
        _Step(
            node=node,
            ratio=ratios.get(node, 1.0),
            causes=tuple((edge.cause, edge.strength) for edge in network.causes(node) if edge.cause in place),
            is_needed=last[node] > i,
            done=frozenset(name for name in order[: i + 1] if last[name] <= i),
        )
        for i, node in enumerate(order)
    ]


def _common(network: CauseNetwork, candidates: Sequence[str], ratios: Mapping[str, float]) -> list[str]:
    """Unseen nodes that may be behind two or more seen ones; an unseen cause of one is in its rate."""
    counts: dict[str, float] = {}
    for node in candidates:
        for edge in network.causes(node):
            if edge.cause not in ratios and not edge.is_kind:
                counts[edge.cause] = counts.get(edge.cause, 0.0) + edge.strength
    several = [
        cause
        for cause in counts
        if sum(any(edge.cause == cause for edge in network.causes(node)) for node in candidates) >= 2
    ]
    return sorted(several, key=lambda cause: (-counts[cause], cause))


def _order(network: CauseNetwork, nodes: set[str]) -> list[str]:
    """Causes before effects."""
    ordered: list[str] = []
    done: set[str] = set()

    def visit(node: str) -> None:
        if node in done:
            return
        done.add(node)
        for edge in network.causes(node):
            if edge.cause in nodes:
                visit(edge.cause)
        ordered.append(node)

    for node in sorted(nodes):
        visit(node)
    return ordered


@dataclass(frozen=True, slots=True)
class _Step:
    """A node in the order of causes before effects.

    Attributes:
        node: Its id.
        ratio: Its likelihood ratio.
        causes: Ids and strengths of the edges into it.
        is_needed: Whether a later node depends on it.
        done: Nodes of which no later one depends: whether they are on need not be remembered.
    """

    node: str
    ratio: float
    causes: tuple[tuple[str, float], ...]
    is_needed: bool
    done: frozenset[str]


def _activation(chosen: frozenset[str], steps: Sequence[_Step], reached: set[str]) -> Floats:
    """Weight of the evidence if ``chosen`` came on by themselves, and its part in which each node is on.

    Sums over every pattern of activation. Patterns that differ only in nodes on which nothing later depends
    are added up on the way, so the sum is exact and its cost grows with what is open at one time alone.

    Args:
        chosen: What came on by itself.
        steps: All n nodes that matter, causes before effects.
        reached: Those that ``chosen`` may bring on; the others stay off.

    Returns:
        Shape (1 + n,): the total weight, then for each of the steps the part with its node on.
    """
    start = np.zeros(1 + len(steps))
    start[0] = 1.0
    states: dict[frozenset[str], Floats] = {frozenset(): start}
    for place, step in enumerate(steps, 1):
        if step.node not in reached:
            continue
        grown: dict[frozenset[str], Floats] = {}
        for active, weights in states.items():
            off = 0.0
            if step.node not in chosen:
                off = math.prod(1 - strength for cause, strength in step.causes if cause in active)
            if off < 1:
                there = weights * ((1 - off) * step.ratio)
                there[place] = there[0]
                _add(grown, (active | {step.node} if step.is_needed else active) - step.done, there)
            if off > 0:
                _add(grown, active - step.done, weights * off)
        states = grown
    return np.sum(list(states.values()), axis=0)  # type: ignore[no-any-return]


def _add(states: dict[frozenset[str], Floats], key: frozenset[str], weights: Floats) -> None:
    before = states.get(key)
    states[key] = weights if before is None else before + weights
