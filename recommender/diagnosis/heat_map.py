"""A profile as a map of heat, operators by rank and unit with their rows, and as a ledger of its steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recommender.diagnosis.diagnosis import rank_name
from recommender.diagnosis.rank.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.profiles.facts.kernels import Kernels
    from ingest.profiles.facts.run import Profile, Rank

MOST_OPERATORS = 40
"""Operator types in the map: the costliest."""
MOST_RANKS = 50
"""Ranks in the map; beyond, those that differ most from the median rank. With the operators 2,000 cells: no
more can be read on a screen."""
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
    ranks = [rank for rank in profile.ranks if rank.kernels is not None]
    if not ranks:
        return None
    totals = [View(rank=rank).total_us for rank in ranks]
    tables = [_by_label(rank.kernels) for rank in ranks if rank.kernels is not None]
    overall: dict[str, float] = {}
    for table in tables:
        for label, (_, us) in table.items():
            overall[label] = overall.get(label, 0.0) + us
    labels = sorted(overall, key=lambda label: (-overall[label], label))[:MOST_OPERATORS]
    kept = _most_different([[table.get(label, (0, 0.0))[1] for label in labels] for table in tables], totals)
    shown = [ranks[place] for place in kept]
    all_us = sum(totals)
    each = max(1, min(MOST_ROWS, MOST_ROWS_OF_ALL // max(1, len(labels) * len(shown))))
    texts: dict[str, int] = {}
    return {
        "ranks": [rank_name(rank, profile.path) for rank in shown],
        "files": [rank.kernels.file for rank in shown if rank.kernels is not None],
        "ranks_left_out": len(ranks) - len(shown),
        "units": [name for name, _ in _UNITS],
        "operators": [
            {
                "name": label or "?",
                "n": sum(table.get(label, (0, 0.0))[0] for table in tables),
                "us": round(overall[label], 3),
                "share": _share(overall[label], all_us),
                "by_rank": [
                    _share(tables[place][label][1], totals[place]) if label in tables[place] else None
                    for place in kept
                ],
                "by_unit": _by_unit(ranks, label),
            }
            for label in labels
        ],
        "rows": [
            row
            for at, rank in enumerate(shown)
            if rank.kernels is not None
            for operator, label in enumerate(labels)
            for row in _rows(rank.kernels, label, operator * len(shown) + at, each, texts)
        ],
        "texts": list(texts),
    }


def _by_label(kernels: Kernels) -> dict[str, tuple[int, float]]:
    """Number and time of the kernels of each kind."""
    label = kernels.label
    time = np.bincount(label.codes, weights=np.nan_to_num(kernels.duration_us), minlength=len(label.labels))
    count = np.bincount(label.codes, minlength=len(label.labels))
    found: dict[str, tuple[int, float]] = {}
    for name, n, us in zip(label.labels, count.tolist(), time.tolist(), strict=True):
        if n:
            before = found.get(name, (0, 0.0))
            found[name] = (before[0] + n, before[1] + us)
    return found


def _most_different(times: Sequence[Sequence[float]], totals: Sequence[float]) -> list[int]:
    """Places of the ranks to show, in order: all, or those furthest from the median rank."""
    if len(times) <= MOST_RANKS:
        return list(range(len(times)))
    shares = np.array(times) / np.maximum(np.array(totals)[:, None], 1e-9)
    far = np.abs(shares - np.median(shares, axis=0)).max(axis=1)
    return sorted(np.argsort(-far, kind="stable")[:MOST_RANKS].tolist())


def _codes(kernels: Kernels, label: str) -> np.ndarray[Any, Any]:
    """Places of the kernels of a kind."""
    codes = [code for code, name in enumerate(kernels.label.labels) if name == label]
    return np.flatnonzero(np.isin(kernels.label.codes, codes))


def _by_unit(ranks: Sequence[Rank], label: str) -> list[float | None]:
    """How busy each unit is while an operator runs, over all ranks by time; None is not collected."""
    busy, weight = np.zeros(len(_UNITS)), np.zeros(len(_UNITS))
    for rank in ranks:
        kernels = rank.kernels
        if kernels is None:
            continue
        rows = _codes(kernels, label)
        time = np.nan_to_num(kernels.duration_us[rows])
        for place, (_, name) in enumerate(_UNITS):
            values = kernels.pipe(name)[rows]
            counted = ~np.isnan(values) & (time > 0)
            busy[place] += float((values[counted] * time[counted]).sum())
            weight[place] += float(time[counted].sum())
    return [round(float(b / w), 3) if w > 0 else None for b, w in zip(busy, weight, strict=True)]


def _rows(
    kernels: Kernels, label: str, cell: int, most: int, texts: dict[str, int]
) -> list[list[int | float | None]]:
    """The longest rows of a cell."""
    rows = _codes(kernels, label)
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


def ledger(profile: Profile, before: Profile | None = None) -> dict[str, Any] | None:
    """The parts of a step of each rank, microseconds, beside those of an earlier run; None without steps.

    A step is computing, communication that nothing hides, time in which the device does neither, and what
    none of these explains; the four add up to it. ``operators`` has each kind of kernel in a step of both
    runs, the largest growth first; kernels overlap, so these need not add up to the growth of ``computing``.
    """
    now = _parts(profile)
    if not now:
        return None
    found: dict[str, Any] = {"ranks": now, "before": _parts(before) if before is not None else None}
    if before is not None:
        later, sooner = _per_step(profile), _per_step(before)
        grown = {name: later.get(name, 0.0) - sooner.get(name, 0.0) for name in {*later, *sooner}}
        order = sorted(grown, key=lambda name: (-abs(grown[name]), name))[:MOST_OPERATORS]
        found["operators"] = [
            {
                "name": name or "?",
                "now_us": round(later.get(name, 0.0), 3),
                "before_us": round(sooner.get(name, 0.0), 3),
            }
            for name in order
        ]
    return found


def _parts(profile: Profile) -> list[dict[str, Any]]:
    found = []
    for rank in profile.ranks:
        if not rank.steps:
            continue
        n = len(rank.steps)
        sums = {
            name: sum(getattr(step, f"{name}_us") for step in rank.steps) / n
            for name in ("step", "computing", "exposed", "free")
        }
        rest = sums["step"] - sums["computing"] - sums["exposed"] - sums["free"]
        named: Mapping[str, float] = {**sums, "unexplained": rest}
        found.append(
            {
                "rank": rank_name(rank, profile.path),
                **{f"{name}_us": round(value, 2) for name, value in named.items()},
            }
        )
    return found


def _per_step(profile: Profile) -> dict[str, float]:
    """Time of each kind of kernel in a step, the mean over ranks."""
    found: dict[str, float] = {}
    ranks = [rank for rank in profile.ranks if rank.kernels is not None]
    for rank in ranks:
        if rank.kernels is None:
            continue
        for name, (_, us) in _by_label(rank.kernels).items():
            found[name] = found.get(name, 0.0) + us / max(1, len(rank.steps)) / len(ranks)
    return found


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 5) if whole > 0 else None


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
