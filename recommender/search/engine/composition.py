"""Composition: a configuration proposed from the expected cost of each part of the objective.

The whole is the sum of its parts, and an evaluation tells of every part at once. So each part is searched in
its own few dimensions, all in the same evaluations: each looks for its own largest expected improvement, and
when the best that the parts have shown, put together, should better the best so far, that is tried. Nobody
has to divide the budget. Parameters that no part has are shared: for them the setting is taken whose parts
add up to the lowest cost that can be hoped for, a standard deviation below what is expected, as in GP-LCB.

Source: Astudillo and Frazier, Bayesian Optimization of Composite Functions, ICML 2019, for modelling what an
objective is made of; Srinivas et al., Gaussian Process Optimization in the Bandit Setting, ICML 2010, for
the bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Status
from kg.nouns.values import Settings
from recommender.search.belief.mixture import log_expected_improvement
from recommender.search.engine.proposal import target_gain
from recommender.search.evaluations import Evaluation
from recommender.space.constraint import Coordinates
from recommender.space.parts import SearchPart, cut
from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOutlook:
    """The posterior of every candidate of a search.

    Attributes:
        u: Coordinates, shape (N, d).
        mean: Expected log cost, shape (N,).
        stdev: Of it, shape (N,).
        allowed: Logarithm of the chance to run, shape (N,).
        open: Which have not been evaluated, shape (N,).
    """

    u: Coordinates
    mean: NDArray[np.float64]
    stdev: NDArray[np.float64]
    allowed: NDArray[np.float64]
    open: NDArray[np.bool_]


class PartSearch(Protocol):
    """A search over the space of one part, which learns its cost and predicts it."""

    space: SearchSpace

    def tell(self, evaluation: Evaluation, /) -> None:
        """Add an evaluation of the part."""

    def outlook(self) -> CandidateOutlook:
        """The posterior of the part's candidates."""

    def believing(self, configurations: Sequence[Settings], /) -> AbstractContextManager[None]:
        """Take predictions of configurations for their results while the block lasts."""


_WORTH_JOINING = 0.01
"""Log gain from which the parts' best are tried together; a choice, the noise of a good measurement."""

_LOOKED_AT = 64
"""Candidates of a part that are checked against the whole space, the most promising first; a choice."""


class Composition:
    """The searches of the parts of one objective, which is their sum.

    Args:
        space: Of the whole.
        parts: At least two.
        searches: One a part, over its space; nothing is asked of them, they learn and foretell.
    """

    def __init__(
        self, space: SearchSpace, parts: Sequence[SearchPart], searches: Sequence[PartSearch]
    ) -> None:
        self._space = space
        shared = set.intersection(*(set(part.space.names) for part in parts))
        self._sides = [
            _Side(
                search=search,
                names=part.space.names,
                columns=np.array([space.names.index(name) for name in part.space.names]),
                shared=np.array([name in shared for name in part.space.names]),
            )
            for part, search in zip(parts, searches, strict=True)
        ]

    def tell(self, evaluation: Evaluation, *, kept: bool) -> None:
        """Take in what each part did; a failure is laid to the parts whose settings never ran.

        Args:
            evaluation: Of the whole.
            kept: Whether it ran within all limits; else it is a failure here.
        """
        if kept and len(evaluation.parts) != len(self._sides):
            return
        for place, side in enumerate(self._sides):
            side.tell(evaluation, evaluation.parts[place] if kept else None)

    def propose(
        self,
        incumbent: Evaluation,
        *,
        fresh: Callable[[Coordinates], NDArray[np.bool_]],
        pending: Sequence[Settings] = (),
    ) -> NDArray[np.float64] | None:
        """The parts' best together if that should better the best so far, else what promises most of each.

        Args:
            incumbent: The best so far, with its parts.
            fresh: Which of some configurations may be proposed.
            pending: What is being evaluated; its predicted cost is taken for its result.

        Returns:
            Coordinates, shape (d,); None if nothing fresh was found.
        """
        point = self._space.encode([incumbent.configuration])[0]
        together = self._together(point, math.log(sum(incumbent.parts)))
        if together is not None and fresh(together[None])[0]:
            return together
        with ExitStack() as stack:
            for side in self._sides:
                rest = [cut(settings, side.names) for settings in pending]
                stack.enter_context(side.search.believing(rest))
            return self._explored(point, fresh)

    # --- below

    def _together(self, point: NDArray[np.float64], cost: float) -> NDArray[np.float64] | None:
        """The parts' best, for the shared settings where they add up to least; None without gain.

        Args:
            point: The best so far, shape (d,).
            cost: Its log cost.
        """
        best = [side.best() for side in self._sides]
        keys = set.intersection(*(set(one) for one in best))
        sums = {key: sum(one[key][0] for one in best) for key in sorted(keys)}
        if not sums:
            return None
        key = min(sums, key=sums.__getitem__)
        if cost - math.log(sums[key]) < _WORTH_JOINING:
            return None
        whole = point.copy()
        for side, one in zip(self._sides, best, strict=True):
            whole[side.columns] = one[key][1]
        return whole if self._space.allowed(whole[None])[0] else None

    def _explored(
        self, point: NDArray[np.float64], fresh: Callable[[Coordinates], NDArray[np.bool_]]
    ) -> NDArray[np.float64] | None:
        """The most promising point of each part for one choice of shared settings; None if none is left."""
        views = [side.view() for side in self._sides]
        hopes = [view.hopes() for view in views]
        keys = set.intersection(*(set(one) for one in hopes))
        if not keys:
            return None
        key = min(sorted(keys), key=lambda key: float(np.logaddexp.reduce([one[key] for one in hopes])))
        most = max(2, int(_LOOKED_AT ** (1 / len(views))))
        tops = [
            view.promising(key, side.best().get(key, (math.inf,))[0], len(side.ran), most)
            for side, view in zip(self._sides, views, strict=True)
        ]
        ranks = sorted(itertools.product(*(range(len(top)) for top in tops)), key=sum)
        whole = np.repeat(point[None], len(ranks), axis=0)
        for place, (side, top) in enumerate(zip(self._sides, tops, strict=True)):
            whole[:, side.columns] = top[[rank[place] for rank in ranks]]
        good = np.flatnonzero(self._space.allowed(whole))
        good = good[fresh(whole[good])] if len(good) else good
        return whole[good[0]] if len(good) else None


