"""Time in which the device has nothing to do, and what the host was doing meanwhile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts import Call, Place, Rank
from ingest.profiles.intervals import gaps
from ingest.profiles.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import PLACES, Evidence, Reading
from recommender.diagnosis.thresholds import soft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recommender.diagnosis.evidence import View
    from recommender.diagnosis.thresholds import Thresholds

_ALLOCATION = (
    "aclMallocMemInner",
    "aclrtFreePhysical",
    "aclrtFree",
    "aclrtMalloc",
    "aclrtMallocPhysical",
    "DevMalloc",
    "DevFree",
    "cudaMalloc",
    "cudaFree",
    "hipMalloc",
    "hipFree",
)
_SYNCHRONISING = ("Synchronize", "synchronize")
_ITEM = ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal")
_COMPILING = (
    "aclopCompile",
    "OpCompile",
    "CompileOp",
    "GEGraphCompile",
    "opCompile",
    "BuildOp",
    "GraphCompile",
)
_TILING = "_Tiling"
_RUNTIME = frozenset({"acl", "runtime", "node", "model"})
LONG_GAP_US = 50.0
"""A gap that no launch explains: a launch takes some 5 to 20 µs on the host (msprof best practices)."""


def find(view: View, thresholds: Thresholds) -> Iterator[Evidence]:
    """The free time as a whole, then what explains it."""
    if not view.rank.steps or view.total_us <= 0:
        return
    free = view.step_sum("free_us")
    share = free / view.total_us
    free_shown = float(thresholds.shows("host-bound", "free_share", share))
    underfed = float(thresholds.shows("host-bound", "host_underfeed_share", share))
    yield _evidence(
        view,
        "host-bound",
        free,
        f"nothing runs on the device for {share:.0%} of the step",
        (Reading(metric="free_share", value=share, unit="1"),),
        _free_places(view),
        shown=max(free_shown, underfed) * (1.0 if _is_whole(view) else UNSURE),
    )
    yield from _collector(view, thresholds, free)
    yield from _loader(view, thresholds, free)
    yield from _allocator(view, thresholds, free)
    yield from _compiler(view, free)
    yield from _waiting(view, thresholds, free)
    yield from _launches(view, free)
    yield from _copies(view)
    yield from _settings(view)


def _is_whole(view: View) -> bool:
    """Whether free time can be believed: the profiler's own table, or kernels beside what else it wrote."""
    return not all(step.is_counted for step in view.rank.steps) or bool(view.rank.calls)


UNSURE = 0.5
"""Of free time counted from one table alone, which may be an excerpt: it says nothing either way."""


def _calls(view: View, wanted: Callable[[Call], bool]) -> list[Call]:
    return sorted((call for call in view.rank.calls if wanted(call)), key=lambda call: -call.total_us)


def _collector(view: View, thresholds: Thresholds, free: float) -> Iterator[Evidence]:
    found = _calls(view, lambda call: call.level == "gc")
    longest = max((call.max_us or 0.0 for call in found), default=0.0)
    pattern = "python-gc-high-latency"
    if found:
        shown = float(thresholds.shows(pattern, "gc_event_time", longest * 1e-6))
        lost = min(free, sum(call.total_us for call in found))
        yield _evidence(
            view,
            pattern,
            lost,
            f"Python's collector ran, the longest for {longest / 1e3:.1f} ms",
            (Reading(metric="gc_event_time", value=longest * 1e-6, unit="s"),),
            _places(found),
            shown=shown,
            calls=found,
        )
        return
    kernels = view.rank.kernels
    if kernels is None or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    start, end = gaps(kernels)
    lengths = (end - start) / 1e3
    shown_each = thresholds.shows(pattern, "free_gap_time", lengths * 1e-6)
    sure = CONJECTURE if view.rank.calls else CONJECTURE / 2
    lost = min(free, float((lengths * shown_each).sum()))
    yield _evidence(
        view,
        pattern,
        lost,
        f"a gap of {lengths.max(initial=0.0) / 1e3:.0f} ms as of a collector at work (conjectured)",
        (Reading(metric="free_gap_time", value=float(lengths.max(initial=0.0)) * 1e-6, unit="s"),),
        (),
        shown=sure,
    )


CONJECTURE = 0.3
"""How far a long gap alone shows the collector: the advisor calls it a conjecture, and the host has a dozen
other reasons to pause."""


def _loader(view: View, thresholds: Thresholds, free: float) -> Iterator[Evidence]:
    found = _calls(view, lambda call: call.level == "loader")
    if not found:
        return
    outer = found[0]  # loaders call each other: the longest holds the others
    waited = outer.max_us or outer.total_us
    shown = float(thresholds.shows("slow-dataloader", "dataloader_wait_time", waited * 1e-6))
    idle = free + view.step_sum("preparing_us")
    yield _evidence(
        view,
        "slow-dataloader",
        min(outer.total_us, idle),
        f"the host waits {waited / 1e3:.1f} ms for data in {outer.name[:60]}",
        (Reading(metric="dataloader_wait_time", value=waited * 1e-6, unit="s"),),
        _places(found),
        shown=shown,
        calls=found,
    )


