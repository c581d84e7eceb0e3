"""Communication that computation does not hide: waiting told from transferring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.diagnosis.evidence import MetricReading, of_step
from recommender.diagnosis.rank.collectives import is_of, moving_us, places, standing_us
from recommender.diagnosis.rank.repairs import hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds


_GRADIENT = ("allreduce", "reducescatter")


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """The exposed time as a whole, then its parts."""
    exposed = view.step_sum("exposed_us")
    if view.total_us <= 0 or (exposed <= 0 and not view.rank.collectives and not view.rank.links):
        return
    share = exposed / view.total_us
    bad = float(thresholds.shows("exposed-communication", "communication_not_overlapped_share", share))
    yield of_step(
        view,
        "exposed-communication",
        exposed,
        f"communication that nothing hides is {share:.0%} of the step",
        MetricReading(metric="communication_not_overlapped_share", value=share, unit="1"),
        tuple(step.place for step in view.rank.steps[:3]),
        shown=bad,
        fixed=lambda rank: hidden(rank, exposed, []),
    )
    yield from _waits(view, thresholds)
    yield from _gradients(view, bad)
    yield from _exchange(view, bad)


def _waits(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Ranks that stand in a collective, and stages that wait for their neighbour."""
    both = view.rank.collectives
    shared, pairs = [c for c in both if not c.is_p2p], [c for c in both if c.is_p2p]
    stood = sum(standing_us(c) for c in shared) * view.bare
    share = stood / view.total_us
    if shared:
        yield of_step(
            view,
            "collective-wait",
            stood,
            f"collectives move data for {sum(c.transit_ms for c in shared):.1f} of their "
            f"{sum(c.elapse_ms for c in shared):.1f} ms; the rest is waiting",
            MetricReading(metric="collective_wait_share", value=share, unit="1"),
            places(shared),
            shown=float(thresholds.shows("collective-wait", "collective_wait_share", share)),
            fixed=lambda rank: hidden(rank, stood, shared),
        )
    told = view.step_sum("bubble_us")
    still = max(sum(standing_us(c) for c in pairs) * view.bare, told)
    if pairs or told:
        share = still / view.total_us
        yield of_step(
            view,
            "pipeline-bubble",
            still,
            f"sends and receives between stages stand still for {still / 1e3:.1f} ms",
            MetricReading(metric="bubble_share", value=share, unit="1"),
            places(pairs),
            shown=float(thresholds.shows("pipeline-bubble", "bubble_share", share)),
            fixed=lambda rank: hidden(rank, still, pairs),
        )


def _gradients(view: View, bad: float) -> Iterator[SoftEvidence]:
    """Reductions whose transfer nothing hides."""
    mine = [c for c in view.rank.collectives if is_of(c, _GRADIENT)]
    moving = sum(moving_us(c) for c in mine) * view.bare
    if mine:
        yield of_step(
            view,
            "data-parallel-communication",
            moving,
            f"reductions move data for {moving / 1e3:.1f} ms beside no computation",
            MetricReading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
            places(mine),
            shown=bad,
            fixed=lambda rank: hidden(rank, moving, []),
        )


def _exchange(view: View, bad: float) -> Iterator[SoftEvidence]:
    mine = [c for c in view.rank.collectives if is_of(c, ("alltoall", "all_to_all"))]
    if not mine:
        return
    moving = sum(moving_us(c) for c in mine) * view.bare
    yield of_step(
        view,
        "all-to-all-communication",
        moving,
        f"all-to-all moves data for {moving / 1e3:.1f} ms beside no computation",
        MetricReading(metric="exposed transfer share", value=moving / view.total_us, unit="1"),
        places(mine),
        shown=bad,
        fixed=lambda rank: hidden(rank, moving, []),
    )
    stood = sum(standing_us(c) for c in mine) * view.bare
    yield of_step(
        view,
        "ep-load-imbalance",
        stood,
        f"ranks wait {stood / 1e3:.1f} ms for each other in all-to-all",
        MetricReading(metric="all-to-all wait share", value=stood / view.total_us, unit="1"),
        places(mine),
        fixed=lambda rank: hidden(rank, stood, mine),
    )
