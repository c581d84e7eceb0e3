"""Gaps between kernels, and the split of steps that is counted from kernels."""

from dataclasses import replace

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Integers, Kernels, Mask
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import StepTime
from ingest.profiles.facts.stretches import jump_us, length_us, union


def gaps(kernels: Kernels) -> tuple[Integers, Integers]:
    """Begin and end of each stretch in which nothing ran, in order."""
    start, end = union(kernels.start_ns, kernels.end_ns)
    return end[:-1], start[1:]


def split_steps(kernels: Kernels, *, joined: bool = False) -> list[StepTime]:
    """The split of each step, counted from its kernels; empty if no start was collected.

    Args:
        kernels: All kernels of a rank.
        joined: A step begins where the one numbered before it ended, not with its own first work: what the
            host did in between belongs to it. Recordings of GPUs have no table that says what they count.
    """
    column = kernels.texts["step"]
    present = [int(code) for code in np.unique(column.codes) if column.labels[int(code)]]
    codes = column.codes if present else np.zeros(len(kernels), np.int32)
    rows = np.flatnonzero(~kernels.is_copy & (kernels.start_ns != UNKNOWN_NS))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    start, end, communicates = kernels.start_ns[rows], kernels.end_ns[rows], kernels.is_communication[rows]
    wanted = np.array(present or [0], dtype=codes.dtype)
    firsts, lasts = (np.searchsorted(codes[rows], wanted, side=side) for side in ("left", "right"))
    found, spans = [], []
    for code, first, last in zip(wanted, firsts, lasts, strict=True):
        if first < last:
            label = column.labels[int(code)] if present else ""
            mine = slice(first, last)
            step = _split(start[mine], end[mine], communicates[mine], label, kernels.file)
            if step is not None:
                found.append(step)
                spans.append((int(start[mine].min()), int(end[mine].max())))
    return _joined(found, spans) if joined else found


def _joined(steps: list[StepTime], spans: list[tuple[int, int]]) -> list[StepTime]:
    """Steps that begin where the one numbered before them ended.

    Args:
        steps: Each from its own first to its own last work.
        spans: When that is, nanoseconds.
    """
    ends = {int(step.step): end for step, (_, end) in zip(steps, spans, strict=True) if step.step.isdecimal()}
    found = []
    for step, (start, _) in zip(steps, spans, strict=True):
        before = ends.get(int(step.step) - 1) if step.step.isdecimal() else None
        lead_us = 0.0 if before is None else max(0.0, (start - before) / 1e3)
        found.append(replace(step, step_us=step.step_us + lead_us, free_us=step.free_us + lead_us))
    return found


def _split(start: Integers, end: Integers, communicates: Mask, step: str, file: str) -> StepTime | None:
    """The split of one step from begin and end of its kernels; None if they take no time."""
    length = float(end.max() - start.min()) / 1e3 - jump_us(start, end)
    if length <= 0:
        return None
    computing = length_us(start[~communicates], end[~communicates])
    communication = length_us(start[communicates], end[communicates])
    busy = length_us(start, end)
    return StepTime(
        step=step,
        step_us=length,
        computing_us=computing,
        exposed_us=busy - computing,
        overlapped_us=computing + communication - busy,
        free_us=length - busy,
        place=FactPlace(file),
        is_counted=True,
    )
