"""Links that are slower than others of their kind, and copies within a device before a transfer."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ingest.profiles.facts.run import RankTraffic
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, setting_evidence, step_evidence
from recommender.diagnosis.patterns.packets import LEAST_BYTES
from recommender.diagnosis.rank.collectives import LOCAL, moving_us, places
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.thresholds import Thresholds


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of slow links, beside their peers and beside the device, and of copies within it."""
    if view.total_us <= 0:
        return
    links = [link for link in view.rank.links if link.operator.lower().endswith("-total")] or list(
        view.rank.links
    )
    local_ms = sum(link.time_ms for link in links if link.transport == LOCAL)
    moved_ms = sum(link.time_ms for link in links if link.transport != LOCAL)
    yield from slow_links(links, view, thresholds, view.exposed_share)
    yield from _below_the_device(view, thresholds)
    if moved_ms > 0 and not any(link.transport == "RDMA" for link in links):
        says = "nothing goes over RDMA"
        yield setting_evidence(view, "rdma-priority-mismatch", says, (), shown=0.0)
    if moved_ms + local_ms > 0 and local_ms > 0:
        share = local_ms / (moved_ms + local_ms)
        lost = local_ms * 1e3 * view.exposed_share
        yield step_evidence(
            view,
            "communication-address-misalignment",
            lost,
            f"copies within the device are {share:.0%} of the time of transfers",
            MetricReading(metric="hccl_inner_copy_share", value=share, unit="1"),
            tuple({link.place for link in links if link.transport == LOCAL}),
            shown=float(
                thresholds.shows("communication-address-misalignment", "hccl_inner_copy_share", share)
            ),
        )


ONE_SERVER = 0.7
"""Most confidence that ranks which fit a server are in one: a trace does not say. Assumed."""
_RINGS = {"allreduce": 2.0, "allgather": 1.0, "reducescatter": 1.0, "alltoall": 1.0}
"""Times that all data but a rank's own part goes through its links, by the beginning of a name."""


def _below_the_device(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence that large collectives within a server move less than the links of a known device carry."""
    from kg.errors import MissingFactError
    from recommender.cost_model.operators.network import Network

    world = view.rank.parallel.get("world_size")
    per_node = view.device.get("devices_per_server", 0.0)
    if not isinstance(world, int) or not isinstance(per_node, int | float) or world > per_node:
        return
    sent_gb = spent_us = wanted_us = 0.0
    slow = []
    for item in view.rank.collectives:
        name = item.name.lower().replace("_", "")
        times = next((times for start, times in _RINGS.items() if name.startswith(start)), 0.0)
        size_mb = sum(transfer.size_mb for transfer in item.transfers)
        if times == 0 or size_mb < LARGE_MB or item.members < 2:
            continue
        try:
            rate = float(Network("", view.device, float(per_node)).inside(np.array(float(item.members))))
        except MissingFactError:
            return
        sent = times * size_mb / 1e3 * (1 - 1 / item.members)
        sent_gb, spent_us = sent_gb + sent, spent_us + moving_us(item)
        wanted_us += sent / rate * 1e15
        slow.append(item)
    if spent_us <= 0:
        return
    part = wanted_us / spent_us
    share = view.step_sum("exposed_us") / view.total_us
    where = "communication" if view.infers else "exposed-communication"
    bad = float(thresholds.shows(where, "communication_not_overlapped_share", share))
    yield step_evidence(
        view,
        "collective-inefficiency",
        max(0.0, spent_us - wanted_us) * view.exposed_share,
        f"collectives of {LARGE_MB:g} MB or more move {sent_gb / spent_us * 1e6:.1f} GB/s through a device, "
        f"whose links within a server carry {sent_gb / wanted_us * 1e6:.0f}: another way, or several servers",
        MetricReading(metric="collective_bandwidth_utilisation", value=part, unit="1"),
        places(slow),
        shown=bad
        * float(thresholds.shows("collective-inefficiency", "collective_bandwidth_utilisation", part)),
        sure=ONE_SERVER,
    )


REFERENCE_GB_S = {"HCCS": 18.0, "RDMA": 12.5}
"""Rate of one link of an A2 server by kind, as msprof-analyze has it: of links that are all alike there is no
other mark. Wrong, too low, for an A3."""
STATED_PART = 0.8
"""Part of that mark below which all links are slow (msprof-analyze)."""
LARGE_MB = 8.0
"""Least transfer whose rate is compared with that mark: the fastest such link is at 17 to 21 GB/s
in all sample folders."""


def slow_links(
    links: Iterable[RankTraffic], view: View, thresholds: Thresholds, exposed_share: float = 1.0
) -> Iterator[SoftEvidence]:
    """Evidence of one link below the mean of its peers of a kind, which holds collectives up."""
    by_kind: dict[str, list[RankTraffic]] = {}
    for link in links:
        if link.transport != LOCAL and link.bandwidth_gb_s > 0 and link.size_mb * 1e6 >= LEAST_BYTES:
            by_kind.setdefault(link.transport, []).append(link)
    for kind, peers in by_kind.items():
        large = [link for link in peers if link.size_mb >= LARGE_MB]
        stated = REFERENCE_GB_S.get(kind, 0.0)
        is_alike = STATED_PART * stated > max((link.bandwidth_gb_s for link in large), default=math.inf)
        if len(peers) < 2 and not is_alike:
            continue
        slowest = min(large if is_alike else peers, key=lambda link: link.bandwidth_gb_s)
        others = [link.bandwidth_gb_s for link in peers if link is not slowest]
        mean = stated if is_alike else float(np.median(others))
        ratio = slowest.bandwidth_gb_s / mean
        # A collective goes as fast as the slowest link that it goes over.
        moving = sum(moving_us(item) for item in view.rank.collectives if not item.is_p2p)
        lost = max(slowest.time_ms * 1e3, moving) * max(0.0, 1 - ratio) * exposed_share
        shown = float(thresholds.shows("slow-link", "link_bandwidth_ratio_to_mean", ratio))
        yield step_evidence(
            view,
            "slow-link",
            lost,
            f"{kind} from rank {slowest.source} to {slowest.target} "
            f"carries {slowest.bandwidth_gb_s:.1f} GB/s, "
            + (
                f"as all that move {LARGE_MB:g} MB or more, and {mean:.1f} is usual"
                if is_alike
                else f"its peers {mean:.1f}"
            ),
            MetricReading(metric="link_bandwidth_ratio_to_mean", value=ratio, unit="1"),
            (slowest.place,),
            shown=shown,
        )