def _allocator(view: View, thresholds: Thresholds, free: float) -> Iterator[Evidence]:
    setting = view.rank.environment.get("PYTORCH_NPU_ALLOC_CONF")
    if setting is not None and "expandable_segments:true" not in setting.lower():
        yield _setting(
            view, "no-expandable-segments", "PYTORCH_NPU_ALLOC_CONF has no expandable_segments:True"
        )
    found = _calls(view, lambda c: c.level in _RUNTIME | {"hccl"} and c.name.startswith(_ALLOCATION))
    if not found:
        return
    spent = sum(call.total_us for call in found)
    shown = float(thresholds.shows("memory-allocation-stall", "allocation_api_time", spent * 1e-6))
    yield _evidence(
        view,
        "memory-allocation-stall",
        min(spent, free),
        f"{sum(call.count for call in found)} calls to allocate and free device memory "
        f"take {spent / 1e3:.1f} ms",
        (Reading(metric="allocation_api_time", value=spent * 1e-6, unit="s"),),
        _places(found),
        shown=shown,
        calls=found,
    )


def _compiler(view: View, free: float) -> Iterator[Evidence]:
    compiling = _calls(view, lambda call: any(part in call.name for part in _COMPILING))
    tiling = _calls(view, lambda call: call.name.endswith(_TILING))
    spent = sum(max(0.0, call.total_us - call.count * LONG_GAP_US) for call in compiling)
    if compiling:
        yield _evidence(
            view,
            "operator-compilation-latency",
            min(free, spent),
            f"{sum(call.count for call in compiling)} calls that compile what is not compiled yet take "
            f"{spent / 1e3:.1f} ms more than a launch",
            (Reading(metric="compilation time", value=spent * 1e-6, unit="s"),),
            _places(compiling),
            calls=compiling,
        )
    kernels = view.kernels
    if kernels is None or not any(kernels.texts["state"].labels):
        return
    state = kernels.texts["state"]
    dynamic = float(state.where(label == "dynamic" for label in state.labels).mean())
    tiled = sum(call.total_us for call in tiling)
    yield _evidence(
        view,
        "dynamic-shape",
        min(free, spent + tiled) * dynamic,
        f"{dynamic:.0%} of operators have dynamic shapes; "
        f"tiling and compiling take {(spent + tiled) / 1e3:.1f} ms",
        (Reading(metric="dynamic_operator_share", value=dynamic, unit="1"),),
        _places([*compiling, *tiling]),
        calls=[*compiling, *tiling],
        level=dynamic,
    )


def _waiting(view: View, thresholds: Thresholds, free: float) -> Iterator[Evidence]:
    """As many synchronising calls as long gaps: the host stops and cannot run ahead."""
    found = _calls(
        view,
        lambda c: (c.level in _RUNTIME and any(part in c.name for part in _SYNCHRONISING)) or c.name in _ITEM,
    )
    runtime = [call for call in found if call.level in _RUNTIME]
    count = sum(call.count for call in runtime or found)
    kernels = view.rank.kernels
    if kernels is None or not count or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    start, end = gaps(kernels)
    lengths = (end - start) / 1e3
    long = lengths[lengths > LONG_GAP_US]
    if not len(long):
        return
    together = min(1.0, count / len(long))
    pattern = "host-device-synchronisation"
    yield _evidence(
        view,
        pattern,
        min(free, float(np.sort(long)[::-1][:count].sum())),
        f"{count} synchronising calls beside {len(long)} gaps longer than {LONG_GAP_US:.0f} µs",
        (Reading(metric="synchronising_api_cooccurrence", value=together, unit="1"),),
        _places(found),
        shown=float(thresholds.shows(pattern, "synchronising_api_cooccurrence", together)),
        calls=found,
    )
    items = [call for call in found if call.name in _ITEM]
    if items:
        many = sum(call.count for call in items if call.name == "aten::item") or items[0].count
        yield Evidence(
            node="item-calls",
            shown=float(soft(np.asarray(many / max(1, count)), 0.5, 0.25)),
            lost_us=0.0,
            share=0.0,
            says=f"{many} calls of .item() and its kin",
            rank=view.rank.rank,
            places=_places(items),
            is_setting=True,
            readings=(
                Reading(metric="item calls per synchronising call", value=many / max(1, count), unit="1"),
            ),
        )


