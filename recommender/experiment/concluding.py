"""Turns an experiment into records of the graph: a case, which moves its strategy's effect, and an outcome.

The case has the control's geometric mean as its baseline and differs from it by the estimated ratio, so the
log gain that the effect counts is the estimate, rounded to millionths of a nat. Null and negative gains count
like any other. A treatment that only failed is a failed case.
"""

import math
import statistics
from dataclasses import dataclass, replace
from datetime import datetime

from kg.errors import InputError
from kg.nouns.entities import Baseline, Better, Case, Kind, Measurement, Objective, Problem, Source, Status
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings, digest
from recommender.experiment.comparison import ArmComparison
from recommender.experiment.design import CONTROL, UNTOLD
from recommender.experiment.journal import Logged
from recommender.experiment.standing import standing
from recommender.ranking.change import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The part of the graph that an experiment adds.

    Attributes:
        case: The treatment as a case.
        outcome: The experiment as an activity.
    """

    case: Case
    outcome: Outcome


def conclude(logged: Logged, problem: Problem, tried: Change, now: datetime, arm: str = "") -> Conclusion:
    """Conclude an experiment: the case and the outcome that the graph keeps.

    Args:
        logged: The experiment.
        problem: On what it was made.
        tried: The change that the arm tried.
        now: When it is told, with its time zone: the time of an experiment whose samples have none.
        arm: The treatment; empty where there is only one.

    Raises:
        InputError: Nothing was measured, or the arm is none of its treatments.
    """
    design = logged.design
    if design.is_self_test:
        raise InputError(f"{logged.name} ran the same configuration twice: it says nothing of a strategy")
    arm = arm or design.treatments[0]
    state = standing(logged.samples, design)
    found = next((item for item in state.comparisons if item.arm == arm), None)
    if found is None:
        raise InputError(f"{logged.name} has no treatment {arm!r}", hint=", ".join(design.treatments))
    if not found.interval.pairs and not found.failures.treatment:
        raise InputError(f"{logged.name} has measured nothing of {arm} yet", hint="let it run first")
    source = Source(
        title=f"A/B {logged.name}", note=digest([item.to_json() for item in logged.samples], design.to_json())
    )
    problem = _problem(problem, logged)
    case = Case(
        problem=problem,
        configuration=_stated(design.arms[arm]),
        measurement=_measurement(found, logged),
        kind=Kind.MEASURED,
        source=source,
        baseline=_baseline(found, logged),
        strategy=tried.strategy,
        bottleneck=tried.bottleneck,
    )
    interval = found.interval
    outcome = Outcome(
        id=digest(problem.id, arm, source.id, tried.strategy, tried.id),
        problem=problem.id,
        metric=design.metric,
        configuration=_stated(design.arms[arm]),
        control=_stated(design.arms[CONTROL]),
        verdict=str(found.verdict),
        scheme=str(design.scheme),
        pairs=interval.pairs,
        alpha=float(design.alpha),
        margin=float(design.margin),
        time=_ended(logged) or now,
        source=source,
        gain=_finite(interval.mean),
        low=_finite(interval.low),
        high=_finite(interval.high),
        p=float(interval.p) if interval.pairs else None,
        failures=found.failures.treatment,
        strategy=tried.strategy,
        bottleneck=tried.bottleneck,
        recommendation=tried.id,
        recipes=tried.recipes,
        layout=tried.layout,
    )
    return Conclusion(case=case, outcome=outcome)


def _problem(problem: Problem, logged: Logged) -> Problem:
    """The problem, with the metric that was measured where that is another than it asks for."""
    design = logged.design
    if problem.objective.metric == design.metric:
        return problem
    return replace(problem, objective=Objective(metric=design.metric, better=design.better, unit=design.unit))


def _measurement(comparison: ArmComparison, logged: Logged) -> Measurement:
    design = logged.design
    if not comparison.interval.pairs:
        return Measurement(
            metric=design.metric, unit=design.unit, status=Status.FAILED, reason=comparison.failures.reason
        )
    control = _control(logged)
    sign = 1.0 if design.better is Better.HIGHER else -1.0
    return Measurement(
        metric=design.metric,
        unit=design.unit,
        value=control * math.exp(sign * comparison.interval.mean),
        repeats=comparison.interval.pairs,
    )


def _baseline(comparison: ArmComparison, logged: Logged) -> Baseline | None:
    if not comparison.interval.pairs:
        return None
    return Baseline(value=_control(logged), configuration=_stated(logged.design.arms[CONTROL]))


def _ended(logged: Logged) -> datetime | None:
    """The time of its last sample; None if its samples do not say."""
    times = [datetime.fromisoformat(sample.time) for sample in logged.samples if sample.time]
    return max((time for time in times if time.tzinfo is not None), default=None)


def _control(logged: Logged) -> float:
    """Geometric mean of the control over the rounds that count."""
    logs = [
        sample.log(logged.design.metric)
        for sample in logged.samples
        if sample.arm == CONTROL and sample.ok and not sample.is_warmup
    ]
    return math.exp(statistics.fmean(logs))


def _stated(configuration: Settings) -> Settings:
    """The settings; none where they were not stated."""
    return Settings() if UNTOLD in configuration else configuration


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
