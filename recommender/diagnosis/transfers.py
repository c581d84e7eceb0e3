"""Communication that computation does not hide: waiting told from transferring, and what slows a transfer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts import Place
from recommender.diagnosis.evidence import PLACES, Evidence, Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.profiles.facts import Collective, Link, Rank
    from recommender.diagnosis.evidence import View
    from recommender.diagnosis.thresholds import Thresholds

_GRADIENT = ("allreduce", "reducescatter")
_LOCAL = "LOCAL"
_METRICS = {"SDMA": "sdma_packet_bytes", "HCCS": "sdma_packet_bytes", "RDMA": "rdma_packet_bytes"}
LEAST_BYTES = 1e6
"""A link that moved less says nothing about its bandwidth: fixed costs dominate below."""


def find(view: View, thresholds: Thresholds) -> Iterator[Evidence]:
    """The exposed time as a whole, then its parts."""
    exposed = view.step_sum("exposed_us")
    if view.total_us <= 0 or (exposed <= 0 and not view.rank.collectives and not view.rank.links):
        return
    share = exposed / view.total_us
    bad = float(thresholds.shows("exposed-communication", "communication_not_overlapped_share", share))
    yield _evidence(
        view,
        "exposed-communication",
        exposed,
        f"communication that nothing hides is {share:.0%} of the step",
        Reading(metric="communication_not_overlapped_share", value=share, unit="1"),
        tuple(step.place for step in view.rank.steps[:3]),
        shown=bad,
    )
    together = exposed + view.step_sum("overlapped_us")
    bare = exposed / together if together > 0 else 1.0
    yield from _waits(view, thresholds, bare)
    yield from _gradients(view, bare, bad)
    yield from _exchange(view, bare, bad)
    yield from _packets(view, thresholds, bare)
    yield from _links(view, thresholds, bare)
    yield from _retransmission(view, thresholds, bare)


def _waits(view: View, thresholds: Thresholds, bare: float) -> Iterator[Evidence]:
    """Ranks that stand in a collective, and stages that wait for their neighbour."""
    both = view.rank.collectives
    shared, pairs = [c for c in both if not c.is_p2p], [c for c in both if c.is_p2p]
    stood = sum(_standing(c) for c in shared) * bare
    share = stood / view.total_us
    if shared:
        yield _evidence(
            view,
            "collective-wait",
            stood,
            f"collectives move data for {sum(c.transit_ms for c in shared):.1f} of their "
            f"{sum(c.elapse_ms for c in shared):.1f} ms; the rest is waiting",
            Reading(metric="collective_wait_share", value=share, unit="1"),
            places(shared),
            shown=float(thresholds.shows("collective-wait", "collective_wait_share", share)),
            gone=shared,
        )
    told = view.step_sum("bubble_us")
    stood = max(sum(_standing(c) for c in pairs) * bare, told)
    if pairs or told:
        share = stood / view.total_us
        yield _evidence(
            view,
            "pipeline-bubble",
            stood,
            f"sends and receives between stages stand still for {stood / 1e3:.1f} ms",
            Reading(metric="bubble_share", value=share, unit="1"),
            places(pairs),
            shown=float(thresholds.shows("pipeline-bubble", "bubble_share", share)),
            gone=pairs,
        )


def _standing(item: Collective) -> float:
    """Microseconds in which an operator moves nothing."""
    return max(0.0, item.elapse_ms * 1e3 - _moving(item))


def _moving(item: Collective) -> float:
    """Microseconds in which data moves.

    Where the operator has no transit time of its own (sends of pairs) it is the longest time over one kind of
    link; else that sum counts links that work side by side one after another.
    """
    if item.transit_ms > 0:
        return item.transit_ms * 1e3
    longest = max((t.time_ms for t in item.transfers if t.transport != _LOCAL), default=0.0)
    return min(max(0.0, item.elapse_ms - item.wait_ms), longest) * 1e3


def _gradients(view: View, bare: float, bad: float) -> Iterator[Evidence]:
    """Reductions whose transfer nothing hides."""
    mine = [c for c in view.rank.collectives if _is(c, _GRADIENT)]
    moving = sum(_moving(c) for c in mine) * bare
    if mine:
        yield _evidence(
            view,
            "data-parallel-communication",
            moving,
            f"reductions move data for {moving / 1e3:.1f} ms beside no computation",
            Reading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
            places(mine),
            shown=bad,
        )


def _exchange(view: View, bare: float, bad: float) -> Iterator[Evidence]:
    mine = [c for c in view.rank.collectives if _is(c, ("alltoall", "all_to_all"))]
    if not mine:
        return
    moving = sum(_moving(c) for c in mine) * bare
    yield _evidence(
        view,
        "all-to-all-communication",
        moving,
        f"all-to-all moves data for {moving / 1e3:.1f} ms beside no computation",
        Reading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
        places(mine),
        shown=bad,
    )
    stood = sum(_standing(c) for c in mine) * bare
    yield _evidence(
        view,
        "ep-load-imbalance",
        stood,
        f"ranks wait {stood / 1e3:.1f} ms for each other in all-to-all",
        Reading(metric="all-to-all wait share", value=stood / view.total_us, unit="1"),
        places(mine),
        gone=mine,
    )


def _is(item: Collective, parts: tuple[str, ...]) -> bool:
    low = item.name.lower().replace("_", "")
    return any(part.replace("_", "") in low for part in parts)


def _packets(view: View, thresholds: Thresholds, bare: float) -> Iterator[Evidence]:
    """Transfers cut small, or at odd sizes: what they take beyond the same bytes at the best rate seen."""
    small_us = odd_us = 0.0
    shares = []
    small, odd = [], []
    best = _best_rates(view.rank.collectives)
    for item in view.rank.collectives:
        for transfer in item.transfers:
            metric, rate = _METRICS.get(transfer.transport), best.get(transfer.transport, 0.0)
            if metric is None or not transfer.packets or rate <= 0:
                continue
            size, count, time = (
                np.array(column, dtype=float) for column in zip(*transfer.packets, strict=True)
            )
            excess = np.maximum(0.0, time - size * count / rate) * 1e3
            is_small = thresholds.shows("small-packets", metric, size * 1e6)
            is_odd = (np.rint(size * 1e6) % 512 != 0).astype(float)
            shares.append((float((is_small * size * count).sum()), float((size * count).sum())))
            limit = _moving(item)
            scale = min(1.0, limit / excess.sum()) if excess.sum() > 0 else 0.0
            if (got := float((excess * is_small * (1 - is_odd)).sum()) * scale) > 0:
                small_us += got
                small.append(item)
            if (got := float((excess * is_odd).sum()) * scale) > 0:
                odd_us += got
                odd.append(item)
    if not shares:
        return
    part = sum(mine for mine, _ in shares) / max(sum(whole for _, whole in shares), 1e-12)
    yield _evidence(
        view,
        "small-packets",
        small_us * bare,
        f"{part:.0%} of the bytes go in small packets, "
        f"which takes {small_us / 1e3:.2f} ms more than at the best rate",
        Reading(metric="small_packet_share", value=part, unit="1"),
        places(small),
        shown=float(thresholds.shows("small-packets", "small_packet_share", part)),
        gone_transfers=True,
    )
    yield _evidence(
        view,
        "byte-misalignment",
        odd_us * bare,
        f"packets whose size is no multiple of 512 bytes "
        f"take {odd_us / 1e3:.2f} ms more than at the best rate",
        Reading(metric="transfer_bytes_remainder_512", value=1.0 if odd else 0.0, unit="1"),
        places(odd),
        gone_transfers=True,
    )


NOMINAL_MB_MS = {"SDMA": 18.0, "HCCS": 18.0}
"""Rate of one link of an A2 server as msprof-analyze has it (18 GB/s); taken only where no packet is large
enough to show what the link can do. Wrong, too low, for an A3."""


def _best_rates(items: Iterable[Collective]) -> dict[str, float]:
    """Megabytes per millisecond that the large packets of each kind of link reached at best."""
    found = dict(NOMINAL_MB_MS)
    best: dict[str, float] = {}
    for transfer in (t for item in items for t in item.transfers):
        for size, count, time in transfer.packets:
            if count and time > 0 and size * 1e6 >= LEAST_BYTES:
                best[transfer.transport] = max(best.get(transfer.transport, 0.0), size * count / time)
    return {**found, **best}


def _links(view: View, thresholds: Thresholds, bare: float) -> Iterator[Evidence]:
    """One link slower than its peers; and copies within the device for want of alignment."""
    links = [link for link in view.rank.links if link.operator.lower().endswith("-total")] or list(
        view.rank.links
    )
    local_ms = sum(link.time_ms for link in links if link.transport == _LOCAL)
    moved_ms = sum(link.time_ms for link in links if link.transport != _LOCAL)
    yield from slow_links(links, view, thresholds, bare)
    if moved_ms + local_ms > 0 and local_ms > 0:
        share = local_ms / (moved_ms + local_ms)
        found = _evidence(
            view,
            "communication-address-misalignment",
            local_ms * 1e3 * bare,
            f"copies within the device are {share:.0%} of the time of transfers",
            Reading(metric="hccl_inner_copy_share", value=share, unit="1"),
            tuple({link.place for link in links if link.transport == _LOCAL}),
            shown=float(
                thresholds.shows("communication-address-misalignment", "hccl_inner_copy_share", share)
            ),
        )
        yield replace(found, fixed=lambda rank: _without_copies(rank, local_ms * 1e3 * bare))


def slow_links(
    links: Iterable[Link], view: View, thresholds: Thresholds, bare: float = 1.0
) -> Iterator[Evidence]:
    """Links of one kind beside each other: one below the mean of its peers holds collectives up."""
    by_kind: dict[str, list[Link]] = {}
    for link in links:
        if link.transport != _LOCAL and link.bandwidth_gb_s > 0 and link.size_mb * 1e6 >= LEAST_BYTES:
            by_kind.setdefault(link.transport, []).append(link)
    for kind, peers in by_kind.items():
        if len(peers) < 2:
            continue
        slowest = min(peers, key=lambda link: link.bandwidth_gb_s)
        others = [link.bandwidth_gb_s for link in peers if link is not slowest]
        mean = float(np.median(others))
        ratio = slowest.bandwidth_gb_s / mean
        lost = slowest.time_ms * 1e3 * max(0.0, 1 - ratio)
        shown = float(thresholds.shows("slow-link", "link_bandwidth_ratio_to_mean", ratio))
        found = _evidence(
            view,
            "slow-link",
            lost * bare,
            f"{kind} from rank {slowest.source} to {slowest.target} "
            f"carries {slowest.bandwidth_gb_s:.1f} GB/s, "
            f"its peers {mean:.1f}",
            Reading(metric="link_bandwidth_ratio_to_mean", value=ratio, unit="1"),
            (slowest.place,),
            shown=shown,
        )
        yield replace(found, fixed=lambda rank, lost=lost: _even_links(rank, lost * bare))  # type: ignore[misc]


def _retransmission(view: View, thresholds: Thresholds, bare: float) -> Iterator[Evidence]:
    mine = [(c, t) for c in view.rank.collectives for t in c.transfers if t.transport == "RDMA"]
    if not mine:
        return
    shown = thresholds.shows(
        "rdma-retransmission", "rdma_transmission_time", np.array([t.time_ms * 1e-3 for _, t in mine])
    )
    lost = float(sum(s * _moving(c) for s, (c, _) in zip(shown, mine, strict=True)))
    yield _evidence(
        view,
        "rdma-retransmission",
        lost * bare,
        f"a transfer over RDMA takes {max(t.time_ms for _, t in mine) / 1e3:.1f} s, as after a lost packet",
        Reading(metric="rdma_transmission_time", value=max(t.time_ms for _, t in mine) * 1e-3, unit="s"),
        places([c for c, _ in mine]),
        gone_transfers=True,
    )


def places(items: Iterable[Collective]) -> tuple[Place, ...]:
    """Files, with the rows of the operators that take longest."""
    worst = sorted(items, key=lambda item: -item.elapse_ms)[:PLACES]
    rows: dict[str, list[int]] = {}
    for item in worst:
        rows.setdefault(item.place.file, []).extend(item.place.rows)
    return tuple(Place(file, tuple(held)) for file, held in rows.items())


def _evidence(
    view: View,
    node: str,
    lost: float,
    says: str,
    reading: Reading,
    places: tuple[Place, ...],
    *,
    shown: float = 1.0,
    gone: list[Collective] | None = None,
    gone_transfers: bool = False,
) -> Evidence:
    return Evidence(
        node=node,
        shown=shown,
        lost_us=lost,
        share=lost / view.total_us,
        says=says,
        readings=(reading,),
        places=places,
        rank=view.rank.rank,
        fixed=lambda rank: hidden(rank, lost, gone or [], transfers=gone_transfers),
    )


def hidden(rank: Rank, saved_us: float, waits: list[Collective], *, transfers: bool = False) -> Rank:
    """The facts with less exposed communication; the operators in ``waits`` no longer stand still."""
    exposed = sum(step.exposed_us for step in rank.steps)
    part = min(1.0, saved_us / exposed) if exposed > 0 else 0.0
    steps = tuple(
        replace(
            step,
            step_us=step.step_us - part * step.exposed_us,
            exposed_us=(1 - part) * step.exposed_us,
            bubble_us=0.0 if waits and any(c.is_p2p for c in waits) else step.bubble_us,
        )
        for step in rank.steps
    )
    names = {item.name for item in waits}
    collectives = tuple(
        replace(item, elapse_ms=_moving(item) / 1e3, wait_ms=0.0, synchronisation_ms=0.0, idle_ms=0.0)
        if item.name in names
        else replace(item, transfers=tuple(replace(t, packets=()) for t in item.transfers))
        if transfers
        else item
        for item in rank.collectives
    )
    return replace(rank, steps=steps, collectives=collectives)


def lateness_us(waiting: Rank, late: Rank) -> float:
    """How much longer one rank stands in shared collectives than another: what that one comes late by."""
    mine, other = (sum(_standing(c) for c in r.collectives if not c.is_p2p) for r in (waiting, late))
    return max(0.0, mine - other)


def earlier(rank: Rank, saved_us: float) -> Rank:
    """The facts of a rank whose peers come earlier: it stands ``saved_us`` less in shared collectives."""
    stood = sum(_standing(c) for c in rank.collectives if not c.is_p2p)
    left = 1 - min(1.0, saved_us / stood) if stood > 0 else 1.0
    fixed = hidden(rank, saved_us if stood > 0 else 0.0, [])
    return replace(
        fixed,
        collectives=tuple(
            item
            if item.is_p2p
            else replace(
                item, elapse_ms=(_moving(item) + left * _standing(item)) / 1e3, wait_ms=left * item.wait_ms
            )
            for item in fixed.collectives
        ),
    )


def _without_copies(rank: Rank, saved_us: float) -> Rank:
    fixed = hidden(rank, saved_us, [])
    return replace(fixed, links=tuple(link for link in rank.links if link.transport != _LOCAL))


def _even_links(rank: Rank, saved_us: float) -> Rank:
    fixed = hidden(rank, saved_us, [])
    by_kind: dict[str, list[float]] = {}
    for link in rank.links:
        by_kind.setdefault(link.transport, []).append(link.bandwidth_gb_s)
    return replace(
        fixed,
        links=tuple(
            replace(link, bandwidth_gb_s=float(np.median(by_kind[link.transport]))) for link in rank.links
        ),
    )
