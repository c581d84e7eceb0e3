"""Observed bottlenecks, and their distance in the graph from what strategies mitigate."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kg.nouns.entities import Problem
from kg.triples.finders import broader, causes_of, narrower
from kg.triples.graph import GraphStore

MOST_STEPS = 3
"""Most edges between an observed bottleneck and a cause or kind that counts as observed with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The observed bottleneck that a strategy is for, and its distance from what the strategy mitigates.

    Attributes:
        bottleneck: Id of the observed one; empty if the strategy is for none of them.
        through: Id of what the strategy mitigates: the same, a cause of it, or a kind of it.
        steps: How many edges of the graph lie between the two.
        share: Share of the time that can be won at most; None if unknown.
    """

    bottleneck: str = ""
    through: str = ""
    steps: int = 0
    share: float | None = None

    @property
    def ceiling(self) -> float:
        """Log gain if the whole share went away: ``-ln(1 - share)``; infinite if the share is unknown."""
        if self.share is None or self.share >= 1:
            return math.inf
        return -math.log1p(-self.share)

    @property
    def closeness(self) -> float:
        """1 for the observed bottleneck itself, less for each step away from it."""
        return 1 / (1 + self.steps)


class ObservedBottlenecks:
    """The bottlenecks of a problem and everything within :data:`MOST_STEPS` of them.

    A strategy against a cause of a bottleneck, or against one kind of it, is one against it; so is one
    against what it is a kind of. The farther, the less. What merely has a kind in common is not near.
    """

    def __init__(self, graph: GraphStore, problem: Problem) -> None:
        self._shares = {
            name: None if share is None else float(share)  # type: ignore[arg-type]  # a problem's shares are numbers
            for name, share in problem.bottlenecks.items()
        }
        self._near: dict[str, tuple[int, str]] = {}
        for name in self._shares:
            self._spread(graph, name)

    def __bool__(self) -> bool:
        return bool(self._shares)

    def match(self, mitigates: Iterable[str]) -> Match:
        """Return the nearest observed bottleneck that one of ``mitigates`` stands for.

        A strategy for none of them can only win what they leave.
        """
        best: Match | None = None
        for name in sorted(mitigates):  # a set has no order of its own, and the first of equals is taken
            if name in self._near:
                steps, observed = self._near[name]
                candidate = Match(
                    bottleneck=observed, through=name, steps=steps, share=self._shares[observed]
                )
                if best is None or (candidate.steps, -(candidate.share or 0)) < (
                    best.steps,
                    -(best.share or 0),
                ):
                    best = candidate
        return best or Match(share=self.rest)

    @property
    def rest(self) -> float | None:
        """Share of the time that no observed bottleneck has; None if any share is unknown."""
        shares = [share for share in self._shares.values() if share is not None]
        if not shares or len(shares) < len(self._shares):
            return None
        return max(0.0, 1 - sum(shares))

    @property
    def ceiling(self) -> float | None:
        """Log gain if everything observed went away wholly; None if the shares do not say."""
        shares = [share for share in self._shares.values() if share is not None]
        if not shares or sum(shares) >= 1:
            return None
        return -math.log1p(-sum(shares))

    def _spread(self, graph: GraphStore, observed: str) -> None:
        for behind in (_causes_and_kinds, broader):
            frontier = [observed]
            for steps in range(MOST_STEPS + 1):
                reached: list[str] = []
                for name in frontier:
                    nearest = self._near.get(name)
                    if nearest is None or steps < nearest[0] or name == observed:
                        self._near[name] = (steps, observed)
                        reached += behind(graph, name)
                frontier = reached


def _causes_and_kinds(graph: GraphStore, name: str) -> list[str]:
    return [*causes_of(graph, name), *narrower(graph, name)]
