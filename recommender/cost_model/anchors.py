"""Measured steps that estimates are anchored on: what physics leaves over, by engine and device.

The log of measured over modelled time is a sum of effects: one of the engine, one of it on a device, two of
who measured, and noise with heavy tails. Others (its version, the part of serving, architecture and model) do
not carry to what nobody measured: rows are further off with them (docs/figures-notes.md). Each effect is
drawn from a normal distribution around zero, so what was measured rarely stays near what it belongs to.
Correction and spread follow from that (a mixed model: Henderson 1975).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import NDArray

import data
from kg.atomic_files import write_text
from kg.errors import InputError
from kg.nouns.gain import NORMAL_90
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_of

EFFECTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "engine": ("phase", "engine"),
        "device": ("phase", "engine", "device"),
        "site": ("phase", "site"),
        "system": ("phase", "site", "engine", "device", "model"),
    }
)
"""Effects, by what steps must share to have one in common."""

OF_SITES: Mapping[str, float] = MappingProxyType({"site": 0.2, "system": 0.3})
"""Standard deviations of what one site's steps share. Published tables of one setting disagree by a factor of
1.33 in the median, which is 0.2 each from their middle; physics is off by some 0.35 on systems nobody
measured, so the rest is the system's (``benchmarks/cost_models/end_to_end.py``)."""

TAILED = 2.132 / NORMAL_90
"""The 90 % interval of Student's t with ``anchor_tail`` degrees over that of a normal distribution."""

