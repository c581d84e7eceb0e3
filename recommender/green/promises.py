"""Promised savings against kept ones: what plans of other regions kept corrects what a plan here may promise.

The cheapest of many forecast windows looks cheaper than it turns out (the winner's curse), and a plan that
is made anew finds more than its first version promised. Both are measured on regions whose own coefficients
were left out (``tools/green/fit_promises.py``), by length of the job and by how long it may wait.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import data
from recommender.green.history import Floats

CAUTION = 0.5
"""Chance of ending dirtier than at once above which a shift is not worth it."""


LEAST_SAVING = 0.005
"""Share of the emissions below which a shift is not worth it: a choice."""


@dataclass(frozen=True, slots=True, eq=False)
class PromiseRecord:
    """Record of plans of one kind: promised and kept.

    Attributes:
        kept: Saving kept of one promised.
        residuals: Quantiles of the difference, in units of the series' relative standard deviation, at evenly
            spaced probabilities from 0 to 1.
    """

    kept: float
    residuals: Floats

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 90 % interval of the difference, in units of the relative standard deviation."""
        at = np.linspace(0, 1, len(self.residuals))
        low, high = np.interp([0.05, 0.95], at, self.residuals)
        return float(low), float(high)

    def chance_below(self, value: float) -> float:
        """Probability of a difference below ``value``."""
        return float(
            np.interp(value, self.residuals, np.linspace(0, 1, len(self.residuals)), left=0.0, right=1.0)
        )

    def worth(self, promised: float, variation: float, caution: float = CAUTION) -> float:
        """The saving that may be promised; 0 where waiting is not worth it.

        Args:
            promised: Share that the forecast promises, uncorrected.
            variation: Standard deviation of the last weeks as a share of their mean.
            caution: Greatest chance of ending dirtier than at once.
        """
        saving = self.kept * max(0.0, promised)
        dirtier = self.chance_below(-saving / variation) if variation > 0 else 0.0
        return saving if saving >= LEAST_SAVING and dirtier <= caution else 0.0


@cache
def _shipped() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(data.text("green/promises.json"))
    return found


def promise_record(*, can_split: bool, will_replan: bool, length: int, slack: int) -> PromiseRecord:
    """The record of plans like this one, drawn between the lengths and slacks that were measured.

    Args:
        can_split: The job may be interrupted.
        will_replan: The plan is made anew every half hour.
        length: Slots of work.
        slack: Slots that it may wait.
    """
    content = _shipped()
    cells = content["cells"][f"{'split' if can_split else 'whole'}-{'replanned' if will_replan else 'once'}"]
    table = np.array([[[cell["kept"], *cell["residuals"]] for cell in row] for row in cells])
    at_length = _between(table, np.log(content["length"]), np.log(max(1, length)))
    mixed = _between(at_length, np.log(content["slack"]), np.log(max(1, slack)))
    return PromiseRecord(float(mixed[0]), mixed[1:])


def _between(table: Floats, places: Floats, place: float) -> Floats:
    """Straight line between the rows of a table; the outer rows reach on."""
    place = float(np.clip(place, places[0], places[-1]))
    above = max(1, int(np.searchsorted(places, place)))
    share = (place - places[above - 1]) / (places[above] - places[above - 1])
    return np.asarray((1 - share) * table[above - 1] + share * table[above])
