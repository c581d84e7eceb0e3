"""A diagnosis as one page: causes, the split of the step, and a heat map of operators that opens to its rows.

The page is one file that works without a network: styles, script and data are inside.
"""

from __future__ import annotations

import html
import json
import math
import re
from typing import TYPE_CHECKING

import numpy as np

from data import text as read
from kg.errors import InputError
from recommender.diagnosis.diagnosis import rank_name
from recommender.diagnosis.rank.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ingest.profiles.facts.kernels import Kernels
    from ingest.profiles.facts.run import Profile, Rank

TEMPLATE = "pages/diagnosis.html"
"""The shipped page: styles, script and two places to fill."""

MOST_OPERATORS = 40
"""Operator types of a rank in the heat map: the costliest."""
MOST_ROWS = 25
"""Rows behind an operator: the longest."""

_COLUMNS = (
    ("cube", "aic_mac_ratio"),
    ("cube load", "aic_mte2_ratio"),
    ("fixpipe", "aic_fixpipe_ratio"),
    ("vector", "aiv_vec_ratio"),
    ("vector load", "aiv_mte2_ratio"),
    ("vector store", "aiv_mte3_ratio"),
    ("scalar", "aiv_scalar_ratio"),
)


def write_page(path: Path, answer: Mapping[str, object], profile: Profile) -> None:
    """Write the page, beside and then in place.

    Args:
        path: The file.
        answer: The diagnosis with remedies, as JSON values.
        profile: Its facts.

    Raises:
        InputError: The place cannot be written to.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder", hint="name the file to write, such as run.html")
    heat = [_heat(rank, rank.kernels, profile.path) for rank in profile.ranks if rank.kernels is not None]
    content = _page(answer, heat)
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(content, encoding="utf-8")
        beside.replace(path)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault})") from fault


def _heat(rank: Rank, kernels: Kernels, path: str) -> dict[str, object]:
    """Operators of a rank with time, calls, pipes and their longest rows."""
    total_us = View(rank=rank).total_us
    label = kernels.label
    sums = np.bincount(label.codes, weights=np.nan_to_num(kernels.duration_us), minlength=len(label.labels))
    operators = []
    for code in np.argsort(-sums, kind="stable")[:MOST_OPERATORS]:
        rows = np.flatnonzero(label.codes == code)
        if not len(rows):
            continue
        weights = np.nan_to_num(kernels.duration_us[rows])
        pipes = []
        for _, name in _COLUMNS:
            values = kernels.pipe(name)[rows]
            counted = ~np.isnan(values) & (weights > 0)
            pipes.append(
                round(float(np.average(values[counted], weights=weights[counted])), 3)
                if counted.any()
                else None
            )
        longest = rows[np.argsort(-weights, kind="stable")[:MOST_ROWS]]
        operators.append(
            {
                "name": label.labels[int(code)] or "?",
                "us": round(float(sums[code]), 3),
                "share": round(float(sums[code]) / total_us, 4) if total_us > 0 else None,
                "n": len(rows),
                "pipes": pipes,
                "rows": [
                    {
                        "row": int(kernels.rows[i]),
                        "name": kernels.text("name", int(i))[:120],
                        "core": kernels.text("core", int(i)),
                        "us": _rounded(float(kernels.duration_us[i])),
                        "wait": _rounded(float(kernels.wait_us[i])),
                        "shapes": kernels.text("input_shapes", int(i))[:200],
                    }
                    for i in longest
                ],
            }
        )
    return {
        "rank": rank_name(rank, path),
        "file": kernels.file,
        "operators": operators,
    }


def _rounded(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def _page(answer: Mapping[str, object], heat: list[dict[str, object]]) -> str:
    content = {"answer": answer, "heat": heat, "columns": [name for name, _ in _COLUMNS]}
    data = json.dumps(content, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    title = html.escape(f"Diagnosis of {answer.get('path', '')}")
    slots = {"__TITLE__": title, "__DATA__": data}
    return re.sub("|".join(slots), lambda slot: slots[slot[0]], read(TEMPLATE))
