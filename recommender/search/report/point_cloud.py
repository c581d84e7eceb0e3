"""The points of a search as a page draws them: all of a short one, of a long one the best and every nth."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Objective
from kg.nouns.values import Settings
from recommender.search.engine.pareto import non_dominated
from recommender.search.evaluations import cost_of, value_of
from recommender.search.report.history import History

MOST_POINTS = 2_000
"""Points that are drawn one by one; a choice: some 60 kB of a page."""
BEST_KEPT = 200
"""Number of best points that a longer search draws, whatever their place."""
_MOST_TRIALS = 6
_MOST_LABELS = 200
"""Configurations that are spelled out: of the front, evenly taken where it is longer."""


def course_points(history: History) -> dict[str, Any]:
    """Value of each evaluation, the best so far by what it settled at, and what failed.

    ``points`` and ``best`` are number (from 1) and value, ``failed`` numbers; of a search that is too long to
    be drawn point by point the best are kept, and of the rest every nth.
    """
    costs: NDArray[np.float64] = np.array(history.costs, np.float64)
    good = np.flatnonzero(~np.isnan(costs))
    values = {int(at): value_of(float(costs[at]), history.objective) for at in good}
    running = np.array(history.best_so_far, np.float64)
    gained = np.flatnonzero(running < np.concatenate([[np.inf], running])[:-1])
    failed = [at + 1 for at, item in enumerate(history.evaluations) if not item.ok]
    over = [int(at) + 1 for at in np.flatnonzero(np.isnan(costs)) if history.evaluations[int(at)].ok]
    kept = good[_kept(costs[good])]
    return {
        **_objective(history.objective),
        "evaluations": len(costs),
        "points": [[int(at) + 1, _short(values[int(at)])] for at in kept],
        "best": [[int(at) + 1, _short(value_of(float(running[at]), history.objective))] for at in gained],
        "failed": failed[:: max(1, len(failed) // MOST_POINTS * 10)],
        "failed_count": len(failed),
        "over_limits": over[:: max(1, len(over) // MOST_POINTS * 10)],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """A configuration by all objectives.

    Attributes:
        values: One an objective, above zero.
        configuration: What it sets.
        trials: Its trials.
    """

    values: tuple[float, ...]
    configuration: Settings
    trials: tuple[int, ...]


def front_points(rows: Sequence[FrontRow], objectives: Sequence[Objective]) -> dict[str, Any]:
    """Configurations by all objectives, and what those set that no other beats.

    ``points`` are the values by objective, ``front`` places among them, ``configurations`` what each of the
    front sets.

    Args:
        rows: At least one.
        objectives: Two or more.
    """
    costs = np.array(
        [[cost_of(value, it) for value, it in zip(row.values, objectives, strict=True)] for row in rows]
    )
    front = np.flatnonzero(non_dominated(costs))
    front = front[:: max(1, math.ceil(len(front) / MOST_POINTS))]
    kept = np.union1d(front, _kept(costs[:, 0]))
    place = {int(at): number for number, at in enumerate(kept)}
    spelled = [int(at) for at in front[:: max(1, math.ceil(len(front) / _MOST_LABELS))]]
    return {
        "objectives": [_objective(item) for item in objectives],
        "configurations_count": len(rows),
        "points": [[_short(value) for value in rows[int(at)].values] for at in kept],
        "front": [place[int(at)] for at in front],
        "configurations": {
            str(place[at]): {
                "set": str(rows[at].configuration),
                "trials": list(rows[at].trials[:_MOST_TRIALS]),
            }
            for at in spelled
        },
    }


def _objective(objective: Objective) -> dict[str, object]:
    return {"metric": objective.metric, "unit": objective.unit, "better": objective.better.value}


def _kept(costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Places of the points that are drawn, in order."""
    every = np.arange(0, len(costs), max(1, math.ceil(len(costs) / MOST_POINTS)))
    return np.union1d(np.argsort(costs, kind="stable")[:BEST_KEPT], every)


def _short(value: float) -> float:
    """A value with six digits: more are not seen on a page."""
    return float(f"{value:.6g}")