STEPS_FILE = "steps.json"
OWN_SITE = "own"
"""Site of whoever calibrates."""
SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKey:
    """Key by which anchors tell steps apart.

    Attributes:
        phase: ``"training"`` or ``"serving"``.
        engine: Engine or framework, such as ``"vllm-ascend"``; empty if not stated.
        device: Id of the device.
        architecture: Kind of network.
        model: Id of the model.
        site: The site that measured it.
    """

    phase: str
    engine: str = ""
    device: str = ""
    architecture: str = ""
    model: str = ""
    site: str = ""

    def effect(self, name: str) -> tuple[str, ...] | None:
        """Name of the effect; None where a part of it is not stated."""
        values = tuple(getattr(self, part) for part in EFFECTS[name])
        return values if all(values) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """A measured step beside its physics.

    Attributes:
        key: What it is of.
        log_ratio: Log of measured over modelled time.
        source: Where it was published, or the row of a file.
        spread: Standard deviation of physics in its class where no published step of its phase tells; else 0.
    """

    key: StepKey
    log_ratio: float
    source: str = ""
    spread: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Correction of one step by anchors.

    Attributes:
        log_factor: Log of what modelled times are multiplied by.
        spread: Standard deviation of the log of the time.
        basis: What it rests on, in words.
    """

    log_factor: float
    spread: float
    basis: str = ""

    @property
    def factor(self) -> float:
        """Factor on modelled times."""
        return math.exp(self.log_factor)


@dataclass(frozen=True, kw_only=True)
class LeftOutErrors:
    """Errors of measured steps when their source was left out.

    Attributes:
        by_kind: By :func:`kind_of`, the standard deviation within 1.645 of which nine tenths of them lie.
        overall: The same of all of them.
        of_new_engines: The same when all steps of their engine were left out.
        variance: What the effects made expect in the mean.
    """

    by_kind: Mapping[str, float] = field(default_factory=dict)
    overall: float = 0.0
    of_new_engines: float = 0.0
    variance: float = 0.0

    def spread(self, key: StepKey, variance: float, *, engine_measured: bool = True) -> float:
        """Standard deviation of a step: that of its kind, and what is known less of it than of those.

        Args:
            key: What it is of.
            variance: What the effects make expect of it.
            engine_measured: Whether a step of its engine was measured.
        """
        of_kind = self.by_kind.get(kind_of(key), self.overall)
        of_kind = of_kind if engine_measured else max(of_kind, self.of_new_engines)
        return math.sqrt(of_kind**2 + max(variance - self.variance, 0.0))


def kind_of(key: StepKey) -> str:
    """The phase of a step and the kind of its blocks: they differ in how far off physics is."""
    return f"{key.phase} of {key.architecture.split()[0] if key.architecture else 'any'}"


@dataclass(frozen=True, kw_only=True)
class Anchors:
    """Measured steps with the strengths of the effects that they share.

    Attributes:
        steps: The steps.
        deviations: Standard deviation of each effect, by the names of ``EFFECTS``, and ``"noise"``.
        errors: How far off they were when left out; what the spread of others' steps rests on.
        site: Site of whoever asks, whose own steps count for them.
        own_shares: Of classes, instead of those that ship: shares of their variance by effect.
    """

    steps: tuple[MeasuredStep, ...] = ()
    deviations: Mapping[str, float] = field(default_factory=dict)
    errors: LeftOutErrors = field(default_factory=LeftOutErrors)
    site: str = ""
    own_shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        """Inverse of the covariance of the steps with their noise, and that times their ratios."""
        ratios = np.array([step.log_ratio for step in self.steps])
        noise = np.array([self._noise(step.key) for step in self.steps])
        own = np.array([bool(step.key.site) for step in self.steps])
        inverse, _ = solved(shared(self.steps, self.deviations), ratios, noise, own)
        return inverse, inverse @ ratios

    @cached_property
    def _places(self) -> dict[str, dict[tuple[str, ...], list[int]]]:
        """The places of the steps that have each effect, by the effect's value."""
        places: dict[str, dict[tuple[str, ...], list[int]]] = {name: {} for name in EFFECTS}
        for place, step in enumerate(self.steps):
            for name, of_effect in places.items():
                if value := step.key.effect(name):
                    of_effect.setdefault(value, []).append(place)
        return places

    def _shared_with(self, key: StepKey) -> Floats:
        """Covariance of a step with each of the steps by the effects that they share, (n,)."""
        out = np.zeros(len(self.steps))
        for name, places in self._places.items():
            value = key.effect(name)
            out[places.get(value, []) if value else []] += self.deviations[name] ** 2
        return out

    def _noise(self, key: StepKey) -> float:
        return PHYSICS["own_noise"] if key.site else self.deviations["noise"]

    def correction(self, key: StepKey, usual: float = 0.0) -> Correction | None:
        """The correction of a step; None where no step of its phase was measured.

        Args:
            key: What it is of.
            usual: Standard deviation of physics in its class, which counts where no step is published.
        """
        near = [step for step in self.steps if step.key.phase == key.phase]
        if not near or all(step.spread for step in near):
            return self._own_correction(key, usual, near) if near and usual else None
        own = [step for step in near if step.key.site == self.site] if self.site else []
        asked = replace(key, site=self.site if own else "")
        engines = {step.key.engine for step in own}
        if not key.engine and len(engines) == 1:
            asked = replace(asked, engine=engines.pop())
        to = self._shared_with(asked)
        inverse, weights = self._posterior
        noise = self._noise(asked) ** 2
        # what is not stated has an effect all the same; who measures counts where that is the one who asks
        total = noise + sum(
            self.deviations[name] ** 2 for name in EFFECTS if asked.site or name not in OF_SITES
        )
        variance = max(total - float(to @ inverse @ to), noise)
        seen = any(step.key.engine == asked.engine for step in near) and bool(asked.engine)
        spread = self.errors.spread(asked, variance, engine_measured=seen)
        if own:  # three runs say nothing of the tails of their noise; kinds differ in how far off physics is
            kind = self.errors.by_kind.get(kind_of(key), self.errors.overall)
            share = min(1.0, kind / self.errors.overall) if self.errors.overall else 1.0
            spread = min(spread, TAILED * math.sqrt(variance) * share)
        return Correction(
            log_factor=float(to @ weights), spread=spread, basis=self._basis(asked, own or near)
        )

    def _own_correction(self, key: StepKey, usual: float, own: Sequence[MeasuredStep]) -> Correction:
        """The correction by own steps alone: effects are shares of what is usual in a class."""
        asked = MeasuredStep(key=replace(key, site=self.site), log_ratio=0.0, spread=usual)
        both = [*own, asked]
        shares = [self._shares(step.key) for step in both]
        covariance = np.zeros((len(both), len(both)))
        for name, same in sharing(both).items():
            deviations = np.sqrt([share[name] for share in shares])
            covariance += np.outer(deviations, deviations) * same
        to = covariance[-1, :-1]
        noisy = covariance[:-1, :-1] + np.diag([share["noise"] for share in shares[:-1]])
        weights = np.linalg.solve(noisy, to)
        ratios = np.array([step.log_ratio / step.spread for step in own])
        left = max(1 - float(to @ weights), shares[-1]["noise"])
        spread = min(usual, usual * TAILED * math.sqrt(left))  # three runs say nothing of their tails
        return Correction(
            log_factor=usual * float(ratios @ weights), spread=spread, basis=self._basis(asked.key, own)
        )

    def _shares(self, key: StepKey) -> Mapping[str, float]:
        """Shares of the variance in the class of a step, by the names of ``EFFECTS``, and ``"noise"``."""
        kind = key.phase.partition(" ")[0]
        return self.own_shares.get(kind) or physics_of(f"own_share.{kind}")

    def _basis(self, key: StepKey, near: Sequence[MeasuredStep]) -> str:
        engine = [step for step in near if step.key.engine == key.engine]
        if not key.engine or not engine:
            named = f"none of {key.engine}" if key.engine else "no engine is stated"
            return f"{_count(near)} of {key.phase}; {named}"
        place = [step for step in engine if step.key.device == key.device] or engine
        text = f"{_count(place)} of {key.engine}"
        return text + (
            f" on {key.device}" if place[0].key.device == key.device else f", none on {key.device}"
        )

    def with_own(self, steps: Sequence[MeasuredStep]) -> Self:
        """These and the steps of whoever asks, which count more for them."""
        return replace(self, steps=(*self.steps, *steps), site=OWN_SITE)

    def narrowed(self, others: Anchors | None = None) -> dict[StepKey, tuple[float, float]]:
        """The factor that holds nine of ten times, before and now, by own system and for others there."""
        before = shipped_anchors() if others is None else others
        found = {}
        own = {step.key: step.spread for step in self.steps if step.key.site and step.key.site == self.site}
        for key, usual in (own | {replace(key, model=""): usual for key, usual in own.items()}).items():
            was, now = before.correction(replace(key, site="")), self.correction(key, usual)
            if now is not None:
                spread = was.spread if was is not None else usual
                found[key] = math.exp(NORMAL_90 * spread), math.exp(NORMAL_90 * now.spread)
        return found

    @property
    def engines(self) -> frozenset[str]:
        """Engines that steps were measured with."""
        return frozenset(step.key.engine for step in self.steps if step.key.engine)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Anchors as :meth:`write` wrote them.

        Raises:
            InputError: Another schema version, or damaged.
        """
        try:
            return cls._from(path.read_text(encoding="utf-8"), str(path))
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as fault:
            raise InputError(f"{path}: no measured steps ({fault})", hint=_AGAIN) from None

    @classmethod
    def _from(cls, text: str, name: str) -> Self:
        held = json.loads(text)
        if held.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"{name}: measured steps of schema {held.get('schema_version')}, not {SCHEMA_VERSION}",
                hint=_AGAIN,
            )
        parts = {field.name for field in fields(StepKey)}
        steps = tuple(
            MeasuredStep(
                key=StepKey(**{name: row[name] for name in parts & row.keys()}),
                **{name: row[name] for name in row.keys() - parts},
            )
            for row in held["steps"]
        )
        errors = LeftOutErrors(**held["errors"])
        return cls(steps=steps, deviations=held["deviations"], errors=errors, site=held["site"])

    def write(self, path: Path) -> None:
        """Write the anchors as JSON, one step a line."""
        rows = [
            {
                **asdict(step.key),
                "log_ratio": round(step.log_ratio, 5),
                "source": step.source,
                **({"spread": step.spread} if step.spread else {}),
            }
            for step in self.steps
        ]
        head = {
            "schema_version": SCHEMA_VERSION,
            "site": self.site,
            "errors": {
                "by_kind": {name: round(value, 4) for name, value in sorted(self.errors.by_kind.items())},
                "overall": round(self.errors.overall, 4),
                "of_new_engines": round(self.errors.of_new_engines, 4),
                "variance": round(self.errors.variance, 5),
            },
            "deviations": {name: round(value, 4) for name, value in self.deviations.items()},
        }
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        write_text(path, f'{json.dumps(head)[:-1]},\n "steps": [\n  {lines}\n ]}}\n')


_AGAIN = "write them again: tunegraph calibrate --own, or --steps RUNS.csv"
UNANCHORED = Anchors()
"""No measured steps: physics alone."""


def shared(steps: Sequence[MeasuredStep], deviations: Mapping[str, float]) -> Floats:
    """Covariance of the steps by the effects that they share, (n, n)."""
    out = np.zeros((len(steps), len(steps)))
    for name, same in sharing(steps).items():
        out = out + deviations[name] ** 2 * same
    return out


def sharing(steps: Sequence[MeasuredStep]) -> dict[str, Floats]:
    """Matrices of shape (n, n) by effect: 1 where two steps have it in common, else 0."""
    found = {}
    for name in EFFECTS:
        numbers: dict[tuple[str, ...], int] = {}
        values = [step.key.effect(name) for step in steps]
        codes = np.array(
            [numbers.setdefault(v, len(numbers)) if v else -1 - place for place, v in enumerate(values)]
        )
        found[name] = (codes[:, None] == codes[None, :]).astype(np.float64)
    return found


def solved(
    covariance: Floats, ratios: Floats, noise: Floats | float, own: NDArray[np.bool_] | bool = False
) -> tuple[Floats, Floats]:
    """Inverse of the covariance with its noise, and the weight of each step: low where it is far off.

    Whoever asks is believed: steps of their ``own`` keep their weight.
    """
    weights = np.ones(len(ratios))
    inverse = covariance
    for _ in range(ROUNDS):
        noisy = covariance + np.diag(np.square(noise) / weights)
        inverse = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
        off = ratios - covariance @ (inverse @ ratios)
        weights = np.where(
            own, 1.0, (PHYSICS["anchor_tail"] + 1) / (PHYSICS["anchor_tail"] + (off / noise) ** 2)
        )
    return inverse, np.asarray(weights, dtype=np.float64)


ROUNDS = 6
"""Rounds of reweighting after which weights stand still."""


def _count(steps: Sequence[MeasuredStep]) -> str:
    return f"{len(steps)} measured step{'s' if len(steps) != 1 else ''}"


@cache
def shipped_anchors() -> Anchors:
    """The shipped anchors: published steps, each with its source."""
    return Anchors._from(data.text(f"cost_model/{STEPS_FILE}"), STEPS_FILE)
