"""The likely causes of lost time: each with its chance, its chain of effects and its cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from recommender.diagnosis.analysis import ratio
from recommender.diagnosis.causes.network import SLOW_RANK, CauseNetwork, Edge
from recommender.diagnosis.causes.posterior import Posterior
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, significance

LIKELY = 0.5
"""Chance from which a node is called a cause: more likely than not."""
PERHAPS = 3
"""Unseen causes that are named behind the deepest seen one."""


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """A cause of lost time that is more likely than not.

    Attributes:
        node: Id of the deepest node that is more likely than not.
        chain: Ids from the symptom to the cause.
        chance: Posterior that the cause is there.
        left: Part of the node's cost that deeper causes leave unexplained; 1 without such.
        lost_us: Time it costs, beyond what deeper causes of it explain.
        share: That as a share of the step.
        perhaps: Unseen causes that may be behind it, each with its chance given that the cause is there.
        evidence: Evidence of the chain, symptom first.
    """

    node: str
    chain: tuple[str, ...]
    chance: float
    left: float
    lost_us: float
    share: float
    perhaps: tuple[tuple[str, float], ...]
    evidence: tuple[SoftEvidence, ...]

    @property
    def weight_us(self) -> float:
        """The time that it is likely to cost, by which causes are ordered.

        The time that deeper causes leave of a node may be more of theirs, for a cost is a lower bound: the
        more of it they explain, the less the rest counts.
        """
        return self.chance * self.lost_us * self.left

    @property
    def ceiling(self) -> float:
        """Factor of speed if it cost nothing: 1 / (1 - share)."""
        return 1 / (1 - min(self.share, 0.999))


def likely_causes(
    network: CauseNetwork,
    evidence: Mapping[str, SoftEvidence],
    posterior: Posterior,
    least: float = SIGNIFICANT_SHARE,
    foreign: frozenset[str] = frozenset(),
) -> list[LikelyCause]:
    """Causes that are more likely than not and have evidence, the costliest first.

    A node with deeper causes that are on is listed only if they leave enough of its cost to matter.

    Args:
        network: The cause graph.
        evidence: Evidence by node.
        posterior: Chances of the nodes.
        least: Share of the step from which a cause is significant.
        foreign: Causes that the run cannot have.
    """
    on = {
        node
        for node, chance in posterior.on.items()
        if chance >= LIKELY and node in evidence and ratio(evidence[node], least) >= 1
    }
    for node in sorted(on):  # causes of the same kernels cannot be told apart: what they bring on is known
        same = evidence[node].places, evidence[node].lost_us
        behind = [edge.cause for edge in network.causes(node) if edge.cause in on]
        alike = {it for it in behind if same == (evidence[it].places, evidence[it].lost_us)}
        on -= alike if len(alike) > 1 and all(same) else set()
    causes = []
    for node in sorted(on):
        deeper = [
            edge.cause for edge in network.causes(node) if edge.cause in on and _can_explain(edge, evidence)
        ]
        lost, share = _cost(network, node, evidence, on)
        left = 1.0
        if deeper:
            explained = sum(
                _beyond(evidence, cause)
                if node == SLOW_RANK or (node == WAIT and cause in LATE)
                else _cost(network, cause, evidence, on)[0]
                for cause in deeper
            )
            rest = max(0.0, lost - explained)
            left = rest / lost if lost > 0 else 0.0
            share *= left
            lost = rest
        if significance(share, least) < LIKELY:
            continue
        chain = _chain(network, node, on, evidence)
        causes.append(
            LikelyCause(
                node=node,
                chain=chain,
                chance=min(1.0, posterior.on[node]),
                left=left,
                lost_us=lost,
                share=share,
                perhaps=_perhaps(network, node, evidence, posterior, foreign),
                evidence=tuple(evidence[name] for name in chain if name in evidence),
            )
        )
    return sorted(causes, key=lambda item: (-item.weight_us, item.node))


LATE = frozenset({"host-bound", "slow-rank", "dp-load-imbalance", "python-gc-high-latency"})
"""Causes that make a rank come late to a collective: the others wait for it, it does not."""

IDLE = frozenset({"host-bound", "python-gc-high-latency"})
"""Causes that leave a rank idle: they do not make it compute longer, which is how a slow rank is measured."""


def _can_explain(edge: Edge, evidence: Mapping[str, SoftEvidence]) -> bool:
    """True if the cause can be behind this effect.

    A rank waits in a collective for another rank that comes later, and so longer than the others; it computes
    longer than they do through something that happens on it: neither comes of what all ranks have alike.
    """
    cause, effect = evidence.get(edge.cause), evidence.get(edge.effect)
    if cause is None or effect is None:
        return True
    beyond = _beyond(evidence, edge.cause)
    if edge.effect == SLOW_RANK:
        is_local = beyond >= LOCAL_SHARE * cause.lost_us
        return edge.cause not in IDLE and cause.rank == effect.rank and is_local
    if edge.effect != WAIT or edge.cause not in LATE:
        return True
    is_late = beyond >= LOCAL_SHARE * min(cause.lost_us, effect.lost_us) and _beyond(evidence, WAIT) > 0
    return cause.rank != effect.rank and is_late


WAIT = "collective-wait"
LOCAL_SHARE = 0.5
"""Part of a cost beyond that of the other ranks from which it is this rank's alone. Assumed: most of it."""


