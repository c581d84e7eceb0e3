"""A profile as a map of heat: operators by rank and unit, with their rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ingest.profiles.facts.kernels import Kernels
from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.rank.groups import rank_name
from recommender.diagnosis.rank.view import View

MOST_OPERATORS = 40
"""Operator types in the map: the costliest."""
MOST_RANKS = 50
"""Most ranks in the map, those farthest from the median: 2,000 cells, as many as a screen shows."""
MOST_ROWS = 25
"""Rows behind a cell: the longest."""
MOST_ROWS_OF_ALL = 2_000
"""Rows behind all cells, of which each has its share."""

_UNITS = (
    ("cube", "aic_mac_ratio"),
    ("cube load", "aic_mte2_ratio"),
    ("fixpipe", "aic_fixpipe_ratio"),
    ("vector", "aiv_vec_ratio"),
    ("vector load", "aiv_mte2_ratio"),
    ("vector store", "aiv_mte3_ratio"),
    ("scalar", "aiv_scalar_ratio"),
)


def heat_map(profile: Profile) -> dict[str, Any] | None:
    """Operators by rank and by unit, and the rows behind; None where no kernels were collected.

    ``rows`` are lists of cell, row in its file, name, core, duration and wait in microseconds, and input
    shapes; a cell is the place of its operator times the number of ranks, plus the place of its rank; texts
    are places in ``texts``.
    """
    ranks = [
        _RankRows.of(rank, rank.kernels, profile.path) for rank in profile.ranks if rank.kernels is not None
    ]
    if not ranks:
        return None
    overall: dict[str, float] = {}
    for rank in ranks:
        for label, us in rank.time_us.items():
            overall[label] = overall.get(label, 0.0) + us
    labels = sorted(overall, key=lambda label: (-overall[label], label))[:MOST_OPERATORS]
    shown = _most_different(ranks, labels)
    all_us = sum(rank.total_us for rank in ranks)
    each = max(1, min(MOST_ROWS, MOST_ROWS_OF_ALL // max(1, len(labels) * len(shown))))
    texts: dict[str, int] = {}
    return {
        "ranks": [rank.name for rank in shown],
        "files": [rank.kernels.file for rank in shown],
        "ranks_left_out": len(ranks) - len(shown),
        "units": [name for name, _ in _UNITS],
        "operators": [
            {
                "name": label or "?",
                "n": sum(len(rank.rows_of(label)) for rank in ranks),
                "us": round(overall[label], 3),
                "share": _share(overall[label], all_us),
                "by_rank": [
                    _share(rank.time_us[label], rank.total_us) if label in rank.time_us else None
                    for rank in shown
                ],
                "by_unit": _by_unit(ranks, label),
            }
            for label in labels
        ],
        "rows": [
            row
            for at, rank in enumerate(shown)
            for operator, label in enumerate(labels)
            for row in rank.longest(label, operator * len(shown) + at, each, texts)
        ],
        "texts": list(texts),
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class _RankRows:
    """The kernels of a rank by kind.

    Attributes:
        name: Of the rank.
        kernels: They.
        total_us: Length of its steps.
        time_us: Time of each kind.
        groups: Places of the kernels of each kind.
    """

    name: str
    kernels: Kernels
    total_us: float
    time_us: Mapping[str, float]
    groups: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, rank: Rank, kernels: Kernels, path: str) -> Self:
        """Group the kernels of a rank."""
        label, duration = kernels.label, np.nan_to_num(kernels.duration_us)
        order = np.argsort(label.codes, kind="stable")
        ends = np.searchsorted(label.codes[order], np.arange(len(label.labels) + 1))
        groups: dict[str, NDArray[np.int64]] = {}
        for code, name in enumerate(label.labels):
            rows = order[ends[code] : ends[code + 1]]
            if len(rows):
                groups[name] = np.concatenate([groups[name], rows]) if name in groups else rows
        return cls(
            name=rank_name(rank, path),
            kernels=kernels,
            total_us=View(rank=rank).total_us,
            time_us={name: float(duration[rows].sum()) for name, rows in groups.items()},
            groups=groups,
        )

    def rows_of(self, label: str) -> NDArray[np.int64]:
        """Places of the kernels of a kind."""
        return self.groups.get(label, np.empty(0, np.int64))

    def longest(
        self, label: str, cell: int, most: int, texts: dict[str, int]
    ) -> list[list[int | float | None]]:
        """The longest rows of a cell."""
        kernels, rows = self.kernels, self.rows_of(label)
        time = np.nan_to_num(kernels.duration_us[rows])
        return [
            [
                cell,
                int(kernels.rows[at]),
                texts.setdefault(kernels.text("name", at)[:120], len(texts)),
                texts.setdefault(kernels.text("core", at), len(texts)),
                _rounded(float(kernels.duration_us[at])),
                _rounded(float(kernels.wait_us[at])),
                texts.setdefault(kernels.text("input_shapes", at)[:200], len(texts)),
            ]
            for at in rows[np.argsort(-time, kind="stable")[:most]].tolist()
        ]


def _most_different(ranks: Sequence[_RankRows], labels: Sequence[str]) -> list[_RankRows]:
    """The ranks to show, in order: all, or those furthest from the median rank."""
    if len(ranks) <= MOST_RANKS:
        return list(ranks)
    times = np.array([[rank.time_us.get(label, 0.0) for label in labels] for rank in ranks])
    shares = times / np.maximum(np.array([rank.total_us for rank in ranks])[:, None], 1e-9)
    far = np.abs(shares - np.median(shares, axis=0)).max(axis=1)
    return [ranks[at] for at in sorted(np.argsort(-far, kind="stable")[:MOST_RANKS].tolist())]


def _by_unit(ranks: Sequence[_RankRows], label: str) -> list[float | None]:
    """Busy share of each unit while an operator runs, over all ranks by time; None if not collected."""
    busy, weight = np.zeros(len(_UNITS)), np.zeros(len(_UNITS))
    for rank in ranks:
        rows = rank.rows_of(label)
        time = np.nan_to_num(rank.kernels.duration_us[rows])
        for place, (_, name) in enumerate(_UNITS):
            values = rank.kernels.pipe(name)[rows]
            counted = ~np.isnan(values) & (time > 0)
            busy[place] += float((values[counted] * time[counted]).sum())
            weight[place] += float(time[counted].sum())
    return [round(float(b / w), 3) if w > 0 else None for b, w in zip(busy, weight, strict=True)]


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole > 0 else None


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
