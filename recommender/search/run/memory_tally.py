"""The count of the configurations that the modelled memory leaves out of a space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InfeasibleError
from recommender.search.engine.candidates import LOOKED_AT
from recommender.space.made.memory_rule import RULES, SOURCE, MemoryRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.search.run.task import Task
    from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTally:
    """Counts of the configurations that the memory rule checked and left out.

    Attributes:
        checked: Configurations that were checked.
        complete: True where those are all.
        removed: How many of them each rule of ``RULES`` forbids.
        least_bytes: Least memory that one of them needs; infinite where no layout can be.
    """

    checked: int
    complete: bool
    removed: Mapping[str, int]
    least_bytes: float

    @property
    def remaining(self) -> int:
        """Configurations of those checked that remain."""
        return self.checked - sum(self.removed.values())

    def __str__(self) -> str:
        how = "configurations" if self.complete else "configurations drawn at random"
        parts = [f"{count:,} by {rule}" for rule, count in self.removed.items() if count]
        told = ", ".join(parts) or "none"
        return f"{SOURCE} leaves out {told}, of {self.checked:,} {how} that the other rules allow"


def fit_tally(space: SearchSpace, *, most: int, sample: int = 2048, seed: int = 0) -> FitTally | None:
    """Count what the memory rule leaves out of a space; None if the space has no such rule.

    Args:
        space: With its rule.
        most: Configurations up to which all are counted.
        sample: How many are drawn of a larger space.
        seed: Of the draw.

    Raises:
        InfeasibleError: Nothing satisfies the other constraints.
    """
    fit = next((c.holds for c in space.constraints if isinstance(c.holds, MemoryRule)), None)
    if fit is None:
        return None
    declared = space.declared
    complete = declared.size(most) is not None
    drawn = () if complete else (declared.sample_coordinates(np.random.default_rng(seed), sample),)
    counts, least = np.zeros(len(RULES) + 1, np.int64), math.inf
    for block in declared.blocks() if complete else drawn:
        codes, needed = fit.codes(space.parameters, block)
        counts += np.bincount(codes, minlength=len(counts))
        least = float(np.nanmin(needed, initial=least))
    return FitTally(
        checked=int(counts.sum()),
        complete=complete,
        removed={rule: int(count) for rule, count in zip(RULES, counts[1:], strict=True)},
        least_bytes=least,
    )


def fit_notes(task: Task) -> list[str]:
    """Notes on what the modelled memory leaves out of a search.

    Raises:
        InfeasibleError: It leaves nothing.
    """
    if task.memory_unchecked:
        return [f"rule skipped: {task.memory_unchecked}"]
    tally = fit_tally(task.space, most=LOOKED_AT)
    if tally is None:
        return []
    if tally.complete and not tally.remaining:
        raise InfeasibleError(f"nothing is left: {tally}", hint=_remedy(tally))
    off = (
        ""
        if task.is_modelled
        else "; it is modelled, not measured: modelled_memory: {margin: off} tries them all"
    )
    notes = [f"{tally}{off}"] if tally.remaining < tally.checked else []
    if task.default is not None and task.space.violated(task.default) is not None:
        notes.append("the default is among them: it is not tried, and no gain over it is told")
    return notes


def _remedy(tally: FitTally) -> str:
    """What would leave something."""
    if tally.removed["memory"]:
        return f"at least {tally.least_bytes / 1e9:.1f} GB of a device are needed"
    if tally.removed["precision"]:
        return "the device computes in none of the precisions"
    return "no layout of it can be"
