"""Outcomes of A/B tests: two configurations of a problem compared."""

import math
from dataclasses import dataclass, field
from datetime import datetime

from kg.nouns.entities import Source
from kg.nouns.values import Settings

VERDICTS = ("better", "equivalent", "worse", "undecided")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an A/B test.

    Attributes:
        id: A digest of its measurements, so the same test has one id however often it is recorded.
        problem: Id of the problem.
        metric: The metric that decided.
        configuration: Settings of the treatment.
        control: Settings of the control.
        verdict: One of ``VERDICTS``.
        scheme: Order in which measurements were taken.
        pairs: Pairs that counted.
        alpha: Chance of a wrong verdict that was promised.
        margin: Log ratio below which a difference was said not to matter.
        time: End of the test, with its time zone.
        source: The test as a source.
        gain: Log gain in nats, above zero is better; None if nothing was measured.
        low: Lower end of its interval; None where there is none.
        high: Upper end; None where there is none.
        p: P-value of no effect; None if nothing was measured.
        failures: Runs of the treatment that failed.
        strategy: Id of the strategy that was tried; empty if none.
        bottleneck: Id of the bottleneck that it was for; empty if none.
        recommendation: Id of the recommendation that was followed; empty if none.
        recipes: Ids of the recipes that a start configuration rests on; none unless it is one.
        layout: Parallel sizes of a start configuration; empty unless it is one.
    """

    id: str
    problem: str
    metric: str
    configuration: Settings
    verdict: str
    scheme: str
    pairs: int
    alpha: float
    margin: float
    time: datetime
    source: Source
    control: Settings = field(default_factory=Settings)
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    failures: int = 0
    strategy: str = ""
    bottleneck: str = ""
    recommendation: str = ""
    recipes: tuple[str, ...] = ()
    layout: Settings = field(default_factory=Settings)

    @property
    def treatment_never_ran(self) -> bool:
        """Runs of the treatment failed, and none succeeded."""
        return bool(self.failures) and not self.pairs

    def __post_init__(self) -> None:
        """Refuse what no test finds."""
        if self.verdict not in VERDICTS or self.pairs < 0 or self.failures < 0:
            raise ValueError(f"not an outcome: {self.verdict} after {self.pairs} pairs")
        if any(value is not None and not math.isfinite(value) for value in (self.gain, self.low, self.high)):
            raise ValueError(f"outcome {self.id}: a gain that is not finite")
        if self.time.tzinfo is None:
            raise ValueError(f"{self.time} has no time zone")
