"""Conclusions of A/B tests of a copy on a card, one by number."""

from datetime import UTC, datetime, timedelta

from kg.nouns.entities import Baseline, Case, Kind, Measurement, Problem, Source
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from recommender.experiment.concluding import Conclusion
from tests.samples.problems import make_problem

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def copies(batch: int) -> Problem:
    """A copy of so many at once."""
    return make_problem(
        "copy", "card", kind="operator", shape={"batch": batch}, metric="throughput", unit="1/s"
    )


def outcome_of(case: Case, name: str, time: datetime) -> Outcome:
    """The outcome of a test in which a case won."""
    return Outcome(
        id=name,
        problem=case.problem.id,
        metric="throughput",
        configuration=case.configuration,
        verdict="better",
        scheme="randomised",
        pairs=12,
        alpha=0.01,
        margin=0.01,
        time=time,
        source=case.source,
        gain=case.log_gain,
        strategy=case.strategy,
    )


def conclusion(number: int, problem: Problem, source: str) -> Conclusion:
    """A treatment that was faster, of one of three strategies by turns."""
    case = Case(
        problem=problem,
        configuration=Settings({"tile": number}),
        measurement=Measurement(metric="throughput", unit="1/s", value=100.0 + number),
        kind=Kind.MEASURED,
        source=Source(title=source),
        baseline=Baseline(value=100.0),
        strategy=f"strategy-{number % 3}",
    )
    return Conclusion(
        case=case, outcome=outcome_of(case, f"outcome-{number}", NOW + timedelta(minutes=number))
    )
