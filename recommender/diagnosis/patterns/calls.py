"""Calls of the host while the device had nothing to do: they load, allocate, compile or wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.intervals import gaps
from ingest.profiles.facts.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, setting_evidence, step_evidence
from recommender.diagnosis.rank.host_calls import (
    ITEM,
    is_allocation,
    is_compiling,
    is_synchronising,
    outermost,
    total_us,
)
from recommender.diagnosis.rank.repairs import fill_idle_time
from recommender.diagnosis.rank.view import LONG_GAP_US, KernelView
from recommender.diagnosis.thresholds import soft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.profiles.facts.place import FactPlace
    from ingest.profiles.facts.run import Call
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds

_TILING = "_Tiling"


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of each kind of call, where the free time of the steps is known."""
    if not view.rank.steps or view.total_us <= 0:
        return
    free = view.step_sum("free_us")
    yield from _collector(view, thresholds, free)
    yield from _loader(view, thresholds, free)
    yield from _checkpoints(view, free)
    yield from _allocator(view, thresholds, free)
    yield from _compiler(view, free)
    yield from _synchronisation(view, thresholds, max(0.0, free - _told_us(view)))


def _told_us(view: View) -> float:
    """Time in which the host did something else by itself: it collected, loaded or saved, microseconds."""
    by_level = {
        level: [call.total_us for call in view.rank.calls if call.level == level]
        for level in ("loader", "save")
    }
    collected = sum(call.total_us for call in view.rank.calls if call.level == "gc")
    return collected + sum(max(times, default=0.0) for times in by_level.values())


def _calls(view: View, matches: Callable[[Call], bool]) -> list[Call]:
    return sorted((call for call in view.rank.calls if matches(call)), key=lambda call: -call.total_us)


def _has_runtime(view: View) -> bool:
    """True where calls of a GPU's runtime were recorded: one that is not among them was not made."""
    return view.rank.layout in GPU_LAYOUTS and any(call.level == "runtime" for call in view.rank.calls)


def _places(calls: list[Call]) -> tuple[FactPlace, ...]:
    return tuple(call.place for call in calls[:3])


def _part(lost_us: float, spent_us: float) -> float:
    """Part of the time of blocking calls in which the device was idle: how surely it waited for them.

    The published marks are of seconds; how much that is of a step is the cost's to say.
    """
    return min(1.0, lost_us / spent_us) if spent_us > 0 else 0.0


def _collector(view: View, thresholds: Thresholds, free: float) -> Iterator[SoftEvidence]:
    calls = _calls(view, lambda call: call.level == "gc")
    longest = max((call.max_us or 0.0 for call in calls), default=0.0)
    pattern = "python-gc-high-latency"
    if calls:
        lost = min(free, total_us(calls))
        yield step_evidence(
            view,
            pattern,
            lost,
            f"Python's collector ran, the longest for {longest / 1e3:.1f} ms",
            MetricReading(metric="gc_event_time", value=longest * 1e-6, unit="s"),
            _places(calls),
            shown=max(
                float(thresholds.shows(pattern, "gc_event_time", longest * 1e-6)),
                _part(lost, total_us(calls)),
            ),
            fixed=lambda rank: fill_idle_time(rank, lost, calls),
        )
        return
    kernels = view.rank.kernels
    if kernels is None or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    start, end = gaps(kernels)
    lengths = (end - start) / 1e3
    shown_each = thresholds.shows(pattern, "free_gap_time", lengths * 1e-6)
    conjectured_us = min(free, float((lengths * shown_each).sum()))
    yield step_evidence(
        view,
        pattern,
        conjectured_us,
        f"a gap of {lengths.max(initial=0.0) / 1e3:.0f} ms as of a collector at work (conjectured)",
        MetricReading(metric="free_gap_time", value=float(lengths.max(initial=0.0)) * 1e-6, unit="s"),
        (),
        shown=CONJECTURE if view.rank.calls else CONJECTURE / 2,
        fixed=lambda rank: fill_idle_time(rank, conjectured_us, []),
    )


CONJECTURE = 0.3
"""Evidence, 0 to 1, that a long gap alone is of the collector: the advisor calls it a conjecture, and the
host has a dozen other reasons to pause."""


def _loader(view: View, thresholds: Thresholds, free: float) -> Iterator[SoftEvidence]:
    pattern, metric = "slow-dataloader", "dataloader_wait_time"
    idle = free + view.step_sum("preparing_us")
    calls = _calls(view, lambda call: call.level == "loader")
    if calls:
        outer = calls[0]  # loaders call each other: the longest holds the others
        waited = outer.max_us or outer.total_us
        lost = min(outer.total_us, idle)
        yield step_evidence(
            view,
            pattern,
            lost,
            f"the host waits {waited / 1e3:.1f} ms for data in {outer.name[:60]}",
            MetricReading(metric=metric, value=waited * 1e-6, unit="s"),
            _places(calls),
            shown=max(float(thresholds.shows(pattern, metric, waited * 1e-6)), _part(lost, outer.total_us)),
            fixed=lambda rank: fill_idle_time(rank, lost, calls),
        )
        return
    waits = [item for item in view.rank.details.iterations if item.data_us is not None]
    if not waits:
        return
    longest = max(waits, key=lambda item: item.data_us or 0.0)
    spent = min(idle, sum(item.data_us or 0.0 for item in waits))
    seconds = (longest.data_us or 0.0) * 1e-6
    pipeline = view.rank.details.pipeline
    slowest = f"; the pipeline names {pipeline.warning[:60]}" if pipeline and pipeline.warning else ""
    yield step_evidence(
        view,
        pattern,
        spent,
        f"iterations wait up to {seconds * 1e3:.1f} ms for data{slowest}",
        MetricReading(metric=metric, value=seconds, unit="s"),
        (longest.place, *((pipeline.place,) if pipeline else ())),
        shown=float(thresholds.shows(pattern, metric, seconds)),
        fixed=lambda rank: fill_idle_time(rank, spent, []),
    )