def _launches(view: View, free: float) -> Iterator[Evidence]:
    """Kernels that end before the next is launched."""
    kernels = view.kernels
    if kernels is None or len(kernels) < 2 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    order = np.argsort(kernels.start_ns, kind="stable")
    start, end = kernels.start_ns[order], np.maximum.accumulate(kernels.end_ns[order])
    gap = np.append(np.maximum(0, (start[1:] - end[:-1]) / 1e3), 0.0)
    duration = kernels.duration_us[order]
    late = (gap > duration) & (gap <= LONG_GAP_US)
    lost = min(free, float(gap[late].sum()))
    share = lost / free if free > 0 else 0.0
    found = _evidence(
        view,
        "kernel-launch-overhead",
        lost,
        f"{share:.0%} of the free time lies in gaps up to {LONG_GAP_US:.0f} µs "
        f"behind {int(late.sum())} kernels "
        f"that are shorter than them (median kernel {float(np.median(duration)):.1f} µs)",
        (Reading(metric="share of free time behind kernels shorter than it", value=share, unit="1"),),
        (Place(kernels.file, tuple(int(kernels.rows[order[i]]) for i in np.flatnonzero(late)[:PLACES])),),
    )
    yield replace(found, fixed=lambda rank: busier(rank, lost, [], longest_us=LONG_GAP_US))


def _copies(view: View) -> Iterator[Evidence]:
    """Copies between host and device beside which nothing runs."""
    kernels = view.rank.kernels
    if kernels is None:
        return
    copies = kernels.is_copy
    if not copies.any():
        return
    from recommender.diagnosis.evidence import alone

    lost = float((kernels.duration_us * alone(kernels))[copies].sum())
    yield _evidence(
        view,
        "host-to-device-copy",
        min(lost, view.step_sum("free_us")),
        f"{int(copies.sum())} copies by the copy engine, {lost / 1e3:.2f} ms of them beside no kernel",
        (Reading(metric="copies", value=float(copies.sum()), unit="1"),),
        (Place(kernels.file, tuple(int(row) for row in kernels.rows[copies][:PLACES])),),
    )


def _settings(view: View) -> Iterator[Evidence]:
    told = view.rank.environment
    if told.get("ASCEND_LAUNCH_BLOCKING", "").strip() == "1":
        yield _setting(view, "launch-blocking-set", "ASCEND_LAUNCH_BLOCKING=1 makes every launch wait")
    if told.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip() in {"0", "1", "2"}:
        level = told["ASCEND_GLOBAL_LOG_LEVEL"]
        yield _setting(view, "debug-log-level", f"ASCEND_GLOBAL_LOG_LEVEL={level} writes more than errors")
    if told.get("TASK_QUEUE_ENABLE", "").strip() == "0":
        yield _setting(view, "task-queue-off", "TASK_QUEUE_ENABLE=0")


def _setting(view: View, node: str, says: str) -> Evidence:
    return Evidence(
        node=node,
        shown=1.0,
        lost_us=0.0,
        share=0.0,
        says=says,
        rank=view.rank.rank,
        is_setting=True,
        places=(Place("profiler_metadata.json"),),
    )


def _free_places(view: View) -> tuple[Place, ...]:
    return tuple(step.place for step in view.rank.steps[:3])


def _places(calls: list[Call]) -> tuple[Place, ...]:
    return tuple(call.place for call in calls[:3])


def _evidence(
    view: View,
    node: str,
    lost: float,
    says: str,
    readings: tuple[Reading, ...],
    places: tuple[Place, ...],
    *,
    shown: float = 1.0,
    calls: list[Call] | None = None,
    level: float | None = None,
) -> Evidence:
    return Evidence(
        node=node,
        shown=shown,
        lost_us=lost,
        share=lost / view.total_us,
        says=says,
        readings=readings,
        places=places,
        rank=view.rank.rank,
        fixed=lambda rank: busier(rank, lost, calls or []),
        level=level,
    )


def busier(rank: Rank, saved_us: float, gone: list[Call], *, longest_us: float | None = None) -> Rank:
    """The facts with less free time, without the calls that made it; kernels follow each other closer.

    Args:
        rank: Its facts.
        saved_us: Free time that is gone.
        gone: Calls that are.
        longest_us: Gaps up to this are closed; None to make all shorter alike.
    """
    free = sum(step.free_us for step in rank.steps)
    part = min(1.0, saved_us / free) if free > 0 else 0.0
    steps = tuple(
        replace(step, step_us=step.step_us - part * step.free_us, free_us=(1 - part) * step.free_us)
        for step in rank.steps
    )
    names = {(call.level, call.name) for call in gone}
    calls = tuple(call for call in rank.calls if (call.level, call.name) not in names)
    kernels = rank.kernels
    if kernels is not None and (kernels.start_ns != UNKNOWN_NS).all() and len(kernels) > 1:
        start, end = gaps(kernels)
        closed = part if longest_us is None else (end - start) <= longest_us * 1e3
        shift = np.concatenate([[0], np.cumsum(((end - start) * closed).astype(np.int64))])
        place = np.searchsorted(end, kernels.start_ns, side="right")
        kernels = kernels.replaced(start_ns=kernels.start_ns - shift[place])
    return replace(rank, steps=steps, calls=calls, kernels=kernels)