def _beyond(evidence: Mapping[str, SoftEvidence], cause: str) -> float:
    """Cost of a cause on one rank beyond the others, microseconds; all of it where no other rank shows it."""
    item = evidence.get(cause)
    if item is None:
        return 0.0
    return item.lost_us if item.beyond_us is None else item.beyond_us


def _cost(
    network: CauseNetwork, node: str, evidence: Mapping[str, SoftEvidence], on: set[str]
) -> tuple[float, float]:
    """Time and share that a node costs; for a setting, the largest cost among its effects."""
    item = evidence.get(node)
    if item is not None and not item.is_setting:
        return item.lost_us, item.share
    reached = [
        _cost(network, edge.effect, evidence, on) for edge in network.effects(node) if edge.effect in on
    ]
    return max(reached, default=(0.0, 0.0))


def _chain(
    network: CauseNetwork, node: str, on: set[str], evidence: Mapping[str, SoftEvidence]
) -> tuple[str, ...]:
    """The longest path from an effect that is on down to the node, the costlier of equals."""
    best: tuple[str, ...] = ()
    for edge in network.effects(node):
        if edge.effect in on and _can_explain(edge, evidence):
            path = _chain(network, edge.effect, on, evidence)
            cost = evidence[path[0]].lost_us if path[0] in evidence else 0.0
            best_cost = evidence[best[0]].lost_us if best and best[0] in evidence else -1.0
            if (len(path), cost) > (len(best), best_cost):
                best = path
    return (*best, node)


def _perhaps(
    network: CauseNetwork,
    node: str,
    evidence: Mapping[str, SoftEvidence],
    posterior: Posterior,
    foreign: frozenset[str],
) -> tuple[tuple[str, float], ...]:
    """Unseen causes, likeliest first.

    One that is behind several findings has its posterior; the others share what remains by the strength of
    their edges, together with a cause that the graph does not know. So does one that others bring on: that
    they may have done so says nothing of this finding.
    """

    def comes_of_another(name: str) -> bool:
        seen = [edge.cause for edge in network.causes(name) if edge.cause in evidence]
        return any(posterior.on.get(cause, 0.0) >= LIKELY for cause in seen)

    edges = [
        edge for edge in network.causes(node) if edge.cause not in {*evidence, *foreign} and not edge.is_kind
    ]
    total = sum(edge.strength for edge in edges) + UNKNOWN_CAUSE
    chances = []
    for edge in edges:
        share = edge.strength / total
        known = None if comes_of_another(edge.cause) else posterior.on.get(edge.cause)
        chances.append((edge.cause, share if known is None else known))
    return tuple(sorted(chances, key=lambda item: (-item[1], item[0]))[:PERHAPS])


UNKNOWN_CAUSE = 0.5
"""Weight of a cause that the graph does not know, beside the strengths of those it does."""
