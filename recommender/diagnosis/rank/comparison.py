"""Kernels of a run beside their like in an earlier run of the same job.

Kernels are alike that are of one kind, on one sort of core, in as many blocks, of the same shapes and types.
What came as often before is not lost to its number: where it takes longer now, something holds it up that did
not then.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ingest.profiles.facts.kernels import Floats, Integers, Kernels, TextColumn, stem
from ingest.profiles.facts.run import Profile
from recommender.diagnosis.rank.compared import Compared, group_means
from recommender.diagnosis.rank.view import KernelView, View, exclusive_shares

_TEXTS = ("core", "input_shapes", "input_types")


LEAST_ALIKE = 0.5
"""Share of the time of kernels with their like in the earlier run below which two runs are no one job."""


def pair_up(profile: Profile, before: Profile) -> Profile:
    """The earlier run; where each has one rank, under the number of the later one's: they are a pair."""
    if len(profile.ranks) != 1 or len(before.ranks) != 1:
        return before
    return replace(before, ranks=(replace(before.ranks[0], rank=profile.ranks[0].rank),))


def doubts(now: Sequence[View], before: Sequence[View]) -> list[str]:
    """Reasons against comparing two runs: ranks without a counterpart, kernels without their like."""
    numbers = {view.rank.rank for view in before}
    missing = [view.rank for view in now if view.rank.rank not in numbers][:5]
    reasons = []
    if missing:
        named = ", ".join(rank.folder if rank.rank is None else str(rank.rank) for rank in missing)
        reasons.append(f"the earlier run has no rank {named}: what it lost is not known")
    for view in now:
        if not isinstance(view, KernelView) or view.compared is None:
            continue
        time = np.nan_to_num(view.kernels.duration_us)
        known = np.isin(view.compared.group, view.compared.group_before)
        part = float(time[known].sum() / time.sum()) if time.sum() > 0 else 1.0
        if part < LEAST_ALIKE:
            which = "" if view.rank.rank is None else f"rank {view.rank.rank}: "
            reasons.append(
                f"{which}{part:.0%} of the time of the kernels has its like in the earlier run; "
                "is it the same job?"
            )
    return reasons


def compare(now: KernelView, before: KernelView, runs: float = 1.0) -> tuple[Compared, Compared]:
    """The kernels of a rank and of the same rank in an earlier run, each beside those of the earlier run.

    Args:
        now: A rank.
        before: The same rank in an earlier run.
        runs: Steps of the later run over steps of the earlier one.
    """
    later, sooner = now.kernels, before.kernels
    mine, theirs = _groups(later, sooner)
    count = int(max(mine.max(), theirs.max())) + 1
    later_n, sooner_n = np.bincount(mine, minlength=count), np.bincount(theirs, minlength=count)
    usual = (later_n > 0) & (later_n <= np.rint(sooner_n * runs))
    beyond = later.duration_us - group_means(sooner.duration_us, theirs, count)[mine]
    lengthening = _lengthening(now, before, runs)
    grown = _net(beyond, mine, count) * lengthening
    later_one = Compared(
        is_usual=usual[mine],
        grown_us=np.where(usual[mine], grown, 0.0),
        # A kernel that ran in no such form lengthens the step too.
        exclusive=np.where(sooner_n[mine] == 0, lengthening, now.exclusive),
        before=sooner,
        group=mine,
        group_before=theirs,
    )
    sooner_one = Compared(
        is_usual=usual[theirs],
        grown_us=np.zeros(len(sooner)),
        exclusive=before.exclusive,
        before=sooner,
        group=theirs,
        group_before=theirs,
    )
    return later_one, sooner_one


def _lengthening(now: KernelView, before: KernelView, runs: float) -> Floats:
    """Share of the additional time of each kernel that makes the step longer, shape (n,).

    A step is computing, exposed communication and free time. What computes longer makes it longer as far as
    less communication is not exposed for it, whether communication goes on beside it or not.
    """
    if not now.rank.steps or not before.rank.steps:
        return now.exclusive
    more, bare = (
        now.step_sum(part) - before.step_sum(part) * runs for part in ("computing_us", "exposed_us")
    )
    kept = min(1.0, max(0.0, more + min(0.0, bare)) / more) if more > 0 else 0.0
    return exclusive_shares(now.kernels) * kept


def _net(beyond: Floats, group: Integers, count: int) -> Floats:
    """Time beyond the mean of each kernel, scaled so that a group's sum is the group's time beyond it."""
    beyond = np.nan_to_num(beyond)
    above = np.maximum(0.0, beyond)
    net = np.maximum(0.0, np.bincount(group, weights=beyond, minlength=count))
    total = np.bincount(group, weights=above, minlength=count)
    return above * (net / np.where(total > 0, total, 1.0))[group]


def _kinds(later: Kernels, sooner: Kernels) -> tuple[TextColumn, TextColumn]:
    """Kinds of the kernels of both runs; their names without numbers where either run has no kinds."""
    kinds = later.texts["kind"], sooner.texts["kind"]
    if all(all(part.labels[int(code)] for code in np.unique(part.codes)) for part in kinds):
        return kinds
    names = later.texts["name"], sooner.texts["name"]
    first, second = (TextColumn(part.codes, tuple(map(stem, part.labels))) for part in names)
    return first, second


def _is_filled(column: TextColumn) -> bool:
    """True if any kernel has a text in a column."""
    return any(column.labels[int(code)] for code in np.unique(column.codes))


def _groups(later: Kernels, sooner: Kernels) -> tuple[Integers, Integers]:
    """Number of the group of each kernel of both runs, in one numbering; by the columns that both have."""
    blocks = [np.nan_to_num(k.numbers["blocks"]).astype(np.int64) for k in (later, sooner)]
    if not all(part.any() for part in blocks):
        blocks = [np.zeros_like(part) for part in blocks]
    _, group = np.unique(np.concatenate(blocks), return_inverse=True)
    columns = [(later.texts[name], sooner.texts[name]) for name in _TEXTS]
    columns = [pair for pair in columns if all(_is_filled(part) for part in pair)]
    for column in (_kinds(later, sooner), *columns):
        known: dict[str, int] = {}
        codes = [
            np.array([known.setdefault(text, len(known)) for text in part.labels], np.int64)[part.codes]
            for part in column
        ]
        _, group = np.unique(group * len(known) + np.concatenate(codes), return_inverse=True)
    return group[: len(later)], group[len(later) :]