def _checkpoints(view: View, free: float) -> Iterator[SoftEvidence]:
    """Evidence of checkpoints that the program writes while the device waits, from its frames of Python."""
    calls = _calls(view, lambda call: call.level == "save")
    if not calls:
        return
    outer = calls[0]  # one way to save calls another: the longest holds the others
    lost = min(free, outer.total_us)
    yield step_evidence(
        view,
        "checkpoint-stall",
        lost,
        f"{outer.count} checkpoints are written in {outer.total_us / 1e3:.1f} ms ({outer.name})",
        MetricReading(metric="time of saving", value=outer.total_us * 1e-6, unit="s"),
        _places(calls),
        shown=_part(lost, outer.total_us),
        fixed=lambda rank: fill_idle_time(rank, lost, calls),
    )


def _allocator(view: View, thresholds: Thresholds, free: float) -> Iterator[SoftEvidence]:
    calls = outermost(_calls(view, is_allocation))
    if not calls and not _has_runtime(view):
        return
    pattern, metric = "memory-allocation-stall", "allocation_api_time"
    spent = total_us(calls)
    lost = min(spent, free)
    yield step_evidence(
        view,
        pattern,
        lost,
        f"{sum(call.count for call in calls)} calls to allocate and free device memory "
        f"take {spent / 1e3:.1f} ms",
        MetricReading(metric=metric, value=spent * 1e-6, unit="s"),
        _places(calls),
        shown=max(float(thresholds.shows(pattern, metric, spent * 1e-6)), _part(lost, spent)),
        fixed=lambda rank: fill_idle_time(rank, lost, calls),
    )


def _compiler(view: View, free: float) -> Iterator[SoftEvidence]:
    compiling = _calls(view, is_compiling)
    looked = bool(compiling) or _has_runtime(view)
    tiling = _calls(view, lambda call: call.name.endswith(_TILING))
    spent = sum(max(0.0, call.total_us - call.count * LONG_GAP_US) for call in compiling)
    if looked:
        lost = min(free, spent)
        yield step_evidence(
            view,
            "operator-compilation-latency",
            lost,
            f"{sum(call.count for call in compiling)} calls that compile what is not compiled yet take "
            f"{spent / 1e3:.1f} ms more than a launch",
            MetricReading(metric="compilation time", value=spent * 1e-6, unit="s"),
            _places(compiling),
            fixed=lambda rank: fill_idle_time(rank, lost, compiling),
        )
    if not isinstance(view, KernelView) or not any(view.kernels.texts["state"].labels):
        return
    state = view.kernels.texts["state"]
    dynamic = float(state.where(label == "dynamic" for label in state.labels).mean())
    tiled = total_us(tiling)
    both = [*compiling, *tiling]
    part = min(free, spent + tiled) * dynamic
    yield step_evidence(
        view,
        "dynamic-shape",
        part,
        f"{dynamic:.0%} of operators have dynamic shapes; "
        f"tiling and compiling take {(spent + tiled) / 1e3:.1f} ms",
        MetricReading(metric="dynamic_operator_share", value=dynamic, unit="1"),
        _places(both),
        fixed=lambda rank: fill_idle_time(rank, part, both),
        level=dynamic,
    )


def _synchronisation(view: View, thresholds: Thresholds, free: float) -> Iterator[SoftEvidence]:
    """Evidence of as many synchronising calls as long gaps: the host waits and cannot run ahead."""
    items = _calls(view, lambda call: call.name in ITEM)
    runtime = outermost(_calls(view, is_synchronising))
    calls = [*runtime, *items]
    count = sum(call.count for call in runtime or calls)
    kernels = view.rank.kernels
    if kernels is None or not count or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    start, end = gaps(kernels)
    lengths = (end - start) / 1e3
    long = lengths[lengths > LONG_GAP_US]
    if not len(long):
        return
    together = min(1.0, count / len(long))
    pattern, metric = "host-device-synchronisation", "synchronising_api_cooccurrence"
    lost = min(free, float(np.sort(long)[::-1][:count].sum()))
    yield step_evidence(
        view,
        pattern,
        lost,
        f"{count} synchronising calls beside {len(long)} gaps longer than {LONG_GAP_US:.0f} µs",
        MetricReading(metric=metric, value=together, unit="1"),
        _places(calls),
        shown=float(thresholds.shows(pattern, metric, together)),
        fixed=lambda rank: fill_idle_time(rank, lost, calls),
    )
    if items:
        many = sum(call.count for call in items if call.name == "aten::item") or items[0].count
        part = many / max(1, count)
        yield setting_evidence(
            view,
            "item-calls",
            f"{many} calls of .item() and its kin",
            _places(items),
            shown=float(soft(np.asarray(part), 0.5, 0.25)),
            readings=(MetricReading(metric="item calls per synchronising call", value=part, unit="1"),),
        )