@dataclass(slots=True, kw_only=True)
class _Side:
    """A part within the whole.

    Attributes:
        search: Over its space.
        names: Of its parameters.
        columns: Where they are in the whole, shape (d_p,).
        shared: Which of them all parts have, shape (d_p,).
        ran: Settings that ran: coordinates and cost as last measured, by digest.
    """

    search: PartSearch
    names: tuple[str, ...]
    columns: NDArray[np.int64]
    shared: NDArray[np.bool_]
    ran: dict[str, tuple[NDArray[np.float64], float]] = field(default_factory=dict)

    def tell(self, evaluation: Evaluation, cost: float | None) -> None:
        """Take in the part's cost; None for a failure of the whole, which settings that ran did not cause."""
        settings = cut(evaluation.configuration, self.names)
        before = self.ran.get(settings.digest)
        if before is not None and cost in {None, before[1]}:  # not to blame, or nothing new
            return
        if cost is not None:
            self.ran[settings.digest] = (self.search.space.encode([settings])[0], cost)
        self.search.tell(
            Evaluation(
                configuration=settings,
                values=(cost,),
                status=Status.FAILED if cost is None else Status.OK,
                reason=evaluation.reason,
                repeats=evaluation.repeats,
            )
        )

    def best(self) -> dict[bytes, tuple[float, NDArray[np.float64]]]:
        """The least cost and its coordinates, by shared settings."""
        found: dict[bytes, tuple[float, NDArray[np.float64]]] = {}
        for u, cost in self.ran.values():
            key = _key(u[self.shared])
            if key not in found or cost < found[key][0]:
                found[key] = (cost, u)
        return found

    def view(self) -> _View:
        """The posterior of the part's candidates, by shared settings."""
        outlook = self.search.outlook()
        shared, keys = np.unique(
            np.nan_to_num(outlook.u[:, self.shared], nan=-1.0), axis=0, return_inverse=True
        )
        names = [_key(np.where(point < 0, np.nan, point)) for point in shared]
        return _View(outlook=outlook, keys=keys.ravel(), names=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """The posterior of a part's candidates, by shared settings.

    Attributes:
        outlook: Of its candidates.
        keys: Number of each one's shared settings, shape (N,).
        names: Of those numbers.
    """

    outlook: CandidateOutlook
    keys: NDArray[np.int64]
    names: list[bytes]

    def hopes(self) -> dict[bytes, float]:
        """The lowest log cost to be hoped for, by shared settings."""
        low = np.full(len(self.names), np.inf)
        held = self.outlook
        np.minimum.at(low, self.keys, held.mean - held.stdev - held.allowed)
        return dict(zip(self.names, low.tolist(), strict=True))

    def promising(self, key: bytes, best: float, tried: int, most: int) -> Coordinates:
        """The most promising candidates with these shared settings, shape (up to most, d_p).

        Where all is tried, what is expected to be best: another part may have something left.

        Args:
            key: Of the shared settings.
            best: Least cost there, inf before anything ran.
            tried: Settings that ran.
            most: How many.
        """
        held = self.outlook
        rows = np.flatnonzero(self.keys == self.names.index(key))
        new = rows[held.open[rows]]
        if not len(new):
            return held.u[rows[np.argsort(held.mean[rows], kind="stable")[:most]]]
        least = math.log(best) if math.isfinite(best) else float(held.mean[rows].min())
        worth = log_expected_improvement(held.mean[new], held.stdev[new], least - target_gain(tried))
        return held.u[new[np.argsort(-(worth + held.allowed[new]), kind="stable")[:most]]]


def _key(shared: NDArray[np.float64]) -> bytes:
    return (np.round(shared, 9) + 0.0).tobytes()
