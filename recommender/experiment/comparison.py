"""A treatment beside the control: interval, guardrails, failures, and the verdict they give together.

The metric has alpha of its own; the guardrails and the failure of runs share another alpha in equal parts
(Bonferroni), so the chance that any of them alarms falsely is at most alpha however many there are. That a
guardrail is *kept* must hold for each, which needs no correction.

Runs that fail: among the rounds in which exactly one of two arms fails, equal arms make it a fair coin which
one. With k of m on the side of the treatment,

    e = B(k + 1/2, m - k + 1/2) / B(1/2, 1/2) * 2**m

is a mixture of likelihood ratios over all coins: under a fair one ``P(e >= 1 / alpha at any m) <= alpha``
(Ville's inequality), and looking after each round is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kg.nouns.codec import NOT_IN_JSON, OR_NULL, JsonNoun, in_json
from kg.nouns.entities import Better
from recommender.experiment.design import ExperimentDesign, Guard
from recommender.experiment.mixture import watch
from recommender.experiment.samples import Sample
from recommender.experiment.schemes import SESSION, Scheme, by_regression, trend, widened
from recommender.experiment.verdict import UNKNOWN, Interval, Verdict


class GuardState(StrEnum):
    """The state of a guardrail."""

    KEPT = "kept"
    BROKEN = "broken"
    OPEN = "open"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPair:
    """Two arms and what of them is compared.

    Attributes:
        one: The arm whose gain is asked for.
        other: What it is compared with.
        value: Of a sample, above is better; nan where it has none.
    """

    one: str
    other: str
    value: Callable[[Sample], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFailures(JsonNoun):
    """The failures of two arms.

    Attributes:
        treatment: Rounds in which the treatment failed.
        control: Rounds in which the control failed.
        both: Rounds in which both did; counted in the other two as well.
        p: P-value of "they fail equally often", the lowest so far.
        verdict: ``WORSE`` or ``BETTER`` where one fails more often at the level asked for, else undecided.
        reason: The last reason of a failure; empty without one.
    """

    treatment: int = 0
    control: int = 0
    both: int = 0
    p: float = 1.0
    verdict: Verdict = Verdict.UNDECIDED
    reason: str = field(default="", metadata=OR_NULL)

    @classmethod
    def of(cls, rounds: Iterable[tuple[bool, bool]], alpha: float, *, reason: str = "") -> ArmFailures:
        """Count, looking after each round.

        Args:
            rounds: Whether the treatment and whether the control failed, in order.
            alpha: Chance of a false verdict.
            reason: The last reason of a failure.
        """
        treatment = control = both = only = single = 0
        p, verdict = 1.0, Verdict.UNDECIDED
        for failed, control_failed in rounds:
            treatment += failed
            control += control_failed
            both += failed and control_failed
            if failed == control_failed:
                continue
            single += 1
            only += failed
            p = min(p, math.exp(-_log_evidence(only, single)))
            if p <= alpha and verdict is Verdict.UNDECIDED:
                verdict = Verdict.WORSE if 2 * only > single else Verdict.BETTER
        return cls(treatment=treatment, control=control, both=both, p=p, verdict=verdict, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A guardrail and what is known of it.

    Attributes:
        guard: The guardrail.
        state: Whether it holds.
        worse: By how much the treatment is worse: a log ratio or a difference, as the guard has it.
        low: Lower end of its interval.
        high: Upper end.
    """

    guard: Guard
    state: GuardState
    worse: float
    low: float
    high: float

    def to_json(self) -> dict[str, object]:
        """Plain content; ends that are unknown are null."""
        named = {"worse": self.worse, "low": self.low, "high": self.high}
        return {
            "guard": self.guard.text,
            "state": str(self.state),
            "relative": self.guard.relative,
            **{name: value if math.isfinite(value) else None for name, value in named.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmComparison(JsonNoun):
    """A treatment beside the control.

    Attributes:
        arm: Name of the treatment.
        interval: Of the log ratio, above zero if the treatment is better.
        guards: Every guardrail.
        failures: How often which arm failed.
        verdict: What follows.
        reason: Why, in a line.
        is_settled: Whether more rounds can change nothing that matters.
        track: Interval ends and p-value after each pair, for a curve: low, high, p.
    """

    arm: str
    verdict: Verdict
    reason: str
    is_settled: bool = field(metadata=in_json("settled"))
    interval: Interval = field(metadata=in_json(is_spread=True))
    guards: tuple[Guarded, ...]
    failures: ArmFailures
    track: tuple[tuple[float, float, float], ...] = field(default=(), metadata=NOT_IN_JSON)


def effect(
    samples: Sequence[Sample],
    rounds: Sequence[Mapping[str, Sample]],
    arms: ArmPair,
    design: ExperimentDesign,
    alpha: float,
) -> tuple[Interval, NDArray[np.float64]]:
    """The interval of one arm against another, by the design's scheme, and its history of shape (n, 3).

    Args:
        samples: All of them, in the order taken; read where there are no pairs.
        rounds: The rounds that count; read where there are.
        arms: What is compared, and the value of a sample, above is better.
        design: What is fixed.
        alpha: Chance that the interval ever misses.
    """
    if design.scheme.is_paired:
        shared = [item for item in rounds if arms.one in item and arms.other in item]
        values = [(arms.value(item[arms.one]), arms.value(item[arms.other])) for item in shared]
        values = [(one, other) for one, other in values if not (math.isnan(one) or math.isnan(other))]
        interval, track = interval_of([one - other for one, other in values], alpha)
        if design.scheme is Scheme.PAIRED:
            slope = trend([(one + other) / 2 for one, other in values])
            interval = widened(interval, abs(slope or 0.0) / 2)
        return interval, track
    chosen = [
        (value, sample.arm == arms.one)
        for sample in samples
        if sample.arm in {arms.one, arms.other} and not math.isnan(value := arms.value(sample))
    ]
    found = by_regression(
        np.array([value for value, _ in chosen], float),
        np.array([is_treatment for _, is_treatment in chosen], bool),
        alpha,
        spread=SESSION if design.scheme is Scheme.SEQUENTIAL else 0.0,
    )
    return found, np.empty((0, 3))


def interval_of(differences: Sequence[float], alpha: float) -> tuple[Interval, NDArray[np.float64]]:
    """The interval of log ratios, and its history of shape (n, 3): low, high, p."""
    if not differences:
        return UNKNOWN, np.empty((0, 3))
    track = watch(np.array(differences, float), alpha)
    found = Interval(
        mean=float(track.mean[-1]),
        low=float(track.low[-1]),
        high=float(track.high[-1]),
        p=float(track.p[-1]),
        pairs=len(differences),
        noise=float(np.std(differences, ddof=1)) if len(differences) > 1 else math.nan,
    )
    return found, np.stack([track.low, track.high, track.p], axis=-1)


def log_of(metric: str, better: Better) -> Callable[[Sample], float]:
    """The log of a metric of a sample, above is better; nan where it failed."""
    sign = 1.0 if better is Better.HIGHER else -1.0
    return lambda sample: sign * sample.log(metric) if sample.ok else math.nan


def compare(
    samples: Sequence[Sample],
    rounds: Sequence[Mapping[str, Sample]],
    arm: str,
    control: str,
    design: ExperimentDesign,
) -> ArmComparison:
    """Compare a treatment with the control by the rounds so far."""
    pair = ArmPair(one=arm, other=control, value=log_of(design.metric, design.better))
    interval, track = effect(samples, rounds, pair, design, design.level)
    shared = [item for item in rounds if arm in item and control in item]
    reasons = [item[name].reason for item in shared for name in (control, arm) if item[name].reason]
    failures = ArmFailures.of(
        [(not item[arm].ok, not item[control].ok) for item in shared],
        design.guard_level,
        reason=reasons[-1] if reasons else "",
    )
    guards = tuple(_guarded(samples, rounds, (arm, control), guard, design) for guard in design.guards)
    verdict, reason = _verdict(interval, guards, failures, design)
    is_final = verdict is not Verdict.UNDECIDED
    open_guards = any(item.state is GuardState.OPEN for item in guards)
    return ArmComparison(
        arm=arm,
        interval=interval,
        guards=guards,
        failures=failures,
        verdict=verdict,
        reason=reason,
        is_settled=is_final and (verdict is Verdict.WORSE or not open_guards),
        track=tuple((float(low), float(high), float(p)) for low, high, p in track),
    )


def _verdict(
    interval: Interval, guards: Sequence[Guarded], failures: ArmFailures, design: ExperimentDesign
) -> tuple[Verdict, str]:
    broken = [item for item in guards if item.state is GuardState.BROKEN]
    if failures.verdict is Verdict.WORSE:
        reason = f"it failed in {failures.treatment} rounds, the control in {failures.control}"
        return Verdict.WORSE, reason
    if broken:
        return Verdict.WORSE, f"it breaks the guardrail {broken[0].guard.text}"
    if failures.verdict is Verdict.BETTER:
        reason = f"the control failed in {failures.control} rounds, the treatment in {failures.treatment}"
        return Verdict.BETTER, reason
    verdict = interval.verdict(design.margin)
    if verdict is Verdict.UNDECIDED:
        if failures.both and not interval.pairs:
            return verdict, f"no round gave both values: {failures.reason or 'runs failed'}"
        return verdict, "the interval holds no effect and more than the margin"
    margin = f"{100 * math.expm1(design.margin):.3g} %"
    says = {
        Verdict.BETTER: "the whole interval is above 1",
        Verdict.WORSE: "the whole interval is below 1",
        Verdict.EQUIVALENT: f"the whole interval is within {margin} of 1",
    }
    return verdict, says[verdict]


def _guarded(
    samples: Sequence[Sample],
    rounds: Sequence[Mapping[str, Sample]],
    arms: tuple[str, str],
    guard: Guard,
    design: ExperimentDesign,
) -> Guarded:
    """The state of a guardrail by the rounds so far; a positive number is worse."""
    sign = 1.0 if guard.better is Better.HIGHER else -1.0

    def difference(sample: Sample) -> float:
        return sign * sample.mean(guard.metric) if sample.ok else math.nan

    value = log_of(guard.metric, guard.better) if guard.relative else difference
    pair = ArmPair(one=arms[0], other=arms[1], value=value)
    found, _ = effect(samples, rounds, pair, design, design.guard_level)
    state = GuardState.OPEN
    if not found.pairs:
        state = GuardState.UNMEASURED
    elif -found.high > guard.limit:
        state = GuardState.BROKEN
    elif -found.low <= guard.limit:
        state = GuardState.KEPT
    return Guarded(guard=guard, state=state, worse=-found.mean, low=-found.high, high=-found.low)


def _log_evidence(k: int, m: int) -> float:
    """Log of e, at least zero."""
    found = math.lgamma(k + 0.5) + math.lgamma(m - k + 0.5) - math.lgamma(m + 1)
    return max(0.0, found - math.log(math.pi) + m * math.log(2))
