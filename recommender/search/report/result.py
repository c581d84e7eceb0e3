"""The result of a search, read from its log."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.codec import plain
from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.measuring.outcome import RunOutcome
from recommender.search.engine.pareto import non_dominated
from recommender.search.evaluations import Evaluation, cost_of, half_width
from recommender.search.log.study import SearchLog
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.report.contribution import Contribution, ablation
from recommender.search.report.history import History
from recommender.search.report.point_cloud import FrontRow, course_points, front_points
from recommender.search.run.task import Task
from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedConfiguration:
    """One configuration with all its evaluations.

    Attributes:
        configuration: What was set.
        values: One an objective, then one a limit: means over its evaluations; None where unknown.
        interval: 90 % interval of the first value; None where it was measured once.
        measured: How often, all repeats counted.
        keeps: Whether all limits are known to be kept.
        notes: What is to be known of it.
        numbers: Its trials.
    """

    configuration: Settings
    values: tuple[float | None, ...]
    interval: tuple[float, float] | None
    measured: int
    keeps: bool
    notes: tuple[str, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The state of a search: its best configurations, front, gains and failures so far.

    Attributes:
        log: Its log.
        task: What was searched.
        trials: All trials.
    """

    log: SearchLog
    task: Task
    trials: Sequence[LoggedTrial]

    @classmethod
    def of(cls, log: SearchLog, task: Task) -> Result:
        """Make the result of a log."""
        return cls(log=log, task=task, trials=log.trials())

    @property
    def evaluations(self) -> list[Evaluation]:
        """All that ended, in order of their numbers."""
        return [trial.evaluation for trial in self.trials if trial.evaluation is not None]

    @cached_property
    def history(self) -> History:
        """The same as a history."""
        return History(
            objective=self.task.objectives[0],
            evaluations=tuple(self.evaluations),
            limits=self.task.limits,
            objectives=len(self.task.objectives),
            is_modelled=self.task.is_modelled,
        )

    def configurations(self) -> list[EvaluatedConfiguration]:
        """Configurations that ran, those that keep the limits first, best first.

        Once two or more were measured again they stand first: one that ran once beside them may be lucky.
        """
        return list(self._configurations)

    @cached_property
    def _configurations(self) -> list[EvaluatedConfiguration]:
        groups: dict[Settings, list[LoggedTrial]] = {}
        for trial in self.trials:
            if trial.evaluation is not None and trial.evaluation.ok:
                groups.setdefault(trial.configuration, []).append(trial)
        sign = 1 if self.task.objectives[0].better is Better.LOWER else -1
        found = [self._summary(settings, members) for settings, members in groups.items()]
        again = {item.configuration.digest for item in found if item.keeps and len(item.numbers) > 1}
        again = again if len(again) > 1 else set()
        return sorted(
            found,
            key=lambda item: (
                not item.keeps,
                item.configuration.digest not in again,
                sign * (item.values[0] or 0.0),
                item.configuration.digest,
            ),
        )

    def _summary(self, settings: Settings, members: Sequence[LoggedTrial]) -> EvaluatedConfiguration:
        evaluations = [item.evaluation for item in members if item.evaluation is not None]
        if len(evaluations) == 1:
            values = evaluations[0].values
        else:
            columns = zip(*(item.values for item in evaluations), strict=True)
            known = [[value for value in column if value is not None] for column in columns]
            values = tuple(statistics.fmean(column) if column else None for column in known)
        bounds = values[len(self.task.objectives) :]
        return EvaluatedConfiguration(
            configuration=settings,
            values=values,
            interval=_interval(evaluations),
            measured=sum(item.repeats for item in evaluations),
            keeps=all(
                bound is not None and bound <= limit.maximum
                for bound, limit in zip(bounds, self.task.limits, strict=True)
            ),
            notes=tuple(dict.fromkeys(note for item in members for note in item.notes)),
            numbers=tuple(item.number for item in members),
        )

    def best(self) -> EvaluatedConfiguration | None:
        """The best that keeps the limits; None if nothing does."""
        return next((item for item in self.configurations() if item.keeps), None)

    def front(self) -> list[EvaluatedConfiguration]:
        """The Pareto front of the configurations that keep the limits."""
        allowed = [item for item in self.configurations() if item.keeps and None not in item.values]
        costs = np.array([_costs(item.values, self.task.objectives) for item in allowed])
        return [item for item, is_kept in zip(allowed, non_dominated(costs), strict=True) if is_kept]

    def default(self) -> EvaluatedConfiguration | None:
        """The evaluated default; None if it was not evaluated or did not run."""
        return next((item for item in self.configurations() if item.configuration == self.task.default), None)

    def gain(self) -> float | None:
        """Log gain of the best over the default; None if either is missing."""
        best, default = self.best(), self.default()
        if best is None or default is None or not best.values[0] or not default.values[0]:
            return None
        objective = self.task.objectives[0]
        return cost_of(default.values[0], objective) - cost_of(best.values[0], objective)

    def contributions(self, evaluate: Callable[[Settings], RunOutcome] | None = None) -> list[Contribution]:
        """Contributions of the parameters to the gain over the default.

        Args:
            evaluate: Evaluates what the search did not; None predicts it from what it did.

        Raises:
            InputError: There is no default that ran, or nothing that keeps the limits.
        """
        best, objective = self.best(), self.task.objectives[0]
        if self.task.default is None or best is None:
            raise InputError("contributions need a default and something that keeps the limits")
        tried = [item for item in self.configurations() if item.values[0]]
        estimates = Estimates(
            space=self.task.space,
            configurations=[item.configuration for item in tried],
            costs=np.array([cost_of(item.values[0] or math.nan, objective) for item in tried]),
        )

        def cost(configuration: Settings) -> tuple[float, bool]:
            found = estimates(configuration)
            if found[1] or evaluate is None:
                return found
            outcome = evaluate(configuration)
            value = outcome.values.get(objective.metric)
            if outcome.status is not Status.OK or value is None or value <= 0:
                return math.inf, True
            return cost_of(value, objective), True

        return ablation(self.task.space, self.task.default, best.configuration, cost)

    def to_json(self, *, most: int = 10) -> dict[str, object]:
        """Plain content: names, figures, best, front, the best few, failures.

        Args:
            most: Configurations listed at most.
        """
        best, default, gain = self.best(), self.default(), self.gain()
        history = self.history
        figures = history.figures() if best is not None else None
        states = [trial.state for trial in self.trials]
        return {
            "search": self.log.name,
            "log": self.log.storage,
            "objectives": [_objective(item) for item in self.task.objectives],
            "limits": plain(self.task.limits),
            "state": {
                "ended": len(self.evaluations),
                "running": states.count("RUNNING"),
                "waiting": states.count("WAITING"),
                "failed": sum(not item.ok for item in self.evaluations),
            },
            "stop_reason": self.log.metadata.stop_reason or None,
            "sources": [
                {
                    "name": item.name,
                    "similarity": round(item.similarity, 4),
                    "rows": len(item.costs),
                    "problem": item.problem_id,
                }
                for item in self.log.sources
            ],
            "best": None if best is None else self._row(best),
            "default": None if default is None else self._row(default),
            "gain_factor": None if gain is None else math.exp(gain),
            "front": [self._row(item) for item in self.front()] if len(self.task.objectives) > 1 else [],
            "top": [self._row(item) for item in self.configurations()[:most]],
            "failures": _reasons(self.evaluations),
            "figures": figures,
            "notes": list(self.log.metadata.notes),
            "environment": dict(self.log.metadata.environment) or None,
        }

    def page_content(self) -> dict[str, object]:
        """The same with the points of its course and of its front."""
        return {
            **self.to_json(),
            "modelled": self.task.is_modelled,
            "course": course_points(self.history),
            "front_points": self.front_points(),
        }

    def front_points(self) -> dict[str, object] | None:
        """The configurations by all objectives, as a page draws them; None with one objective."""
        objectives = self.task.objectives
        rows = [
            FrontRow(
                values=tuple(value or 0.0 for value in item.values[: len(objectives)]),
                configuration=item.configuration,
                trials=item.numbers,
            )
            for item in self.configurations()
            if item.keeps and all(value is not None and value > 0 for value in item.values[: len(objectives)])
        ]
        return front_points(rows, objectives) if len(objectives) > 1 and rows else None

    def _row(self, item: EvaluatedConfiguration) -> dict[str, object]:
        names = [*(x.metric for x in self.task.objectives), *(x.metric for x in self.task.limits)]
        return {
            "configuration": item.configuration.to_json(),
            "values": dict(zip(names, item.values, strict=True)),
            "interval_90": None if item.interval is None else list(item.interval),
            "measured": item.measured,
            "keeps_limits": item.keeps,
            "notes": list(item.notes),
            "trials": list(item.numbers),
        }


