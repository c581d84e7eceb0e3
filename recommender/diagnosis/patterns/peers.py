"""Ranks beside each other: one that computes longer than its peers makes all of them wait."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recommender.diagnosis.evidence import MetricReading, SoftEvidence
from recommender.diagnosis.patterns.growth import ALIKE
from recommender.diagnosis.patterns.links import slow_links
from recommender.diagnosis.rank.collectives import EXCHANGES, collectives_of, idle_us, is_of
from recommender.diagnosis.rank.groups import stage_of
from recommender.diagnosis.rank.kinds import ATTENTION, PRODUCTS, of_kind, volumes
from recommender.diagnosis.rank.units import pipe_use
from recommender.diagnosis.rank.view import KernelView, View
from recommender.diagnosis.thresholds import Thresholds

SAME = 0.02
"""Share by which the work of ranks that do the same may differ. Assumed: a last batch."""


def find(views: Sequence[View], thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence that shows only when ranks are compared: slow ranks, slow links between them."""
    numbers = [view.rank.rank for view in views]
    if len(set(numbers)) < len(numbers):  # several runs beside each other are no peers
        return
    timed = [view for view in views if view.total_us > 0 and view.step_sum("computing_us") > 0]
    stages = _stages(timed)
    for group in stages:
        if len(group) >= 2:
            yield from _slowest(group, thresholds)
    if len(stages) > 1:
        yield from _longest_stage(stages, thresholds)
    links = [link for view in views for link in view.rank.links if link.operator.lower().endswith("-total")]
    if len(views) > 1 and links:
        longest = max(views, key=lambda view: view.total_us)
        if longest.total_us > 0:
            yield from (replace(item, rank=None) for item in slow_links(links, longest, thresholds))


def _stages(views: Sequence[View]) -> list[list[View]]:
    """Ranks by pipeline stage: stages compute different layers and are not compared."""
    stages: dict[object, list[View]] = {}
    for view in views:
        stages.setdefault(stage_of(view.rank), []).append(view)
    return list(stages.values())


