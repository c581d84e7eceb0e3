"""All analysers over all ranks: for each node of the graph the strongest evidence that the profile has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from recommender.diagnosis.patterns import (
    calls,
    chains,
    clocks,
    contention,
    epilogues,
    host,
    interfaces,
    links,
    memory,
    operators,
    packets,
    peers,
    pipes,
    settings,
    tiles,
    transfers,
)
from recommender.diagnosis.rank.comparison import compare
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, significance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.profiles.facts.run import Profile, Rank
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.thresholds import Thresholds

ANALYSERS = (
    *(pipes.find, operators.find, tiles.find, clocks.find, chains.find, epilogues.find, interfaces.find),
    *(host.find, calls.find, settings.find, memory.find),
    *(transfers.find, packets.find, links.find, contention.find),
)

SAME_LEVEL = 0.01
"""Share by which a property may differ between two runs of one job and be the same: warm-up, a last batch."""

ABSENT = 0.5
"""Least ratio of evidence against a pattern: a loss that is there may stay below the mark in a long step."""

DOUBT = 0.01
"""Chance that a reading says the opposite of what is: no ratio is above 101 to 1 on one reading's word."""


def analyse(
    profile: Profile, thresholds: Thresholds, before: Profile | None = None
) -> dict[str, SoftEvidence]:
    """The strongest evidence for each node; a node that nothing could show is absent: not collected.

    Args:
        profile: The run.
        thresholds: What shows each pattern.
        before: An earlier run of the same job: what kernels that ran there too take beyond what they took.
    """
    return strongest(everywhere(views(profile, before)[0], thresholds))


def views(profile: Profile, before: Profile | None = None) -> tuple[list[View], list[View]]:
    """Each rank of a run and of an earlier one as analysers look at them, each told what the others tell."""
    now = [View(rank) for rank in profile.ranks]
    sooner = [] if before is None else [View(rank) for rank in before.ranks]
    by_rank = {view.rank.rank: view for view in sooner}
    for view in now:
        if (twin := by_rank.get(view.rank.rank)) is not None:
            compare(view, twin, repeats(view.rank, twin.rank))
    cores = _agreed(now, sooner)
    for group in (now, sooner):
        highest = max((clocks.highest_mhz(view) for view in group), default=0.0)
        for view in group:
            view.peer_mhz = highest
    for view in now:
        view.cores = cores or view.cores
    return now, sooner


def repeats(now: Rank, before: Rank) -> float:
    """Steps of a later run over steps of an earlier one; 1 where either is not told."""
    return len(now.steps) / len(before.steps) if now.steps and before.steps else 1.0


def _agreed(now: list[View], before: list[View]) -> float:
    """Cube cores that two ranks or more agree on, else those of the earlier run; 0 if nothing tells.

    What one rank tells alone errs where the clock falls, or where every large kernel has a block too many.
    """
    for group, least in ((now, 2), (before, 1)):
        counts = Counter(view.cores for view in group if view.cores).most_common(2)
        if counts and counts[0][1] >= least and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            return counts[0][0]
    return 0.0


def everywhere(group: list[View], thresholds: Thresholds) -> dict[tuple[str, int | None], SoftEvidence]:
    """The strongest evidence for each node on each rank."""
    found: dict[tuple[str, int | None], SoftEvidence] = {}
    for item in _all(group, thresholds):
        before = found.get((item.node, item.rank))
        if before is None or _strength(item) > _strength(before):
            found[item.node, item.rank] = item
    return found


def strongest(found: Mapping[tuple[str, int | None], SoftEvidence]) -> dict[str, SoftEvidence]:
    """The strongest evidence for each node over all ranks, told what it costs beyond the others."""
    best: dict[str, SoftEvidence] = {}
    costs: dict[str, dict[int | None, float]] = {}
    for item in found.values():
        costs.setdefault(item.node, {})[item.rank] = item.lost_us
        if item.node not in best or _strength(item) > _strength(best[item.node]):
            best[item.node] = item
    for node, item in best.items():
        others = [cost for rank, cost in costs[node].items() if rank != item.rank]
        if others:
            best[node] = replace(item, beyond_us=max(0.0, item.lost_us - sum(others) / len(others)))
    return best


def _strength(item: SoftEvidence) -> tuple[float, float]:
    return item.shown * item.share, item.shown


def _all(group: list[View], thresholds: Thresholds) -> Iterator[SoftEvidence]:
    for view in group:
        for find in ANALYSERS:
            yield from find(view, thresholds)
    yield from peers.find(group, thresholds)


def detected(item: SoftEvidence, least: float = SIGNIFICANT_SHARE) -> float:
    """How far a pattern is there and matters, 0 to 1."""
    return item.shown if item.is_setting else item.shown * significance(item.share, least)


def ratio(item: SoftEvidence, least: float = SIGNIFICANT_SHARE) -> float:
    """Likelihood ratio of the evidence: of the pattern being there over its not being there."""
    there = detected(item, least)
    return max(ABSENT, (DOUBT + there) / (DOUBT + 1 - there))


def ratios(found: Mapping[str, SoftEvidence], least: float = SIGNIFICANT_SHARE) -> dict[str, float]:
    """Likelihood ratio by node."""
    return {node: ratio(item, least) for node, item in found.items()}


def grown(after: Profile, before: Profile, thresholds: Thresholds) -> dict[str, SoftEvidence]:
    """What a later profile shows beyond an earlier one, rank by rank: each cost less what it cost before.

    What an earlier run of fewer steps lost counts as often as the later one has steps for each of its own.
    A setting that was there before explains nothing that is new. What the earlier profile did not show or
    collect can cost no more than the step grew.
    """
    now, sooner = views(after, before)
    longer = {rank.rank: rank for rank in before.ranks}
    times = {
        rank.rank: repeats(rank, longer[rank.rank]) if rank.rank in longer else 1.0 for rank in after.ranks
    }
    usual = max(times.values(), default=1.0)
    earlier = {
        key: replace(item, lost_us=item.lost_us * times.get(key[1], usual))
        for key, item in everywhere(sooner, thresholds).items()
    }
    length = {view.rank.rank: view.total_us * times.get(view.rank.rank, 1.0) for view in sooner}
    growth = {view.rank.rank: view.total_us - length.get(view.rank.rank, 0.0) for view in now}
    later = {
        key: _more(item, earlier.get(key), max(0.0, growth.get(key[1], max(growth.values(), default=0.0))))
        for key, item in everywhere(now, thresholds).items()
    }
    return strongest({key: item for key, item in later.items() if item is not None})


PARTS = frozenset(
    {
        *("exposed-communication", "data-parallel-communication", "all-to-all-communication"),
        *("collective-wait", "pipeline-bubble"),
    }
)
"""Patterns whose published marks say which part of a step is unusual in any job. Beside an earlier run of the
same job a part that has grown is unusual, whatever it is."""


def _more(item: SoftEvidence, old: SoftEvidence | None, growth_us: float) -> SoftEvidence | None:
    """Evidence of what is new; None of a setting that was there before."""
    if item.is_setting:
        return item if old is None or item.shown > old.shown + SAME_LEVEL else None
    more = min(item.lost_us, growth_us) if old is None else max(0.0, item.lost_us - old.lost_us)
    if (
        old is not None
        and item.level is not None
        and old.level is not None
        and item.level <= old.level * (1 + SAME_LEVEL)
    ):
        more = 0.0
    part = more / item.lost_us if item.lost_us > 0 else 0.0
    shown = 1.0 if item.node in PARTS and more > 0 else item.shown
    return replace(item, shown=shown, lost_us=more, share=item.share * part)
