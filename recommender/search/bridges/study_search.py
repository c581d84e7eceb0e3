"""A search that follows one study of Optuna: it is told what ended, holds what runs, and proposes."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from optuna.study import StudyDirection
from optuna.trial import TrialState

from kg.errors import InputError
from kg.nouns.entities import Better, Objective, Status
from recommender.search.bridges.observed_space import ObservedSpace
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

    from kg.nouns.values import Settings
    from recommender.search.evaluations import SourceTable
    from recommender.space.constraint import Constraint


_MOST = 30.0
"""Largest log cost either way: beyond thirty times the median gap it no longer matters how far; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveScale:
    """A map from values of an objective to log costs: lower is better.

    Attributes:
        higher: Whether higher values are better.
        origin: Value whose log cost is zero; None on a ratio scale, where that is 1.
        unit: Difference of two values that counts as one log cost; unused on a ratio scale.
        bends: Whether costs above the origin are brought nearer to it, as a logarithm does.

    Example:
        >>> scale = ObjectiveScale.of([3.0, -1.0, 1.0], higher=True)
        >>> scale.log_cost(3.0), scale.log_cost(1.0), scale.log_cost(-3.0)
        (-0.0, 1.0, 3.0)
    """

    higher: bool
    origin: float | None = None
    unit: float = 1.0
    bends: bool = False

    @classmethod
    def of(cls, values: Sequence[float], *, higher: bool, bends: bool = False) -> ObjectiveScale:
        """The scale of differences that fits results: zero at the best, one at the median."""
        if not values:
            return cls(higher=higher, origin=0.0, bends=bends)
        best = max(values) if higher else min(values)
        gaps = [abs(value - best) for value in values]
        unit = median(gaps) or max(gaps) or 1.0
        return cls(higher=higher, origin=best, unit=unit if math.isfinite(unit) else 1.0, bends=bends)

    def fits(self, value: float) -> bool:
        """True where the scale has a place for a value."""
        return math.isfinite(value) and (self.origin is not None or value > 0)

    def log_cost(self, value: float) -> float:
        """The log cost of a value that fits."""
        sign = -1.0 if self.higher else 1.0
        if self.origin is None:
            return sign * math.log(value)
        gap = sign * (value - self.origin) / self.unit
        if self.bends and gap > 0:
            gap = math.log1p(gap)
        return min(max(gap, -_MOST), _MOST)


PROPOSAL = "tunegraph:proposal"
"""System attribute of a trial: what was proposed for it, in Optuna's internal representation."""

_FIRST_SCALE = 4
"""Results before differences are scaled, and again at twice as many; as many as come before a model."""

_FAR = -3.0
"""Log cost of a result so far below the best that differences are scaled anew at once; a choice."""

_logger = logging.getLogger(__name__)


