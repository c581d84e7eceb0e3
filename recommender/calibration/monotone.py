"""A positive quantity that grows with what is far or uncertain: one weight a feature, none below zero.

    E[y] = exp(bias + sum over features f of weight[f] * x[f]),   weight[f] >= 0

A weight says by which factor one unit of a feature raises the expectation, so an answer can be taken apart
for a reader, and more of what is bad never makes an answer look better. Fitting and answering are NumPy.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_STEPS = 600
_RIDGE = 0.003
_LOWEST, _HIGHEST = -6.0, 1.5
"""Natural logs between which an expectation stays: 0.0025 to 4.5. Beyond, the cases say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneModel:
    """A model of the expectation of a positive quantity.

    Attributes:
        features: Names, in the order of the columns.
        bias: Natural log of the expectation where every feature is 0.
        weights: One a feature, shape (F,), none below 0.
    """

    features: tuple[str, ...]
    bias: float
    weights: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        features: Sequence[str],
        rows: NDArray[np.float64],
        values: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> Self:
        """Fit the weights that explain ``values`` best (quasi-Poisson with a small ridge, projected steps).

        Args:
            features: F names.
            rows: Shape (n, F).
            values: Shape (n,), none below 0.
            counts: How much each row counts, shape (n,), above 0.

        Raises:
            ValueError: There are no rows.
        """
        if not len(rows):
            raise ValueError("nothing to fit a model to")
        share = counts / counts.sum()
        mean, deviation = share @ rows, np.sqrt(share @ (rows - share @ rows) ** 2)
        varies = deviation > 1e-9
        scaled = np.where(varies, (rows - mean) / np.where(varies, deviation, 1.0), 0.0)
        weights = np.zeros(rows.shape[1])
        bias = math.log(max(1e-6, float(share @ values)))
        for _ in range(_STEPS):
            expected = share * np.exp(np.clip(bias + scaled @ weights, _LOWEST, _HIGHEST))
            over = expected - share * values
            curvature = max(1e-9, float((expected @ scaled**2).sum()))
            bias -= float(over.sum()) / max(1e-9, float(expected.sum()))
            weights = np.maximum(0.0, weights - (scaled.T @ over + _RIDGE * weights) / curvature)
        unscaled = np.where(varies, weights / np.where(varies, deviation, 1.0), 0.0)
        return cls(features=tuple(features), bias=bias - float(unscaled @ mean), weights=unscaled)

    def expect(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expectation of each row; ``rows`` has shape (..., F), the result (...)."""
        logs = np.clip(self.bias + rows @ self.weights, _LOWEST, _HIGHEST)
        return np.asarray(np.exp(logs), np.float64)

    def factors(self, row: NDArray[np.float64]) -> dict[str, float]:
        """Return the factor by which each feature raises the expectation of a row, largest first."""
        parts = np.exp(self.weights * row)
        return {self.features[at]: float(parts[at]) for at in np.argsort(-parts, kind="stable").tolist()}

    def to_json(self) -> dict[str, object]:
        """Return the model as a JSON object."""
        weights = {name: round(float(w), 6) for name, w in zip(self.features, self.weights, strict=True)}
        return {"bias": round(self.bias, 6), "weights": weights}

    @classmethod
    def from_json(cls, content: Mapping[str, object], features: Sequence[str]) -> Self:
        """Return the model that :meth:`to_json` gave.

        Args:
            content: The JSON object.
            features: What it must have weights for, in the order of the columns.

        Raises:
            TypeError: The content is not of a model.
            KeyError: It lacks a feature.
        """
        weights, bias = content["weights"], content["bias"]
        if not isinstance(weights, dict) or not isinstance(bias, int | float):
            raise TypeError("model: weights is an object and bias a number")
        column = np.array([float(weights[name]) for name in features])
        return cls(features=tuple(features), bias=float(bias), weights=np.maximum(0.0, column))
