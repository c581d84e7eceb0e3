"""Time per output token of a deployment: modelled parts scaled to measured ones, and what remains.

Measured time is the sum of the modelled parts, each with a factor of its own, times what remains. The factors
are fitted to the measured rows (a prior holds them near 1); the log of what remains is a Gaussian process
over layout, load and lengths, part of it common to all hardware, models and frameworks, part of it their
own. So a new device or model borrows what the known ones share.

n, m: rows known and asked. P: parts.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

import data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KINDS = ("device", "architecture", "vendor", "model", "framework", "precision")
"""Columns of :attr:`StepFeatures.kinds`."""
SPREAD_OF_FACTORS = 1.0
"""Standard deviation of the log of a part's factor before anything is measured; a choice."""
SPREAD_OF_TIMES = 0.2
"""Standard deviation of the log of a measured time while the factors are fitted; a choice."""
_ROUNDS = 15
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, slots=True)
class StepFeatures:
    """Features of configurations.

    Attributes:
        kinds: Names by number, equal numbers for equal names, shape (n, 6), columns as :data:`KINDS`.
        sizes: Log2 of requests in flight, tensor split, input and output length, shape (n, 4).
        switches: 1 where experts are spread, attention runs in replicas, tokens are drafted, shape (n, 3).
    """

    kinds: NDArray[np.int64]
    sizes: Floats
    switches: Floats

    def part(self, rows: NDArray[np.int64]) -> StepFeatures:
        """Some of the rows."""
        return StepFeatures(self.kinds[rows], self.sizes[rows], self.switches[rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKernel:
    """How far two configurations are alike; fitted by marginal likelihood (``tools/fit_step_rates.py``).

    Attributes:
        vendor: Weight of the same vendor, against 1 for the same device.
        architecture: The same of the architecture.
        any_device: The same of any device.
        other_model: Likeness of another model, against 1 for the same.
        other_framework: The same of frameworks.
        other_precision: The same of number formats.
        common: Variance that all configurations share.
        own: Variance that those of one device, model, framework and precision share.
        switched: Variance of switches, whatever the sizes.
        layout: Variance of a layout everywhere.
        layout_of_model: Variance of a layout with one model and framework.
        layout_of_all: Variance of a layout with one device, model, framework and precision.
        noise: Variance of a single measured row.
        concurrency: Inverse length of a doubling of the requests.
        tensor: The same of the tensor split.
        input_len: The same of the input.
        output_len: The same of the output.
        experts: Distance of spread experts from those that are not.
        replicas: The same of attention in replicas.
        drafts: The same of drafted tokens.
    """

    vendor: float
    architecture: float
    any_device: float
    other_model: float
    other_framework: float
    other_precision: float
    common: float
    own: float
    switched: float
    layout: float
    layout_of_model: float
    layout_of_all: float
    noise: float
    concurrency: float
    tensor: float
    input_len: float
    output_len: float
    experts: float
    replicas: float
    drafts: float

    @classmethod
    def shipped(cls) -> Self:
        """The kernel that ships."""
        return cls(**json.loads(data.text("retrieval/step_rates.json")))

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """A kernel from its numbers in the order of the fields."""
        return cls(**dict(zip([item.name for item in fields(cls)], map(float, values), strict=True)))

    def values(self) -> list[float]:
        """Its numbers in the order of the fields."""
        return list(asdict(self).values())

    def covariance(self, one: StepFeatures, other: StepFeatures) -> Floats:
        """Covariance of the rows of ``one`` with those of ``other``, shape (n, m)."""
        same = dict(
            zip(
                KINDS,
                (one.kinds.T[:, :, None] == other.kinds.T[:, None, :]).astype(np.float64),
                strict=True,
            )
        )
        squared = np.zeros((len(one.sizes), len(other.sizes)))
        scales = (self.concurrency, self.tensor, self.input_len, self.output_len)
        for column, scale in enumerate(scales):
            squared += (scale * (one.sizes[:, column, None] - other.sizes[None, :, column])) ** 2
        apart = np.zeros_like(squared)
        for column, distance in enumerate((self.experts, self.replicas, self.drafts)):
            apart += distance * np.abs(one.switches[:, column, None] - other.switches[None, :, column])
        switched = np.exp(-apart)
        layout = np.exp(-0.5 * squared) * switched
        hardware = (
            self.vendor * same["vendor"]
            + self.architecture * same["architecture"]
            + same["device"]
            + self.any_device
        ) / (self.vendor + self.architecture + 1 + self.any_device)
        model = (same["model"] + self.other_model) / (1 + self.other_model)
        framework = (same["framework"] + self.other_framework) / (1 + self.other_framework)
        precision = (same["precision"] + self.other_precision) / (1 + self.other_precision)
        own = hardware * model * framework * precision
        return np.asarray(
            self.common
            + self.own * own
            + self.switched * switched * framework
            + layout * (self.layout + self.layout_of_model * framework * model + self.layout_of_all * own)
        )

    @property
    def variance(self) -> float:
        """Variance of one configuration, without noise."""
        parts = (self.common, self.own, self.switched, self.layout, self.layout_of_model, self.layout_of_all)
        return sum(parts)


@dataclass(frozen=True, slots=True)
class StepRates:
    """Corrected times of configurations.

    Attributes:
        kernel: Likeness of configurations.
        factors: Of the modelled parts, shape (P,).
        known: Features of the measured rows; None where nothing is measured.
        root: Cholesky root of their covariance, shape (n, n).
        shares: What each adds to a prediction, shape (n,).
    """

    kernel: StepKernel
    factors: Floats
    known: StepFeatures
    root: Floats
    shares: Floats

    @classmethod
    def fit(cls, kernel: StepKernel, known: StepFeatures, parts: Floats, times: Floats) -> Self:
        """Rates from measured rows.

        Args:
            kernel: Likeness of configurations.
            known: Features of the rows.
            parts: Modelled seconds by part, shape (n, P).
            times: Measured seconds, shape (n,).
        """
        factors = fit_factors(known, parts, times)
        remains = np.log(times) - np.log(parts @ factors)
        covariance = kernel.covariance(known, known) + kernel.noise * np.eye(len(times))
        root = np.linalg.cholesky(covariance)
        shares = np.linalg.solve(root.T, np.linalg.solve(root, remains))
        return cls(kernel, factors, known, np.asarray(root), np.asarray(shares))

    def predict(self, asked: StepFeatures, parts: Floats) -> tuple[Floats, Floats]:
        """Expected log seconds and their standard deviation, shapes (m,).

        Args:
            asked: Features.
            parts: Modelled seconds by part, shape (m, P).
        """
        covariance = self.kernel.covariance(asked, self.known)
        mean = covariance @ self.shares + np.log(parts @ self.factors)
        explained = np.linalg.solve(self.root, covariance.T)
        variance = self.kernel.variance + self.kernel.noise - (explained**2).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, _LEAST_VARIANCE))


def fit_factors(known: StepFeatures, parts: Floats, times: Floats) -> Floats:
    """The factors of the parts that explain measured times best; Gauss-Newton on their logarithms.

    Rows of one device, model, framework and precision count together like the root of their number.
    """
    _, group, counts = np.unique(known.kinds, axis=0, return_inverse=True, return_counts=True)
    weights = 1 / np.sqrt(counts[group.ravel()])
    logs = np.zeros(parts.shape[1])
    for _ in range(_ROUNDS):
        scaled = parts * np.exp(logs)
        total = scaled.sum(axis=1)
        slopes = scaled / total[:, None]
        apart = np.log(times) - np.log(total)
        weighted = (slopes * weights[:, None]).T
        matrix = weighted @ slopes / SPREAD_OF_TIMES**2 + np.eye(len(logs)) / SPREAD_OF_FACTORS**2
        logs = logs + np.linalg.solve(
            matrix, weighted @ apart / SPREAD_OF_TIMES**2 - logs / SPREAD_OF_FACTORS**2
        )
    return np.asarray(np.exp(logs))
