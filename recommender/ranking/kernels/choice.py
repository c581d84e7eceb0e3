"""The configurations of a kernel that a plan names: a start, two of another kind, and single changes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.nouns.values import Value
from recommender.ranking.kernels.domain import KernelDomain
from recommender.ranking.kernels.question import KernelQuestion
from recommender.ranking.kernels.tile_times import TileTimes

RESOLUTION = 0.05
"""Share of time below which the model does not tell configurations apart; a choice."""
WORTH = 1.15
"""Most modelled time over the start's of a change worth a test; a choice, within the model's error."""
OTHER_KIND = 1.5
"""The same for a configuration of another kind."""
MOST_CHANGES = 5

_TRITON = {"num_warps": 4.0, "num_stages": 3.0, "GROUP_SIZE_M": 8.0}
"""Where Triton starts: its defaults (https://triton-lang.org/main/python-api/generated/triton.Config.html)
and the order of tiles of its tutorial on matrix products."""
_AMD_STAGES = 2.0
"""Stages of Triton's backend for AMD, which keeps a stage less."""
_EXPERTS_GROUP = 32.0
"""Rows of tiles in a group where vLLM has no table of experts (its default for quantised blocks)."""
_SIDES = (
    ("BLOCK_SIZE_M", "BLOCK_SIZE_N"), ("BLOCK_M", "BLOCK_N"), ("baseM", "baseN"),
    ("BLOCK_SIZE", "ROWS"), ("tileColumns", "tileRows"), ("BLOCK_SIZE",), ("tileLength",),
)  # fmt: skip
"""Parameters whose values make a kind of configuration, the first that a space has."""


@dataclass(frozen=True, slots=True)
class KernelChoice:
    """Rows of a domain that a plan names.

    Attributes:
        start: The row to begin with.
        others: Rows of another kind, best first.
        steps: Rows that differ from the start in one parameter, and which.
    """

    start: int
    others: tuple[int, ...]
    steps: tuple[tuple[int, str], ...]


def choose_rows(
    question: KernelQuestion,
    domain: KernelDomain,
    times: TileTimes,
    fixed: Mapping[str, Value] | None = None,
) -> KernelChoice | None:
    """The rows to name; None where no row has the fixed values, or none fits.

    Args:
        question: What is asked.
        domain: The configurations.
        times: Their expected times.
        fixed: Values that the start has to have, such as those of a measured case.
    """
    usual = np.where(domain.rows_with(fixed or {}), times.total_s, np.inf)
    if not np.isfinite(usual).any():
        return None
    start = best_row(question, domain, usual)
    sides = next((names for names in _SIDES if all(name in domain.columns for name in names)), ())
    kinds = (
        np.stack([domain.columns[name] for name in sides], axis=1) if sides else np.zeros((len(domain), 0))
    )
    kinds = np.sort(kinds, axis=1)  # a tile on its side is of the same kind
    near = np.where(times.total_s <= times.total_s[start] * OTHER_KIND, times.total_s, np.inf)
    others: list[int] = []
    while len(others) < 2:
        for row in (start, *others):
            near = np.where((kinds == kinds[row]).all(axis=1), np.inf, near)
        if not np.isfinite(near).any():
            break
        others.append(best_row(question, domain, near))
    return KernelChoice(start=start, others=tuple(others), steps=_steps(domain, times.total_s, start))


def best_row(question: KernelQuestion, domain: KernelDomain, seconds: NDArray[np.float64]) -> int:
    """The fastest row; of those that the model does not tell apart the one nearest to where people start."""
    near = np.flatnonzero(seconds <= seconds.min() * (1 + RESOLUTION))
    far = np.zeros(len(near))
    for name, value in _usual(question).items():
        if name in domain.columns:
            far += np.abs(np.log2(np.maximum(domain.columns[name][near], 1) / value))
    return int(near[np.lexsort((seconds[near], np.round(far, 6)))[0]])


def _usual(question: KernelQuestion) -> dict[str, float]:
    if question.form != "triton" or question.device.ascend:
        return {}
    usual = dict(_TRITON)
    if str(question.device.facts.get("compute_capability", "")).startswith("gfx"):
        usual["num_stages"] = _AMD_STAGES
    if question.kernel.grouped:
        few = question.sizes["M"] <= question.sizes.get("E", 1)  # vLLM's own rule: no group for so few tokens
        usual["GROUP_SIZE_M"] = 1.0 if few else _EXPERTS_GROUP
    return usual


def _steps(domain: KernelDomain, seconds: NDArray[np.float64], start: int) -> tuple[tuple[int, str], ...]:
    """Rows that differ in one parameter, of each the next value up and down, and may be as fast or faster."""
    differs = {name: values != values[start] for name, values in domain.columns.items()}
    count = np.sum(list(differs.values()), axis=0)
    found: list[tuple[float, int, str]] = []
    for name, other in differs.items():
        values = domain.columns[name]
        rows = np.flatnonzero(other & (count == 1) & (seconds <= seconds[start] * WORTH))
        above, below = rows[values[rows] > values[start]], rows[values[rows] < values[start]]
        found += [(float(seconds[row]), int(row), name) for row in above[np.argsort(values[above])][:1]]
        found += [(float(seconds[row]), int(row), name) for row in below[np.argsort(-values[below])][:1]]
    return tuple((row, name) for _, row, name in sorted(found)[:MOST_CHANGES])
