"""Measurements of an experiment: one value of an arm in a round, raw runs kept, failures too."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.entities import Status
from recommender.experiment.design import ExperimentDesign


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(JsonNoun):
    """An arm in a round.

    Attributes:
        session: Number of the process that ran it, from 0; a round that a crash cut in two does not count.
        round: Number of the round, from 0.
        slot: Place of the arm in the round, from 0.
        arm: Name of the arm.
        runs: Values of each run that counts, by metric, in SI: a tuple an input.
        status: What became of it.
        reason: Why it failed; empty if it did not.
        cost_s: Time it took, dropped runs included, by a clock that does not jump.
        at_s: When it began, in seconds of the session's own clock.
        time: When it began, as the system's clock has it; for people.
        of: How many arms the round was to run.
        is_warmup: Whether it is of a round that does not count.
    """

    session: int
    round: int
    slot: int
    arm: str
    runs: tuple[tuple[Mapping[str, float], ...], ...] = ()
    status: Status = Status.OK
    reason: str = ""
    cost_s: float = field(default=0.0, metadata=in_json(digits=6))
    at_s: float = field(default=0.0, metadata=in_json(digits=6))
    time: str = ""
    of: int = 2
    is_warmup: bool = field(default=False, metadata=in_json("warmup"))
    _logs: dict[str, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """True if it gave values."""
        return self.status is Status.OK

    def log(self, metric: str) -> float:
        """Mean log of the metric over repeats and inputs; nan if it has none or is not above zero."""
        if metric not in self._logs:
            values = list(self.values(metric))
            known = values and all(value > 0 for value in values)
            self._logs[metric] = statistics.fmean(map(math.log, values)) if known else math.nan
        return self._logs[metric]

    def mean(self, metric: str) -> float:
        """Mean of the metric over repeats and inputs; nan if it has none."""
        values = list(self.values(metric))
        return statistics.fmean(values) if values else math.nan

    def values(self, metric: str) -> Iterator[float]:
        """Every value of a metric."""
        for runs in self.runs:
            for run in runs:
                if metric in run:
                    yield run[metric]


def rounds(samples: Iterable[Sample], design: ExperimentDesign) -> list[dict[str, Sample]]:
    """The rounds that count, in order: whole, of one session, and not warm-up. By arm."""
    found: dict[tuple[int, int], dict[str, Sample]] = {}
    for sample in samples:
        if not sample.is_warmup:
            found.setdefault((sample.session, sample.round), {})[sample.arm] = sample
    whole = [item for item in found.values() if all(len(item) == sample.of for sample in item.values())]
    return whole[: design.pairs]
