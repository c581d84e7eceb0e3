"""Correction of steps that nobody has run by measured runs: by how much the cost model is off there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kg.nouns.codec import JsonNoun
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.workloads.steps import scaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from recommender.cost_model.measured.step_place import PricedRun, StepPlace
    from recommender.cost_model.workloads.steps import Steps
UNLIKE = math.log(3)
"""A run that took three times as long as its price says, or a third, is something else than was understood;
a choice."""
OF_THE_PRICE = 0.28
"""Standard deviation of the error of a price, in nats; fitted with the scales below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorScales:
    """Scales of the errors of prices, as published runs of GPUs make most likely.

    ``benchmarks/answers/measured_starts.py`` fits them, and again without the asked model.

    Attributes:
        price: Standard deviation of the error of a price, in nats.
        problem: Standard deviation of what the runs of one problem have in common beside.
        noise: Standard deviation of a run repeated; a choice, the fit has less.
        device: Distance of another device: with each 1 the correlation of two errors falls e-fold.
        engine: That of another engine.
        precision: That of another number format.
        length: That of a doubling of a length.
        layout: That of a doubling of a size of the layout.
        load: That of a doubling of the load.
    """

    price: float = OF_THE_PRICE
    problem: float = 0.07
    noise: float = 0.03
    device: float = 1.0
    engine: float = 0.84
    precision: float = 0.11
    length: float = 0.03
    layout: float = 0.12
    load: float = 0.08

    def covariance(self, some: Sequence[StepPlace], others: Sequence[StepPlace]) -> Floats:
        """Covariance of the errors of two lists of prices, (n, m)."""
        names, sizes = _features(some)
        other_names, other_sizes = _features(others)
        lengths = sizes.shape[1] - 5
        differ = (names[:, None, :] != other_names[None, :, :]) & (names[:, None, :] != "")
        of_names = np.array([self.device, self.engine, self.precision])
        apart = (differ & (other_names[None, :, :] != "")) @ of_names
        doublings = np.abs(sizes[:, None, :] - other_sizes[None, :, :])
        apart = apart + doublings @ np.array([*[self.length] * lengths, *[self.layout] * 4, self.load])
        return np.asarray(self.price**2 * np.exp(-apart), dtype=np.float64)

    def among(self, runs: Sequence[PricedRun]) -> Floats:
        """Covariance of what runs show, (n, n)."""
        places = [run.place for run in runs]
        groups = np.array([run.group for run in runs])
        shared = self.problem**2 * (groups[:, None] == groups[None, :])
        repeated = self.noise**2 * np.eye(len(runs))
        return np.asarray(self.covariance(places, places) + shared + repeated, dtype=np.float64)


SCALES = ErrorScales()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLevel(JsonNoun):
    """Level of a model at a site, by its own runs of others, alike for each configuration.

    Attributes:
        log_factor: Log of what its prices are multiplied by.
        spread: Standard deviation of the log of the time then.
        basis: What it rests on, in words.
        usual: Standard deviation without them.
    """

    log_factor: float
    spread: float
    basis: str
    usual: float = math.inf

    def beside(self, log_times: Floats, deviations: Floats) -> tuple[Floats, Floats]:
        """Expected logs and their deviations with what this level adds to other evidence of one error."""
        own = 1 / self.spread**2
        precision = 1 / deviations**2 + max(own - 1 / self.usual**2, 0.0)
        return (log_times / deviations**2 + self.log_factor * own) / precision, 1 / np.sqrt(precision)


@dataclass(frozen=True, kw_only=True)  # no slots: what is computed once needs a dictionary
class RunCorrection:
    """The error of prices around a question: a Gaussian process over measured runs of the same model.

    Runs of other models made the choice of a layout worse: they move all of its configurations alike.

    Attributes:
        runs: Near the question.
        scales: How errors go together.
        level: What own runs of other models say; None without any.
    """

    runs: tuple[PricedRun, ...] = ()
    scales: ErrorScales = SCALES
    level: SiteLevel | None = None

    @property
    def is_empty(self) -> bool:
        """True if it corrects nothing."""
        return not self.runs and self.level is None

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        return self._solved(self.scales)

    def _scales(self, usual: float) -> ErrorScales:
        """The scales, with the error of an engine that runs less as modelled than any class of prices."""
        return replace(self.scales, price=usual) if usual > PHYSICS["spread"] else self.scales

    def _solved(self, scales: ErrorScales) -> tuple[Floats, Floats]:
        """Inverse of the covariance of the runs, (n, n), and that times their log ratios, (n,)."""
        inverse = np.asarray(np.linalg.inv(scales.among(self.runs)), dtype=np.float64)
        return inverse, inverse @ np.array([run.log_ratio for run in self.runs])

    def at(self, places: Sequence[StepPlace], usual: float = 0.0) -> tuple[Floats, Floats]:
        """Expected log of the measured over the modelled time, and its standard deviation, each (n,).

        Args:
            places: Of the steps.
            usual: Standard deviation of the price as its engine and device have it.
        """
        scales = self._scales(usual)
        if not self.runs or not places:
            return np.zeros(len(places)), np.full(len(places), scales.price)
        inverse, weights = self._posterior if scales is self.scales else self._solved(scales)
        to = scales.covariance(places, [run.place for run in self.runs])
        variance = scales.price**2 - np.einsum("ij,ij->i", to @ inverse, to)
        return to @ weights, np.sqrt(np.maximum(variance, scales.noise**2))

    def corrected(self, steps: Steps, places: Sequence[StepPlace]) -> Steps:
        """Prices as the runs correct them, with the share of their error that the runs leave.

        Args:
            steps: The prices.
            places: Of each.
        """
        if self.is_empty:
            return steps
        log_times, deviations = self.at(places, steps.spread)
        price = self._scales(steps.spread).price
        doubt, basis = deviations / price if self.runs else None, steps.basis
        deviations = np.minimum(deviations, steps.spread) if self.runs else np.full(len(places), steps.spread)
        if self.level is not None:
            log_times, deviations = self.level.beside(log_times, deviations)
            basis = self.level.basis
        return replace(
            scaled(steps, np.exp(log_times)),
            doubt=doubt,
            basis=basis,
            near_spread=np.minimum(deviations, steps.spread),
        )


def _features(places: Sequence[StepPlace]) -> tuple[NDArray[np.str_], Floats]:
    names = np.array([(one.device, one.engine, one.precision) for one in places])
    sizes = np.array([(*one.lengths, *one.layout, one.load) for one in places], dtype=np.float64)
    return names, sizes