class StudySearch:
    """A search over one space of one study.

    Args:
        distributions: The space, as Optuna asks for it.
        directions: Of the study.
        constraints: What every configuration satisfies.
        sources: What is known of similar problems, for the first objective: positive costs.
        seed: Of the search.

    Raises:
        InputError: The space is none.
        InfeasibleError: Nothing satisfies the constraints.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        directions: Sequence[StudyDirection],
        *,
        constraints: Sequence[Constraint] = (),
        sources: Sequence[SourceTable] = (),
        seed: int = 0,
    ) -> None:
        self._distributions = dict(distributions)
        self._higher = [way == StudyDirection.MAXIMIZE for way in directions]
        self._constraints, self._sources, self._seed = tuple(constraints), tuple(sources), seed
        self._ended: dict[int, FrozenTrial] = {}
        self._held: dict[int, int] = {}
        self._scaled_at = 0
        self._scales = self._new_scales()
        self._space = ObservedSpace(distributions, (), constraints)
        self._search = self._new_search()

    def follow(self, trials: Sequence[FrozenTrial], current: int) -> None:
        """Take in what a study knows; the trial ``current`` is the one that asks."""
        new = [
            trial
            for trial in trials
            if trial.state.is_finished() and trial.number not in self._ended and trial.number != current
        ]
        for trial in new:
            self._ended[trial.number] = trial
        if new and (self._space_changed(new) or self._scale_changed()):
            self._begin_again()
        else:
            for trial in new:
                self._tell(trial)
        for trial in trials:
            if (
                trial.state is TrialState.RUNNING
                and trial.number not in self._held
                and trial.number != current
            ):
                self._hold(trial)

    def propose(self, trial: int, skip: int = 0) -> Settings | None:
        """The configuration to evaluate in a trial, ``skip`` behind the first; None where none is left."""
        asked = self._search.ask(skip + 1)
        if not asked:
            return None
        for other in asked[:-1]:
            self._search.withdraw(other.number)
        self._held[trial] = asked[-1].number
        return asked[-1].configuration

    def again(self, rng: np.random.Generator) -> Settings:
        """A configuration at random, of a space of which nothing is left."""
        return self._space.space.sample(rng, 1)[0]

    def rival(self, trial: int, trials: Sequence[FrozenTrial]) -> bool:
        """True where another worker proposed the same meanwhile; the proposal is then that worker's."""
        mine = next((item.system_attrs.get(PROPOSAL) for item in trials if item.number == trial), None)
        for other in trials:
            same = other.number != trial and other.system_attrs.get(PROPOSAL) == mine
            if same and mine is not None and not (other.state.is_finished() and other.number in self._ended):
                if other.state.is_finished():
                    self._held.pop(trial)
                else:
                    self.give_way(trial, other.number)
                return True
        return False

    def give_way(self, trial: int, other: int) -> None:
        """Leave what was proposed for a trial to another that runs."""
        number = self._held.pop(trial)
        self._held.setdefault(other, number)

    def params(self, configuration: Settings) -> dict[str, Any]:
        """A configuration as Optuna has it."""
        return self._space.params(configuration)

    def internal(self, configuration: Settings) -> dict[str, float]:
        """A configuration in Optuna's internal representation."""
        return self._space.internal(configuration)

    # --- below

    def _new_scales(self) -> list[ObjectiveScale]:
        if self._sources:
            return [ObjectiveScale(higher=higher) for higher in self._higher]
        ran = [trial.values for trial in self._ended.values() if _ran(trial)]
        return [
            ObjectiveScale.of([values[k] for values in ran], higher=higher, bends=len(self._higher) > 1)
            for k, higher in enumerate(self._higher)
        ]

    def _new_search(self) -> Search:
        objectives = tuple(
            Objective(metric=f"objective_{k}", better=Better.LOWER) for k in range(len(self._higher))
        )
        return Search(space=self._space.space, objectives=objectives, sources=self._sources, seed=self._seed)

    def _space_changed(self, new: Sequence[FrozenTrial]) -> bool:
        """Whether new trials say something else of when parameters exist; if so, the space is made anew."""
        if all(self._fits(trial) for trial in new):
            return False
        trials = list(self._ended.values())
        shown = [trial for trial in trials if trial.state is not TrialState.FAIL] or trials
        try:
            space = ObservedSpace(self._distributions, shown, self._constraints)
        except InputError:
            return False
        if space.space.digest == self._space.space.digest:
            return False
        self._space = space
        return True

    def _fits(self, trial: FrozenTrial) -> bool:
        try:
            self._space.space.encode([self._space.settings(trial.params)])
        except InputError:
            return False
        return True

    def _scale_changed(self) -> bool:
        """Whether differences count anew: results have doubled, or a value has no ratio to the sources."""
        ran = [trial.values for trial in self._ended.values() if _ran(trial)]
        if self._sources:
            odd = [
                v
                for values in ran
                for v, scale in zip(values, self._scales, strict=True)
                if not scale.fits(v)
            ]
            if not odd:
                return False
            _logger.warning(
                "an objective of %g has no ratio to the costs of sources; the search goes on without them",
                odd[0],
            )
            self._sources = ()
        elif len(ran) < _FIRST_SCALE or (
            len(ran) < 2 * self._scaled_at and not any(map(self._far_below, ran))
        ):
            return False
        self._scaled_at = len(ran)
        self._scales = self._new_scales()
        return True

    def _far_below(self, values: Sequence[float]) -> bool:
        return any(scale.log_cost(v) < _FAR for v, scale in zip(values, self._scales, strict=True))

    def _begin_again(self) -> None:
        """A new search in the same space, told all that ended; what runs is held again by ``follow``."""
        self._search, self._held = self._new_search(), {}
        for number in sorted(self._ended):
            self._tell(self._ended[number])

    def _tell(self, trial: FrozenTrial) -> None:
        number = self._held.pop(trial.number, None)
        try:
            settings = self._space.settings(trial.params)
            self._search.tell(self._evaluation(trial, settings), number)
        except InputError:  # other parameters than were proposed, or none of this space
            if number is not None:
                self._search.withdraw(number)
                self._tell(trial)

    def _hold(self, trial: FrozenTrial) -> None:
        proposal = trial.system_attrs.get(PROPOSAL)
        params = trial.params if proposal is None else self._space.external(proposal)
        try:
            self._held[trial.number] = self._search.hold(self._space.settings(params))
        except InputError:
            return  # it has not asked for all of its parameters yet, or for others

    def _evaluation(self, trial: FrozenTrial, settings: Settings) -> Evaluation:
        values = trial.values if _ran(trial) else None
        if trial.state is TrialState.PRUNED and len(self._higher) == 1:
            value = self._expected_of_pruned(trial)
            values = None if value is None else [value]
        if values is None:
            return Evaluation(configuration=settings, values=(None,), status=Status.FAILED, reason="failed")
        costs = (scale.log_cost(value) for value, scale in zip(values, self._scales, strict=True))
        return Evaluation(configuration=settings, values=tuple(map(math.exp, costs)))

    def _expected_of_pruned(self, trial: FrozenTrial) -> float | None:
        """The value that a pruned trial would have had: its last, and what others gained from there on.

        None where it reported nothing, or nothing of the objective's scale.
        """
        reported = {step: value for step, value in trial.intermediate_values.items() if math.isfinite(value)}
        if not reported:
            return None
        last = max(reported)
        gains = [
            other.values[0] - other.intermediate_values[last]
            for other in self._ended.values()
            if _ran(other) and math.isfinite(other.intermediate_values.get(last, math.nan))
        ]
        value = reported[last] + (median(gains) if gains else 0.0)
        return value if self._scales[0].fits(value) else None


def _ran(trial: FrozenTrial) -> bool:
    return trial.state is TrialState.COMPLETE and all(map(math.isfinite, trial.values))
