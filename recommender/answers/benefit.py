"""The expected benefit of tuning: throughput, memory, energy and carbon, each with interval and kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.entities import Kind, Problem
from kg.nouns.gain import NORMAL_90
from kg.nouns.situation import StatedFact
from kg.terms.units import J_PER_KWH
from recommender.cost_model.priced_step import PricedStep

THROUGHPUT = "throughput"
"""The quantity of a gain in what is done a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected(JsonNoun):
    """A factor that is expected of a change, after over before.

    Attributes:
        factor: Expected; above 1 is more.
        low: 5 % quantile.
        high: 95 % quantile.
        kind: How it is known: measured, published, modelled, or several with a plus.
        reason: What it rests on, in words.
    """

    factor: float = field(metadata=in_json(digits=4))
    low: float = field(metadata=in_json(digits=4))
    high: float = field(metadata=in_json(digits=4))
    kind: str
    reason: str

    @classmethod
    def of(cls, log: float, spread: float, kind: str, reason: str) -> Expected:
        """Make one from a log and its standard deviation."""
        reach = NORMAL_90 * spread
        return cls(
            factor=math.exp(log),
            low=math.exp(log - reach),
            high=math.exp(log + reach),
            kind=kind,
            reason=reason,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Benefit:
    """The expected benefit of one recommendation, or of all of them together.

    Attributes:
        id: Of the recommendation; empty for all together.
        title: What it is.
        gain: Factor of what is to improve, above 1 is better; None if nothing supports one.
        memory: Factor of memory on the fullest device; None if it is not modelled.
        energy: Factor of energy per token or sample; None likewise.
        carbon_g: Grams of CO2 equivalent saved per million tokens or samples, with interval; None where
            no intensity was given or energy is not known.
        quantity: What the gain is in: ``"throughput"``, or another metric such as ``"tpot"``.
        rests_on: What it rests on.
    """

    id: str
    title: str
    gain: Expected | None
    memory: Expected | None
    energy: Expected | None
    carbon_g: tuple[float, float, float] | None
    quantity: str = THROUGHPUT
    rests_on: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain content; what is unknown is null. The gain stands under the name of its quantity."""
        return {
            "id": self.id or None,
            "title": self.title,
            "gain_in": self.quantity,
            THROUGHPUT: None,
            self.quantity: None if self.gain is None else self.gain.to_json(),
            "memory": None if self.memory is None else self.memory.to_json(),
            "energy_per_unit": None if self.energy is None else self.energy.to_json(),
            "carbon_saved_g_per_million": None
            if self.carbon_g is None
            else dict(zip(("expected", "low", "high"), self.carbon_g, strict=True)),
            "rests_on": list(self.rests_on),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The expected benefits of tuning for one question.

    Attributes:
        problem: The question.
        now: The current configuration by the cost model, the start of the plan where nothing runs now; None
            if it cannot be estimated.
        benefits: Of each recommendation, in their order.
        together: Of all that can be set together; None if fewer than two can.
        intensity_g_per_kwh: Of the grid; None if not given.
        version: The knowledge it rests on.
        notes: What could not be said and why.
        assumed: What is assumed where the question is silent.
        start: The layout of the start that stands for what runs now, and its framework; empty for none.
    """

    problem: Problem
    now: PricedStep | None
    benefits: tuple[Benefit, ...]
    together: Benefit | None
    intensity_g_per_kwh: float | None
    version: str
    notes: tuple[str, ...] = ()
    assumed: tuple[StatedFact, ...] = ()
    start: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain content; what is unknown is null."""
        now = self.now
        per_million = None if now is None else carbon_g(now, self.intensity_g_per_kwh)
        return {
            "problem": self.problem.id,
            "model": self.problem.workload.model,
            "hardware": self.problem.hardware.name,
            "count": self.problem.hardware.count,
            "objective": self.problem.objective.metric,
            "knowledge_version": self.version,
            "intensity_g_per_kwh": self.intensity_g_per_kwh,
            "start": self.start or None,
            "now": None
            if now is None
            else {
                "kind": str(Kind.MODELLED),
                "throughput": now.throughput,
                "throughput_unit": now.unit,
                "throughput_interval_90": [
                    now.throughput * math.exp(s * NORMAL_90 * now.spread) for s in (-1, 1)
                ],
                "memory_bytes": now.memory_bytes,
                "memory_capacity_bytes": now.capacity_bytes,
                "fits": now.fits,
                "power_w": now.power_w,
                "energy_per_unit_j": now.energy_per_unit_j,
                "carbon_g_per_million": per_million,
            },
            "predictions": [item.to_json() for item in self.benefits],
            "together": None if self.together is None else self.together.to_json(),
            "notes": list(self.notes),
            "assumed": [fact.to_json() for fact in self.assumed],
        }

    def __str__(self) -> str:
        from recommender.report.plain_text import section_text

        return section_text("prediction", self.to_json())


def carbon_g(now: PricedStep, intensity_g_per_kwh: float | None) -> float | None:
    """Grams of CO2 equivalent per million tokens or samples; None where energy or grid is not known."""
    if intensity_g_per_kwh is None or now.energy_per_unit_j is None:
        return None
    return now.energy_per_unit_j * 1e6 / J_PER_KWH * intensity_g_per_kwh
