"""Measurements of an experiment: one value of an arm in a round, raw runs kept, failures too."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from kg.nouns.entities import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from recommender.experiment.design import ExperimentDesign


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
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
    cost_s: float = 0.0
    at_s: float = 0.0
    time: str = ""
    of: int = 2
    is_warmup: bool = False
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

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "session": self.session,
            "round": self.round,
            "slot": self.slot,
            "arm": self.arm,
            "runs": [[dict(run) for run in runs] for runs in self.runs],
            "status": str(self.status),
            "reason": self.reason,
            "cost_s": round(self.cost_s, 6),
            "at_s": round(self.at_s, 6),
            "time": self.time,
            "of": self.of,
            "warmup": self.is_warmup,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> Self:
        """The inverse of ``to_json``.

        Raises:
            KeyError, TypeError, ValueError: It is none.
        """
        runs = raw["runs"]
        if not isinstance(runs, list):
            raise TypeError("not a sample")
        return cls(
            session=int(str(raw["session"])),
            round=int(str(raw["round"])),
            slot=int(str(raw["slot"])),
            arm=str(raw["arm"]),
            runs=tuple(
                tuple({str(name): float(value) for name, value in run.items()} for run in group)
                for group in runs
            ),
            status=Status(str(raw["status"])),
            reason=str(raw["reason"]),
            cost_s=float(str(raw["cost_s"])),
            at_s=float(str(raw["at_s"])),
            time=str(raw["time"]),
            of=int(str(raw["of"])),
            is_warmup=bool(raw["warmup"]),
        )


def rounds(samples: Iterable[Sample], design: ExperimentDesign) -> list[dict[str, Sample]]:
    """The rounds that count, in order: whole, of one session, and not warm-up. By arm."""
    found: dict[tuple[int, int], dict[str, Sample]] = {}
    for sample in samples:
        if not sample.is_warmup:
            found.setdefault((sample.session, sample.round), {})[sample.arm] = sample
    whole = [item for item in found.values() if all(len(item) == sample.of for sample in item.values())]
    return whole[: design.pairs]
