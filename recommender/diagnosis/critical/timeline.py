"""What one rank does in a step, in the order of its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, stem
from recommender.diagnosis.ledger.accounts import GAP, NOT_COLLECTED, operator_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.profiles.facts.kernels import Floats
    from ingest.profiles.facts.run import Rank

COMPUTES, TALKS = 0, 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Timeline:
    """The n kernels of a rank in a step, or its communication alone, by start.

    Attributes:
        start_us: Begin of each, shape (n,), on the rank's own clock.
        end_us: End of each, shape (n,).
        kind: ``COMPUTES`` or ``TALKS``, shape (n,).
        names: Operator of each.
        has_kernels: Kernels were collected: where nothing runs, the device is idle.
    """

    start_us: Floats
    end_us: Floats
    kind: Floats
    names: Sequence[str]
    has_kernels: bool

    @property
    def begin_us(self) -> float:
        """When its first work began."""
        return float(self.start_us.min())

    @property
    def finish_us(self) -> float:
        """When its last work ended."""
        return float(self.end_us.max())

    def between(self, first_us: float, last_us: float) -> Mapping[str, float]:
        """Time by operator between two moments, each instant once: computing before communication.

        Returns:
            Microseconds by operator; what is left is a gap, or not in the profile.
        """
        inside = (self.end_us > first_us) & (self.start_us < last_us)
        spent: dict[str, float] = {}
        if last_us <= first_us:
            return spent
        taken = np.zeros((0, 2))
        for kind in (COMPUTES, TALKS):
            rows = np.flatnonzero(inside & (self.kind == kind))
            reached = first_us
            for row in rows[np.argsort(self.start_us[rows], kind="stable")]:
                begin, end = max(reached, self.start_us[row]), min(last_us, self.end_us[row])
                if end <= begin:
                    continue
                free = _outside(begin, end, taken)
                reached = max(reached, end)
                if free > 0:
                    name = self.names[int(row)]
                    spent[name] = spent.get(name, 0.0) + free
            if kind == COMPUTES and len(rows):
                taken = _joined(self.start_us[rows], self.end_us[rows])
        rest = last_us - first_us - sum(spent.values())
        if rest > 0:
            spent[GAP if self.has_kernels else NOT_COLLECTED] = rest
        return spent


def timeline_of(rank: Rank, step: str) -> Timeline | None:
    """The timeline of a rank in a step; None where nothing of it has a time."""
    kernels = rank.kernels
    if kernels is not None:
        column = kernels.texts["step"]
        named = set(column.labels) & {step} if step else set()
        mine = (
            column.where(label == step for label in column.labels)
            if named
            else np.ones(len(kernels), np.bool_)
        )
        mine = mine & (kernels.start_ns != UNKNOWN_NS) & ~kernels.is_copy & ~np.isnan(kernels.duration_us)
        rows = np.flatnonzero(mine)
        if len(rows):
            label, talks = kernels.label, kernels.is_communication
            start = kernels.start_ns[rows] / 1e3
            return Timeline(
                start_us=start,
                end_us=start + kernels.duration_us[rows],
                kind=np.where(talks[rows], TALKS, COMPUTES).astype(np.float64),
                names=[operator_name(label[int(row)]) for row in rows],
                has_kernels=True,
            )
    items = [item for item in rank.collectives if item.start_us is not None and item.step in {"", step}]
    if not items:
        return None
    start = np.array([item.start_us or 0.0 for item in items])
    return Timeline(
        start_us=start,
        end_us=start + np.array([item.elapse_ms * 1e3 for item in items]),
        kind=np.full(len(items), TALKS, dtype=np.float64),
        names=[operator_name(stem(item.name)) for item in items],
        has_kernels=False,
    )


def _joined(start: Floats, end: Floats) -> Floats:
    """Stretches that are covered, shape (k, 2)."""
    order = np.argsort(start, kind="stable")
    first, last = start[order], np.maximum.accumulate(end[order])
    cut = np.flatnonzero(first[1:] > last[:-1]) + 1
    return np.column_stack([first[np.append(0, cut)], last[np.append(cut - 1, len(last) - 1)]])


def _outside(begin: float, end: float, taken: Floats) -> float:
    """Length of a stretch less what is taken of it."""
    if not len(taken):
        return end - begin
    covered = np.minimum(end, taken[:, 1]) - np.maximum(begin, taken[:, 0])
    return float(end - begin - np.maximum(0.0, covered).sum())
