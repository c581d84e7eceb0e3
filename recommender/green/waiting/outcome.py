"""Promises of waits beside what they kept: outcomes that correct later promises on the same grid."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

import numpy as np

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.values import load_json
from recommender.green.history import SLOT_S
from recommender.green.series import IntensitySeries

PRIOR_JOBS = 20
"""Jobs after which a grid's own outcomes count as much as the shipped record: a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOutcome(JsonNoun):
    """A job that waited and ran.

    Attributes:
        region: Of the grid.
        arrived: When it was asked for, and first planned.
        spans: Begin and end of each piece.
        promised: Saving that the first plan promised.
    """

    region: str
    arrived: datetime = field(metadata=in_json(write=datetime.isoformat))
    spans: tuple[tuple[datetime, datetime], ...] = field(
        metadata=in_json(write=lambda spans: [[end.isoformat() for end in span] for span in spans])
    )
    promised: float

    @classmethod
    def from_line(cls, line: str) -> Self | None:
        """The outcome of a line of the log; None of a damaged one."""
        try:
            return cls.from_json(load_json(line))
        except ValueError:
            return None

    def append_to(self, path: Path) -> None:
        """Add it to a log.

        Raises:
            OSError: It cannot be written.
        """
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(self.to_json()) + "\n")

    def saving(self, series: IntensitySeries) -> float | None:
        """Saving against a start at its arrival; None where the series does not have those hours yet."""
        lasts = sum((end - begin).total_seconds() for begin, end in self.spans)
        edges = np.arange(len(series.values) + 1) * SLOT_S
        sums = np.concatenate([[0.0], np.cumsum(series.values)]) * SLOT_S
        origin = series.start.timestamp()
        at_once = self.arrived.timestamp() - origin
        places = [(begin.timestamp() - origin, end.timestamp() - origin) for begin, end in self.spans]
        last = max([at_once + lasts, *(end for _, end in places)])
        slots = slice(max(0, int(at_once // SLOT_S)), int(-(-last // SLOT_S)))
        if at_once < 0 or last > edges[-1] or lasts <= 0 or series.is_filled[slots].any():
            return None

        def grams(begin: float, end: float) -> float:
            low, high = np.interp([begin, end], edges, sums)
            return float(high - low)

        once = grams(at_once, at_once + lasts)
        return 1 - sum(grams(begin, end) for begin, end in places) / once if once > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRecord:
    """Record of a grid's own waits: promised and kept.

    Attributes:
        jobs: Those whose hours the series has.
        promised: Mean saving that was promised.
        kept: Mean saving that was kept.
    """

    jobs: int = 0
    promised: float = 0.0
    kept: float = 0.0

    @property
    def factor(self) -> float:
        """The factor for later promises: kept over promised, drawn towards 1 while jobs are few."""
        if not self.jobs or self.promised <= 0:
            return 1.0
        share = max(0.0, self.kept / self.promised)
        return (PRIOR_JOBS + self.jobs * share) / (PRIOR_JOBS + self.jobs)

    def __str__(self) -> str:
        return f"{self.jobs} waits: {self.promised:.1%} promised, {self.kept:.1%} kept on average"


def record_of(path: Path, series: IntensitySeries) -> WaitRecord:
    """The record of a series' region in a log; that of no jobs where there is none."""
    try:
        lines: Sequence[str] = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return WaitRecord()
    outcomes = [
        item
        for line in lines
        if (item := WaitOutcome.from_line(line)) is not None and item.region == series.region
    ]
    pairs = [(item.promised, kept) for item in outcomes if (kept := item.saving(series)) is not None]
    if not pairs:
        return WaitRecord()
    promised, kept = np.mean(pairs, axis=0)
    return WaitRecord(jobs=len(pairs), promised=float(promised), kept=float(kept))
