"""Transfers in small packets, at sizes that are not aligned, or sent again."""

from collections.abc import Iterable, Iterator

import numpy as np

from ingest.profiles.facts.run import Collective
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, step_evidence
from recommender.diagnosis.rank.collectives import LOCAL, moving_us, places
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.thresholds import Thresholds

_METRICS = {"SDMA": "sdma_packet_bytes", "HCCS": "sdma_packet_bytes", "RDMA": "rdma_packet_bytes"}


NOMINAL_MB_MS = {"SDMA": 18.0, "HCCS": 18.0}
"""Rate of one link of an A2 server as msprof-analyze has it (18 GB/s); taken only where no packet is large
enough to show what the link can do. Wrong, too low, for an A3."""


LEAST_BYTES = 1e6
"""A link that moved less says nothing about its bandwidth: fixed costs dominate below."""


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of small or misaligned packets and of retransmission, where the length of the run is known."""
    if view.total_us > 0:
        yield from _packets(view, thresholds)
        yield from _retransmission(view, thresholds)


def _packets(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of packets that are small or not aligned: time beyond the same bytes at the best rate seen."""
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
            limit = moving_us(item)
            scale = min(1.0, limit / excess.sum()) if excess.sum() > 0 else 0.0
            if (got := float((excess * is_small * (1 - is_odd)).sum()) * scale) > 0:
                small_us += got
                small.append(item)
            if (got := float((excess * is_odd).sum()) * scale) > 0:
                odd_us += got
                odd.append(item)
    if not shares:
        return
    part = sum(mine for mine, _ in shares) / max(sum(total for _, total in shares), 1e-12)
    small_exposed, odd_exposed = small_us * view.exposed_share, odd_us * view.exposed_share
    yield step_evidence(
        view,
        "small-packets",
        small_exposed,
        f"{part:.0%} of the bytes go in small packets, "
        f"which takes {small_us / 1e3:.2f} ms more than at the best rate",
        MetricReading(metric="small_packet_share", value=part, unit="1"),
        places(small),
        shown=float(thresholds.shows("small-packets", "small_packet_share", part)),
    )
    yield step_evidence(
        view,
        "byte-misalignment",
        odd_exposed,
        f"packets whose size is no multiple of 512 bytes "
        f"take {odd_us / 1e3:.2f} ms more than at the best rate",
        MetricReading(metric="transfer_bytes_remainder_512", value=1.0 if odd else 0.0, unit="1"),
        places(odd),
    )


def _best_rates(items: Iterable[Collective]) -> dict[str, float]:
    """Megabytes per millisecond that the large packets of each kind of link reached at best."""
    best: dict[str, float] = {}
    for transfer in (t for item in items for t in item.transfers):
        for size, count, time in transfer.packets:
            if count and time > 0 and size * 1e6 >= LEAST_BYTES:
                best[transfer.transport] = max(best.get(transfer.transport, 0.0), size * count / time)
    return {**NOMINAL_MB_MS, **best}


def _retransmission(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    both = [(c, t) for c in view.rank.collectives for t in c.transfers if t.transport != LOCAL]
    mine = [(c, t) for c, t in both if t.transport == "RDMA"]
    if not both:
        return
    shown = thresholds.shows(
        "rdma-retransmission", "rdma_transmission_time", np.array([t.time_ms * 1e-3 for _, t in mine])
    )
    longest = max((t.time_ms for _, t in mine), default=0.0)
    lost = view.exposed_share * float(sum(s * moving_us(c) for s, (c, _) in zip(shown, mine, strict=True)))
    yield step_evidence(
        view,
        "rdma-retransmission",
        lost,
        f"a transfer over RDMA takes {longest / 1e3:.1f} s, as after a lost packet"
        if mine
        else "nothing is moved over RDMA",
        MetricReading(metric="rdma_transmission_time", value=longest * 1e-3, unit="s"),
        places([c for c, _ in mine]),
    )