def _longest_stage(stages: Sequence[Sequence[View]], thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of a stage that computes longer than the others: they wait for it, and lose as much."""
    computing = np.array([np.mean([view.step_sum("computing_us") for view in group]) for group in stages])
    worst = int(computing.argmax())
    mean = float(np.delete(computing, worst).mean())
    waiting = stages[int(computing.argmin())][0]
    pairs = (item for item in collectives_of(waiting.rank) if item.is_p2p)
    waited = sum(map(idle_us, pairs)) * waiting.exposed_share
    lost = min(float(computing[worst]) - mean, max(waited, waiting.step_sum("bubble_us")))
    ratio = float(computing[worst]) / mean
    yield SoftEvidence(
        node="pipeline-imbalance",
        shown=float(thresholds.shows("slow-rank", "rank_compute_ratio_to_mean", ratio)),
        lost_us=max(0.0, lost),
        share=max(0.0, lost) / waiting.total_us,
        rank=waiting.rank.rank,
        says=f"the stage of rank {stages[worst][0].rank.rank} computes "
        f"{float(computing[worst]) / 1e3:.1f} ms, the others {mean / 1e3:.1f} ms",
        readings=(
            MetricReading(metric="computing of the longest stage over the others", value=ratio, unit="1"),
        ),
        places=tuple(step.place for step in stages[worst][0].rank.steps[:2]),
    )


def _slowest(views: Sequence[View], thresholds: Thresholds) -> Iterator[SoftEvidence]:
    computing = np.array([view.step_sum("computing_us") for view in views])
    worst = int(computing.argmax())
    mean = float(np.delete(computing, worst).mean())
    ratio = float(computing[worst]) / mean if mean > 0 else 1.0
    shown = float(thresholds.shows("slow-rank", "rank_compute_ratio_to_mean", ratio))
    slow = views[worst]
    lost = max(0.0, float(computing[worst]) - mean) * (1 - _of_experts(views, worst))
    number = slow.rank.rank if slow.rank.rank is not None else slow.rank.folder
    found = SoftEvidence(
        node="slow-rank",
        shown=shown,
        lost_us=lost,
        share=lost / slow.total_us,
        rank=slow.rank.rank,
        says=f"rank {number} computes {float(computing[worst]) / 1e3:.1f} ms, the others {mean / 1e3:.1f} ms",
        readings=(MetricReading(metric="rank_compute_ratio_to_mean", value=ratio, unit="1"),),
        places=tuple(step.place for step in slow.rank.steps[:2]),
    )
    yield found
    work = [_elements(view) for view in views]
    more = work[worst] / float(np.mean(np.delete(np.array(work), worst))) if all(work) else math.nan
    busy = np.array([_busy_us(view) for view in views])
    reading, working = busy[worst] - np.delete(busy, worst, axis=0).mean(axis=0)
    beyond = min(lost, float(reading))
    counted = math.isfinite(reading)  # without counters nothing tells what the kernels wait for
    if counted and abs(more - 1) <= SAME and beyond - max(0.0, float(working)) >= lost / 2 > 0:
        waits = MetricReading(metric="wait for memory beyond the others", value=beyond * 1e-6, unit="s")
        yield replace(
            found,
            node="slow-memory-access",
            says=f"rank {number} does the work of the others, but its kernels wait "
            f"{beyond / 1e3:.1f} ms longer for device memory",
            readings=(waits,),
        )
    if all(work):
        shown = float(thresholds.shows("slow-rank", "rank_compute_ratio_to_mean", more))
        yield SoftEvidence(
            node="dp-load-imbalance",
            shown=shown,
            lost_us=lost * shown,
            share=lost * shown / slow.total_us,
            says=f"rank {number} has {more:.2f} times the elements of the others",
            rank=slow.rank.rank,
            readings=(MetricReading(metric="elements ratio to mean", value=more, unit="1"),),
        )


def _of_experts(views: Sequence[View], worst: int) -> float:
    """Part of what a rank computes beyond its peers that experts do, if it is nearly all; else 0.

    Experts are between an all-to-all that hands tokens out and the next, which brings them back. Of a device
    that is slow as a whole, the rest takes longer, too.
    """
    times = []
    for view in views:
        exchanges = [item.start_us for item in view.rank.collectives if is_of(item, EXCHANGES)]
        starts = np.sort([us for us in exchanges if us is not None])
        if not isinstance(view, KernelView) or not len(starts) or len(starts) % 2:
            return 0.0
        between = np.searchsorted(starts * 1e3, view.kernels.start_ns) % 2 == 1
        own = view.kernels.duration_us * view.exclusive
        times.append((float(own[between].sum()), float(own.sum())))
    more = np.array(times[worst]) - np.delete(np.array(times), worst, axis=0).mean(axis=0)
    return min(1.0, float(more[0] / more[1])) if 0 < ALIKE * more[1] <= more[0] else 0.0


def _busy_us(view: View) -> tuple[float, float]:
    """Time in which compute kernels read memory (MTE2) and compute, microseconds; nan if unknown."""
    if not isinstance(view, KernelView):
        return math.nan, math.nan
    names, use, counted = pipe_use(view.kernels)
    own = np.where(counted, view.kernels.duration_us * view.exclusive, 0.0)
    reading, working = (
        float((own * use[[any(part in name for part in units) for name in names]].max(axis=0)).sum())
        for units in (("mte2",), ("mac", "vec"))
    )
    return (reading, working) if counted.any() else (math.nan, math.nan)


def _elements(view: View) -> float:
    """Elements that matrix products and attention read: a measure of the work of a rank."""
    if not isinstance(view, KernelView):
        return 0.0
    kernels = view.kernels
    mask = of_kind(kernels, (*PRODUCTS, *ATTENTION))
    return float(volumes(kernels.texts["input_shapes"])[mask].sum())
