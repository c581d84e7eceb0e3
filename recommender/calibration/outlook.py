"""Forecasts of the gain of a recommendation, learned from answers that could be checked.

Known problems were asked about as if their hardware or task were new
(:mod:`tools.fitting.fit_outlook`); the errors of the answers are explained by their circumstances.
That gives each answer

    an interval of its gain:   gain + scale(circumstances) * quantiles of (error / scale), by distance class,
    an expected log regret of the first k proposals, and with it the reason to abstain.

The quantiles are those of split conformal prediction with whole devices as blocks: each device of an operator
counts as the square root of its problems, so that no large table speaks for all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

import data
from kg.triples.hardware_tree import Distance
from recommender.calibration.monotone import MonotoneModel

LEVELS = (0.01, 0.025, 0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.975, 0.99)
"""Quantiles that are kept of the errors over their scale."""

LOW, HIGH = 0.04, 0.96
"""Quantiles that bound a 90 % interval: a device that was not among those checked errs a little more than
they did, and with 0.05 and 0.95 the worst class of hardware was covered 85 times in 100."""

LISTED = (1, 3, 5, 10)
"""Lengths of a list for which the regret is expected."""

ABSTAIN_ABOVE = 0.35
"""Expected log regret of the first proposal above which it is no recommendation, in nats: it would be 42 %
slower than the best. Chosen on the curve of risk against share answered (benchmarks/answers/unseen.py)."""

MOST_OF_ONE = 300
"""Questions of one operator on one device that are learned from; more of them say the same."""

MOST_SCALE = 1.5
"""Mean error of an expected log gain that is believed at most, in nats: no class of hardware had more."""

_CAP = 2.5
"""An error counts at most this much when its scale is fitted, in nats."""
_REGRET_CAP = 1.5
_FLOOR = 0.02
_BORROWED = 5
"""Devices at which the errors of a distance class count as much as those of all classes together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One recommendation beside the truth.

    Attributes:
        operator: What was asked about.
        device: Hardware it was asked for.
        distance: How far the nearest evidence was.
        row: Its circumstances, shape (F,).
        gain: Log gain that was expected of the first proposal over the reference.
        truth: Log gain that it had; nan if it was not measured.
        regrets: True log regret of the best of the first k, k of :data:`LISTED`; nan where none was measured.
    """

    operator: str
    device: str
    distance: Distance
    row: NDArray[np.float64]
    gain: float
    truth: float
    regrets: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast of a log gain, in nats.

    Attributes:
        expected: Median.
        low: Lower end of the 90 % interval.
        high: Upper end.
        probability: That it helps at all, between the outermost of :data:`LEVELS`.
    """

    expected: float
    low: float
    high: float
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Forecasts of gains and regrets, by circumstances.

    Attributes:
        scale: Mean absolute error of an expected log gain, in nats.
        quantiles: Of error over scale, at :data:`LEVELS`, by distance class.
        regrets: Expected log regret of the best of the first k, by k.
        checked: Questions it rests on.
        devices: Devices it rests on.
        origin: Where it comes from.
    """

    scale: MonotoneModel
    quantiles: Mapping[Distance, NDArray[np.float64]]
    regrets: Mapping[int, MonotoneModel]
    checked: int
    devices: int
    origin: str

    @classmethod
    def fit(cls, checked: Sequence[Checked], features: Sequence[str], origin: str) -> Self:
        """Fit an outlook to checked recommendations.

        Args:
            checked: Recommendations whose truth is known.
            features: Names of the circumstances.
            origin: Where they come from, in words.

        Raises:
            ValueError: None of them was measured.
        """
        checked = _thinned(checked)
        measured = [item for item in checked if np.isfinite(item.truth)]
        if not measured:
            raise ValueError("none of the recommendations was measured")
        rows = np.array([item.row for item in measured])
        counts = _counts(measured)
        errors = np.array([item.truth - item.gain for item in measured])
        scale = MonotoneModel.fit(features, rows, np.minimum(np.abs(errors), _CAP), counts)
        relative = errors / (scale.expect(rows) + _FLOOR)
        everywhere = _quantiles(relative, counts)
        quantiles = {}
        for distance in Distance:
            mine = np.array([item.distance is distance for item in measured])
            blocks = len({(m.operator, m.device) for m in measured if m.distance is distance})
            weight = blocks / (blocks + _BORROWED)
            quantiles[distance] = (
                everywhere
                if not blocks
                else (weight * _quantiles(relative[mine], counts[mine]) + (1 - weight) * everywhere)
            )
        regrets = {}
        for place, k in enumerate(LISTED):
            finite = [item for item in checked if np.isfinite(item.regrets[place])]
            values = np.array([min(item.regrets[place], _REGRET_CAP) for item in finite])
            regrets[k] = MonotoneModel.fit(
                features, np.array([i.row for i in finite]), values, _counts(finite)
            )
        return cls(
            scale=scale,
            quantiles=quantiles,
            regrets=regrets,
            checked=len(measured),
            devices=len({item.device for item in measured}),
            origin=origin,
        )

    def forecast(self, row: NDArray[np.float64], distance: Distance, gain: float) -> Forecast:
        """Forecast a log gain that the ranking puts at ``gain``.

        Args:
            row: Circumstances, shape (F,).
            distance: How far the nearest evidence is.
            gain: In nats.
        """
        scale, quantiles = self._scale(row), self.quantiles[distance]
        low, middle, high = (gain + scale * np.interp((LOW, 0.5, HIGH), LEVELS, quantiles)).tolist()
        return Forecast(
            expected=middle,
            low=low,
            high=high,
            probability=float(1 - np.interp(-gain / scale, quantiles, LEVELS)),
        )

    def regret(self, row: NDArray[np.float64]) -> dict[int, float]:
        """Return the expected log regret of the best of the first k, by k; it never grows with k."""
        regrets: dict[int, float] = {}
        for k in LISTED:
            regrets[k] = min([float(self.regrets[k].expect(row)), *regrets.values()])
        return regrets

    def _scale(self, row: NDArray[np.float64]) -> float:
        return min(float(self.scale.expect(row)), MOST_SCALE) + _FLOOR

    @classmethod
    def shipped(cls, features: Sequence[str]) -> Self:
        """Return the outlook of the package."""
        return cls.from_json(json.loads(data.text("retrieval/outlook.json")), features)

    @classmethod
    def from_json(cls, content: Mapping[str, object], features: Sequence[str]) -> Self:
        """Return the outlook that :meth:`to_json` gave.

        Raises:
            KeyError: It lacks a circumstance or a part.
            TypeError: A part is not what it should be.
            ValueError: A class has another number of quantiles.
        """
        scale, quantiles, regrets = content["scale"], content["quantiles"], content["regrets"]
        checked, devices = content["checked"], content["devices"]
        if not (isinstance(scale, dict) and isinstance(quantiles, dict) and isinstance(regrets, dict)):
            raise TypeError("outlook: scale, quantiles and regrets are objects")
        if not (isinstance(checked, int) and isinstance(devices, int)):
            raise TypeError("outlook: checked and devices are whole numbers")
        by_class = {distance: np.asarray(quantiles[distance.name.lower()], float) for distance in Distance}
        if any(values.shape != (len(LEVELS),) for values in by_class.values()):
            raise ValueError(f"outlook: each class has {len(LEVELS)} quantiles")
        return cls(
            scale=MonotoneModel.from_json(scale, features),
            quantiles=by_class,
            regrets={k: MonotoneModel.from_json(regrets[str(k)], features) for k in LISTED},
            checked=checked,
            devices=devices,
            origin=str(content["origin"]),
        )

    def to_json(self) -> dict[str, object]:
        """Return the outlook as a JSON object."""
        return {
            "origin": self.origin,
            "checked": self.checked,
            "devices": self.devices,
            "levels": list(LEVELS),
            "quantiles": {
                distance.name.lower(): [round(float(value), 4) for value in values]
                for distance, values in self.quantiles.items()
            },
            "scale": self.scale.to_json(),
            "regrets": {str(k): model.to_json() for k, model in self.regrets.items()},
        }


def _thinned(items: Sequence[Checked]) -> list[Checked]:
    """Take every n-th of an operator on a device that has more than :data:`MOST_OF_ONE`."""
    blocks: dict[tuple[str, str], list[Checked]] = {}
    for item in items:
        blocks.setdefault((item.operator, item.device), []).append(item)
    return [item for block in blocks.values() for item in block[:: 1 + (len(block) - 1) // MOST_OF_ONE]]


def _counts(items: Sequence[Checked]) -> NDArray[np.float64]:
    """Return weights: all questions of an operator on a device count as the square root of their number."""
    _, block, size = np.unique(
        [f"{item.operator}\n{item.device}" for item in items], return_inverse=True, return_counts=True
    )
    return np.asarray(1 / np.sqrt(size[block]), np.float64)


def _quantiles(values: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order]) / counts.sum()
    at = np.minimum(np.searchsorted(reached, LEVELS), len(values) - 1)
    return np.asarray(values[order][at], np.float64)
