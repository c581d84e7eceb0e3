"""Kernels of a run beside their like in an earlier run of the same job.

Kernels are alike that are of one kind, on one sort of core, in as many blocks, of the same shapes and types.
What came as often before is not lost to its number: where it takes longer now, something holds it up that did
not then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import TextColumn, stem
from recommender.diagnosis.rank.view import alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.profiles.facts.kernels import Integers, Kernels, Mask
    from ingest.profiles.facts.run import Profile
    from recommender.diagnosis.rank.view import Floats, View

_TEXTS = ("core", "input_shapes", "input_types")


@dataclass(frozen=True, slots=True)
class Alike:
    """What an earlier run tells of the n compute kernels of a rank.

    Attributes:
        is_usual: Whether their like came at least as often before, shape (n,).
        grown_us: What usual ones add to the step beyond the mean of their like, the like that take less set
            off against it; 0 for others, shape (n,).
        before: The rank in the earlier run, of m compute kernels.
        group: Number of the group of like kernels that each belongs to, shape (n,).
        group_before: The same of those of the earlier run, shape (m,).
    """

    is_usual: Mask
    grown_us: Floats
    before: View
    group: Integers
    group_before: Integers

    def mean_before(self, values: Floats) -> Floats:
        """Mean of what was known of the like of each kernel, shape (m,) to (n,); nan where nothing was."""
        count = int(max(self.group.max(), self.group_before.max())) + 1
        return _mean(values, self.group_before, count)[self.group]


LEAST_ALIKE = 0.5
"""Share of the time of kernels with their like in the earlier run below which two runs are no one job."""


def facing(profile: Profile, before: Profile) -> Profile:
    """The earlier run; where each has one rank, under the number of the later one's: they are a pair."""
    if len(profile.ranks) != 1 or len(before.ranks) != 1:
        return before
    return replace(before, ranks=(replace(before.ranks[0], rank=profile.ranks[0].rank),))


def doubts(now: Sequence[View], before: Sequence[View]) -> list[str]:
    """What speaks against comparing two runs: ranks without a counterpart, kernels without their like."""
    numbers = {view.rank.rank for view in before}
    missing = [view.rank for view in now if view.rank.rank not in numbers][:5]
    found = []
    if missing:
        named = ", ".join(rank.folder if rank.rank is None else str(rank.rank) for rank in missing)
        found.append(f"the earlier run has no rank {named}: what it lost is not known")
    for view in now:
        if view.alike is None or view.kernels is None:
            continue
        time = np.nan_to_num(view.kernels.duration_us)
        known = np.isin(view.alike.group, view.alike.group_before)
        part = float(time[known].sum() / time.sum()) if time.sum() > 0 else 1.0
        if part < LEAST_ALIKE:
            which = "" if view.rank.rank is None else f"rank {view.rank.rank}: "
            found.append(
                f"{which}{part:.0%} of the time of the kernels has its like in the earlier run; "
                "is it the same job?"
            )
    return found


def compare(now: View, before: View, runs: float = 1.0) -> None:
    """Tell both views what is usual in them; nothing where either has no kernels.

    Args:
        now: A rank.
        before: The same rank in an earlier run.
        runs: Steps of the later run over steps of the earlier one.
    """
    later, sooner = now.kernels, before.kernels
    if later is None or sooner is None or not len(later) or not len(sooner):
        return
    mine, theirs = _groups(later, sooner)
    count = int(max(mine.max(), theirs.max())) + 1
    later_n, sooner_n = np.bincount(mine, minlength=count), np.bincount(theirs, minlength=count)
    usual = (later_n > 0) & (later_n <= np.rint(sooner_n * runs))
    beyond = later.duration_us - _mean(sooner.duration_us, theirs, count)[mine]
    bare = _bare(now, before, runs)
    grown = _net(beyond, mine, count) * bare
    now.alike = Alike(usual[mine], np.where(usual[mine], grown, 0.0), before, mine, theirs)
    now.alone = np.where(
        sooner_n[mine] == 0, bare, now.alone
    )  # what ran in no such form lengthens the step too
    before.alike = Alike(usual[theirs], np.zeros(len(sooner)), before, theirs, theirs)


def _bare(now: View, before: View, runs: float) -> Floats:
    """Share of what each kernel takes more that makes the step longer, shape (n,).

    A step is computing, exposed communication and free time. What computes longer makes it longer as far as
    less communication is not exposed for it, whether communication goes on beside it or not.
    """
    kernels = now.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    if not now.rank.steps or not before.rank.steps:
        return now.alone
    more, bare = (
        now.step_sum(part) - before.step_sum(part) * runs for part in ("computing_us", "exposed_us")
    )
    kept = min(1.0, max(0.0, more + min(0.0, bare)) / more) if more > 0 else 0.0
    return alone(kernels) * kept


def _net(beyond: Floats, group: Integers, count: int) -> Floats:
    """What kernels take beyond the mean, scaled so that a group's sum is what the group takes beyond it."""
    beyond = np.nan_to_num(beyond)
    above = np.maximum(0.0, beyond)
    net = np.maximum(0.0, np.bincount(group, weights=beyond, minlength=count))
    whole = np.bincount(group, weights=above, minlength=count)
    return above * (net / np.where(whole > 0, whole, 1.0))[group]


def _mean(values: Floats, group: Integers, count: int) -> Floats:
    """Mean of what is known in each group; nan where nothing is, shape (count,)."""
    known = ~np.isnan(values)
    n = np.bincount(group[known], minlength=count)
    total = np.bincount(group[known], weights=values[known], minlength=count)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _kinds(later: Kernels, sooner: Kernels) -> tuple[TextColumn, TextColumn]:
    """Kinds of the kernels of both runs; their names without numbers where either run has no kinds."""
    kinds = later.texts["kind"], sooner.texts["kind"]
    if all(all(part.labels[int(code)] for code in np.unique(part.codes)) for part in kinds):
        return kinds
    names = later.texts["name"], sooner.texts["name"]
    first, second = (TextColumn(part.codes, tuple(map(stem, part.labels))) for part in names)
    return first, second


def _is_told(column: TextColumn) -> bool:
    """Whether any kernel has a text in a column."""
    return any(column.labels[int(code)] for code in np.unique(column.codes))


def _groups(later: Kernels, sooner: Kernels) -> tuple[Integers, Integers]:
    """Number of the group of each kernel of both runs, in one numbering; by what both runs tell."""
    blocks = [np.nan_to_num(k.numbers["blocks"]).astype(np.int64) for k in (later, sooner)]
    if not all(part.any() for part in blocks):
        blocks = [np.zeros_like(part) for part in blocks]
    _, group = np.unique(np.concatenate(blocks), return_inverse=True)
    columns = [(later.texts[name], sooner.texts[name]) for name in _TEXTS]
    told = [pair for pair in columns if all(_is_told(part) for part in pair)]
    for column in (_kinds(later, sooner), *told):
        known: dict[str, int] = {}
        codes = [
            np.array([known.setdefault(text, len(known)) for text in part.labels], np.int64)[part.codes]
            for part in column
        ]
        _, group = np.unique(group * len(known) + np.concatenate(codes), return_inverse=True)
    return group[: len(later)], group[len(later) :]