def _objective(item: Objective) -> dict[str, object]:
    return {"metric": item.metric, "unit": item.unit, "better": item.better.value}


def _costs(values: Sequence[float | None], objectives: Sequence[Objective]) -> list[float]:
    pairs = zip(values, objectives, strict=False)
    return [cost_of(value, objective) for value, objective in pairs if value is not None]


def _interval(evaluations: Sequence[Evaluation]) -> tuple[float, float] | None:
    """90 % interval of the mean of the first value, from spreads within and between evaluations."""
    means = [item.values[0] for item in evaluations if item.values[0] is not None]
    if not means:
        return None
    mean = statistics.fmean(means)
    if len(means) > 1:
        half: float | None = half_width(statistics.stdev(means), len(means))
    else:
        half = evaluations[0].half_width
    return None if half is None else (mean - half, mean + half)


def _reasons(evaluations: Sequence[Evaluation]) -> list[dict[str, object]]:
    """Reasons of failed evaluations, most frequent first."""
    counts: dict[str, int] = {}
    for item in evaluations:
        if not item.ok:
            counts[item.reason[:200]] = counts.get(item.reason[:200], 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"reason": reason, "times": times} for reason, times in ordered[:20]]


_LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4)
_RIDGES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Tried length scales and noise levels; the pair with the least leave-one-out error is taken."""
LEAST = 5
"""Evaluations below which nothing is predicted; a choice."""


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Predicts log costs within one space.

    Attributes:
        space: Of the configurations.
        configurations: Evaluated ones, each once.
        costs: Their log costs, shape (n,).
    """

    space: SearchSpace
    configurations: Sequence[Settings]
    costs: NDArray[np.float64]

    def __call__(self, configuration: Settings) -> tuple[float, bool]:
        """Log cost of a configuration, and whether it was evaluated; inf where nothing can be predicted."""
        if configuration in self._known:
            return self._known[configuration], True
        if self._fit is None:
            return math.inf, False
        weights, length, mean = self._fit
        kernel = _matern(self._features([configuration]), self._x, length)
        return float(mean + (kernel @ weights)[0]), False

    @cached_property
    def _known(self) -> dict[Settings, float]:
        return dict(zip(self.configurations, self.costs.tolist(), strict=True))

    @cached_property
    def _x(self) -> NDArray[np.float64]:
        return self._features(self.configurations)

    def _features(self, configurations: Sequence[Settings]) -> NDArray[np.float64]:
        return np.asarray(self.space.features(self.space.encode(configurations)), np.float64)

    @cached_property
    def _fit(self) -> tuple[NDArray[np.float64], float, float] | None:
        n = len(self.configurations)
        if n < LEAST:
            return None
        mean = float(np.mean(self.costs))
        y = self.costs - mean
        best: tuple[float, NDArray[np.float64], float] | None = None
        for length in _LENGTHS:
            kernel = _matern(self._x, self._x, length)
            for ridge in _RIDGES:
                inverse = np.linalg.inv(kernel + ridge * np.eye(n))
                weights = inverse @ y
                error = float(np.mean((weights / np.diag(inverse)) ** 2))  # leave one out, in closed form
                if best is None or error < best[0]:
                    best = (error, weights, length)
        assert best is not None  # noqa: S101  the grids are not empty
        return best[1], best[2], mean


def _matern(a: NDArray[np.float64], b: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """Matern 5/2 covariances, shape (len(a), len(b))."""
    squared = np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None, :] - 2 * a @ b.T, 0.0)
    r = np.sqrt(5 * squared) / length
    covariances: NDArray[np.float64] = (1 + r + r**2 / 3) * np.exp(-r)
    return covariances
