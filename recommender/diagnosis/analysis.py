"""All analysers over all ranks: the strongest evidence of a profile for each node of the graph."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import median

from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.ledger.accounts import FREE, ledger_of
from recommender.diagnosis.ledger.reasons import AFTER, BEFORE
from recommender.diagnosis.patterns import (
    chains,
    clocks,
    gaps,
    growth,
    links,
    memory,
    operators,
    packets,
    peers,
    phases,
    pipes,
    settings,
    sharing,
    tiles,
    transfers,
)
from recommender.diagnosis.patterns.clocks import highest_mhz
from recommender.diagnosis.rank.compared import Compared
from recommender.diagnosis.rank.comparison import compare
from recommender.diagnosis.rank.groups import uses_of_groups
from recommender.diagnosis.rank.host_calls import launch_us
from recommender.diagnosis.rank.view import NOT_KNOWN, DeviceFacts, KernelView, View, view_of
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, Thresholds, significance

Evidence = Mapping[tuple[str, int | None], "SoftEvidence"]
"""Evidence by node and rank."""

KERNEL_ANALYSERS = (
    *(pipes.find, operators.find, tiles.find, clocks.find, sharing.find, chains.find, phases.find),
    growth.find,
)
"""Analysers of ranks whose kernels were collected: what they find is lost in computing."""

COMMUNICATION_ANALYSERS = (transfers.find, packets.find, links.find)
"""Analysers of exposed communication."""

ANALYSERS = (gaps.find, settings.find, memory.find)
"""Analysers of any rank."""

SAME_LEVEL = 0.01
"""Share by which a property of one job may differ from run to run: warm-up, a last batch."""

ABSENT = 0.5
"""Least ratio of evidence against a pattern: a loss that is there may stay below the mark in a long step."""

DOUBT = 0.01
"""Chance that a reading is the opposite of the truth: no ratio exceeds 101 to 1 on one reading."""


def analyse(
    profile: Profile, thresholds: Thresholds, before: Profile | None = None
) -> dict[str, SoftEvidence]:
    """The strongest evidence for each node; a node for which nothing was collected is absent.

    Args:
        profile: The run.
        thresholds: The marks of each pattern.
        before: An earlier run of the same job: kernels that ran there too lose what they take beyond it.
    """
    return strongest(evidence_by_rank(views(profile, before)[0], thresholds))


def views(
    profile: Profile, before: Profile | None = None, device: DeviceFacts = NOT_KNOWN
) -> tuple[list[View], list[View]]:
    """The ranks of a run and of an earlier one as analysers see them.

    Ranks of a run share their highest clock and the number of cores that most of them show; a rank that the
    earlier run has too is compared with it. A clock that is low all the time shows beside the earlier run
    alone, so its highest clock counts for the later run, too, unless the devices differ; so does the nominal
    one of a known device.
    """
    earlier_ranks = {} if before is None else {rank.rank: rank for rank in before.ranks if rank.steps}
    now = [_booked(view_of(rank), earlier_ranks.get(rank.rank)) for rank in profile.ranks]
    sooner = [] if before is None else [_booked(view_of(rank)) for rank in before.ranks]
    cores = _agreed_cores(now, sooner)
    mhz, mhz_before = (max(map(highest_mhz, group), default=0.0) for group in (now, sooner))
    if _have_same_device(now, sooner):
        mhz = max(mhz, mhz_before)
    places = {view.rank.rank: place for place, view in enumerate(sooner)}
    uses_before: Mapping[str, str] = {} if before is None else uses_of_groups(before.ranks)
    earlier = [replace(_with_peers(view, mhz_before, None), uses=uses_before) for view in sooner]
    uses = uses_of_groups(profile.ranks)
    early, late = (
        [view.gap_us.get(place, 0.0) / max(1, len(view.rank.steps)) for view in now]
        for place in (BEFORE, AFTER)
    )
    launches = [launch_us(view.rank.calls) for view in now]
    later: list[View] = []
    for at, view in enumerate(now):
        before_us, after_us = (
            which(us[:at] + us[at + 1 :]) * len(view.rank.steps) if len(now) > 1 else math.inf
            for which, us in ((median, early), (min, late))
        )
        compared: Compared | None = None
        place = places.get(view.rank.rank)
        twin = None if place is None else sooner[place]
        if place is not None and isinstance(view, KernelView) and isinstance(twin, KernelView):
            compared, compared_before = compare(view, twin, step_ratio(view.rank, twin.rank))
            earlier[place] = replace(_with_peers(twin, mhz_before, compared_before), uses=uses_before)
        seen = _with_peers(view, mhz, compared)
        others = [us for us in launches[:at] + launches[at + 1 :] if us > 0]
        seen = replace(
            seen,
            peers_before_us=before_us,
            peers_after_us=after_us,
            peers_launch_us=median(others) if others else math.inf,
        )
        later.append(replace(seen, agreed_cores=cores, uses=uses, device=device))
    return later, earlier


def _booked(view: View, earlier: Rank | None = None) -> View:
    """The view with the gaps of its ledger."""
    if not view.rank.steps:
        return view
    ledger = ledger_of(view.rank, earlier=earlier)
    columns = {
        item.reason: ledger.time_us[:, at] for at, item in enumerate(ledger.accounts) if item.part == FREE
    }
    return replace(view, gaps_by_step=columns)


def _have_same_device(now: list[View], before: list[View]) -> bool:
    """False where two runs are known to be of different devices."""
    devices = [{view.rank.device for view in group if view.rank.device} for group in (now, before)]
    return not all(devices) or devices[0] == devices[1]


def _with_peers(view: View, peer_mhz: float, compared: Compared | None) -> View:
    if not isinstance(view, KernelView):
        return view
    return replace(view, peer_mhz=peer_mhz, compared=compared)


def step_ratio(now: Rank, before: Rank) -> float:
    """Steps of a later run over steps of an earlier one; 1 where either has none."""
    return len(now.steps) / len(before.steps) if now.steps and before.steps else 1.0


def _agreed_cores(now: list[View], before: list[View]) -> float:
    """Cube cores that two ranks or more agree on, else those of the earlier run; 0 if none shows them.

    The number of one rank alone errs where the clock falls, or where every large kernel has a block too many.
    """
    for group, least in ((now, 2), (before, 1)):
        counts = Counter(view.measured_cores for view in group if view.measured_cores).most_common(2)
        if counts and counts[0][1] >= least and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            return counts[0][0]
    return 0.0


def evidence_by_rank(group: list[View], thresholds: Thresholds) -> dict[tuple[str, int | None], SoftEvidence]:
    """The strongest evidence for each node on each rank."""
    best: dict[tuple[str, int | None], SoftEvidence] = {}
    for item in _all(group, thresholds):
        before = best.get((item.node, item.rank))
        if before is None or _strength(item) > _strength(before):
            best[item.node, item.rank] = item
    return best


def strongest(evidence: Mapping[tuple[str, int | None], SoftEvidence]) -> dict[str, SoftEvidence]:
    """The strongest evidence for each node over all ranks, with its cost beyond that of the others."""
    best: dict[str, SoftEvidence] = {}
    costs: dict[str, dict[int | None, float]] = {}
    for item in evidence.values():
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
        if isinstance(view, KernelView):
            for find_in_kernels in KERNEL_ANALYSERS:
                yield from find_in_kernels(view, thresholds)
        for find in ANALYSERS:
            yield from find(view, thresholds)
        for find in COMMUNICATION_ANALYSERS:
            for item in find(view, thresholds):
                yield item.capped(view.step_sum("exposed_us")) if view.rank.steps else item
    yield from peers.find(group, thresholds)


def detection(item: SoftEvidence, least: float = SIGNIFICANT_SHARE) -> float:
    """Degree to which a pattern is there and matters, 0 to 1."""
    return item.shown if item.is_setting else item.shown * significance(item.share, least)


def ratio(item: SoftEvidence, least: float = SIGNIFICANT_SHARE) -> float:
    """Likelihood ratio of the evidence: if the pattern is there, over if it is not."""
    there = detection(item, least)
    return max(ABSENT, (DOUBT + there) / (DOUBT + 1 - there))


def ratios(evidence: Mapping[str, SoftEvidence], least: float = SIGNIFICANT_SHARE) -> dict[str, float]:
    """Likelihood ratio by node."""
    return {node: ratio(item, least) for node, item in evidence.items()}


def new_losses(now: list[View], before: list[View], thresholds: Thresholds) -> dict[str, SoftEvidence]:
    """Evidence of the losses of a run that an earlier one did not have, both as :func:`views` gives them.

    Rank by rank each cost counts less its cost before. A loss of an earlier run of fewer steps counts as
    often as the later one has steps for each of its own. A setting that was there before explains nothing
    that is new. A loss that the earlier profile did not show or collect can cost no more than the step grew.
    """
    longer = {view.rank.rank: view.rank for view in before}
    times = {
        view.rank.rank: step_ratio(view.rank, longer[view.rank.rank]) if view.rank.rank in longer else 1.0
        for view in now
    }
    usual = max(times.values(), default=1.0)
    earlier = {
        key: replace(item, lost_us=item.lost_us * times.get(key[1], usual))
        for key, item in evidence_by_rank(before, thresholds).items()
    }
    length = {view.rank.rank: view.total_us * times.get(view.rank.rank, 1.0) for view in before}
    return beyond(now, evidence_by_rank(now, thresholds), earlier, length)


def beyond(
    now: Iterable[View], evidence: Evidence, earlier: Evidence, length: Mapping[int | None, float]
) -> dict[str, SoftEvidence]:
    """The part of the evidence of a run that is beyond what was lost before, in as many steps.

    Args:
        now: Its ranks.
        evidence: Its evidence by node and rank.
        earlier: Evidence of before.
        length: Length of all steps of before, by rank.
    """
    growth = {view.rank.rank: view.total_us - length.get(view.rank.rank, 0.0) for view in now}
    later = {
        key: _more(item, earlier.get(key), max(0.0, growth.get(key[1], max(growth.values(), default=0.0))))
        for key, item in evidence.items()
    }
    return strongest({key: item for key, item in later.items() if item is not None})


PARTS = frozenset(
    {
        *("exposed-communication", "data-parallel-communication", "all-to-all-communication"),
        *("collective-wait", "pipeline-bubble"),
    }
)
"""Patterns whose published marks are of the part of a step that is unusual in any job. Beside an earlier run
of the same job a part that has grown is unusual, whatever its size."""


def _more(item: SoftEvidence, old: SoftEvidence | None, growth_us: float) -> SoftEvidence | None:
    """The part of some evidence that is new; None for a setting that was there before."""
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
