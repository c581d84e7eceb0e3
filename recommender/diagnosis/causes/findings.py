"""From chances of nodes to the few causes worth telling, each with its chain and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recommender.diagnosis.analysis import ratio
from recommender.diagnosis.causes.network import SLOW_RANK
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, significance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.diagnosis.causes.network import CauseNetwork, Edge
    from recommender.diagnosis.causes.posterior import Posterior
    from recommender.diagnosis.evidence import SoftEvidence

ACCUSED = 0.5
"""Chance from which a node is called a cause: more likely than not."""
Refuted = frozenset[tuple[str, str]]
PERHAPS = 3
"""Unseen causes that are named behind the deepest seen one."""


@dataclass(frozen=True, slots=True)
class Accused:
    """A cause of lost time.

    Attributes:
        cause: Id of the deepest node that is more likely than not.
        chain: Ids from the symptom to the cause.
        chance: Posterior that the cause is there.
        left: Part of the node's cost that deeper causes leave unexplained; 1 where none is told.
        lost_us: Time it costs, beyond what deeper causes of it explain.
        share: That as a share of the step.
        perhaps: What may be behind it, unseen, each with its chance given that the cause is there.
        evidence: What shows the chain, symptom first.
    """

    cause: str
    chain: tuple[str, ...]
    chance: float
    left: float
    lost_us: float
    share: float
    perhaps: tuple[tuple[str, float], ...]
    evidence: tuple[SoftEvidence, ...]

    @property
    def weight_us(self) -> float:
        """By what causes are ordered: the time that each is likely to cost.

        What deeper causes leave of a node may be more of theirs, for a cost is a lower bound: the more of it
        they explain, the less the rest counts.
        """
        return self.chance * self.lost_us * self.left

    @property
    def ceiling(self) -> float:
        """Factor of speed if all of it went: 1 / (1 - share)."""
        return 1 / (1 - min(self.share, 0.999))


def accuse(
    network: CauseNetwork,
    found: Mapping[str, SoftEvidence],
    posterior: Posterior,
    least: float = SIGNIFICANT_SHARE,
    refuted: Refuted = frozenset(),
) -> list[Accused]:
    """Causes that are more likely than not, the costliest first. Nobody is accused whom nothing shows.

    A node with deeper causes on is told only if what they cost leaves enough of it to matter.

    Args:
        network: What causes what.
        found: Evidence by node.
        posterior: Chances of the nodes.
        least: Share of the step from which a cause is significant.
        refuted: Edges (effect, cause) that no chain goes along: repairing the cause did not ease the effect.
    """
    on = {
        node
        for node, chance in posterior.on.items()
        if chance >= ACCUSED and node in found and ratio(found[node], least) >= 1
    }
    accused = []
    for node in on:
        deeper = [
            edge.cause for edge in network.causes(node) if edge.cause in on and _bears(edge, found, refuted)
        ]
        lost, share = _cost(network, node, found, on)
        left = 1.0
        if deeper:
            explained = sum(
                _beyond(found, cause) if node == SLOW_RANK else _cost(network, cause, found, on)[0]
                for cause in deeper
            )
            rest = max(0.0, lost - explained)
            left = rest / lost if lost > 0 else 0.0
            share *= left
            lost = rest
        if significance(share, least) < ACCUSED:
            continue
        chain = _chain(network, node, on, found, refuted)
        accused.append(
            Accused(
                cause=node,
                chain=chain,
                chance=min(1.0, posterior.on[node]),
                left=left,
                lost_us=lost,
                share=share,
                perhaps=_perhaps(network, node, found, posterior),
                evidence=tuple(found[name] for name in chain if name in found),
            )
        )
    return sorted(accused, key=lambda item: (-item.weight_us, item.cause))


LATE = frozenset({"host-bound", "slow-rank", "dp-load-imbalance", "python-gc-high-latency"})
"""What makes a rank come late to a collective: the others wait for it, it does not."""


IDLE = frozenset({"host-bound", "python-gc-high-latency"})
"""What leaves a rank idle: it does not make it compute longer, which is how a slow rank is measured."""


def _bears(edge: Edge, found: Mapping[str, SoftEvidence], refuted: Refuted) -> bool:
    """Whether the cause can be behind this effect.

    Who waits in a collective waits for another rank; a rank computes longer than the others through what
    happens on it and not alike on them.
    """
    if (edge.effect, edge.cause) in refuted:
        return False
    cause, effect = found.get(edge.cause), found.get(edge.effect)
    if edge.effect == SLOW_RANK and cause is not None and effect is not None:
        is_its_own = _beyond({edge.cause: cause}, edge.cause) >= OWN * cause.lost_us
        return edge.cause not in IDLE and cause.rank == effect.rank and is_its_own
    if edge.effect != "collective-wait" or edge.cause not in LATE:
        return True
    return cause is None or effect is None or cause.rank != effect.rank


OWN = 0.5
"""Part of a cost that a rank has beyond the others from which it is its own. Assumed: most of it."""


def _beyond(found: Mapping[str, SoftEvidence], cause: str) -> float:
    """What a cause costs one rank beyond the others, microseconds; all of it where no other rank tells."""
    item = found.get(cause)
    if item is None:
        return 0.0
    return item.lost_us if item.beyond_us is None else item.beyond_us


def _cost(
    network: CauseNetwork, node: str, found: Mapping[str, SoftEvidence], on: set[str]
) -> tuple[float, float]:
    """Time and share of a node: its own, or for one that has none the largest of what it brings on."""
    own = found.get(node)
    if own is not None and not own.is_setting:
        return own.lost_us, own.share
    reached = [_cost(network, edge.effect, found, on) for edge in network.effects(node) if edge.effect in on]
    return max(reached, default=(0.0, 0.0))


def _chain(
    network: CauseNetwork, node: str, on: set[str], found: Mapping[str, SoftEvidence], refuted: Refuted
) -> tuple[str, ...]:
    """From the farthest effect that is on to the node, the longest way, the costlier of equals."""
    best: tuple[str, ...] = ()
    for edge in network.effects(node):
        if edge.effect in on and _bears(edge, found, refuted):
            way = _chain(network, edge.effect, on, found, refuted)
            cost = found[way[0]].lost_us if way[0] in found else 0.0
            held = found[best[0]].lost_us if best and best[0] in found else -1.0
            if (len(way), cost) > (len(best), held):
                best = way
    return (*best, node)


def _perhaps(
    network: CauseNetwork, node: str, found: Mapping[str, SoftEvidence], posterior: Posterior
) -> tuple[tuple[str, float], ...]:
    """Unseen causes, likeliest first.

    One that is behind several findings has its posterior; the others share what remains by the strength of
    their edges, together with a cause that the graph does not know.
    """
    edges = [edge for edge in network.causes(node) if edge.cause not in found and not edge.is_kind]
    whole = sum(edge.strength for edge in edges) + UNKNOWN_CAUSE
    chances = [(edge.cause, posterior.on.get(edge.cause, edge.strength / whole)) for edge in edges]
    return tuple(sorted(chances, key=lambda item: (-item[1], item[0]))[:PERHAPS])


UNKNOWN_CAUSE = 0.5
"""Weight of a cause that the graph does not know, beside the strengths of those it does."""
