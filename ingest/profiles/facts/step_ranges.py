"""Steps that a program marked by ranges with numbers: NVTX, roctx."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.profiles.facts.kernels import Codes, Integers

_STEP = re.compile(r"((?:\w+[ _])?(?:step|iter|iteration)|ProfilerStep)[\s_:#=-]*(\d+)", re.IGNORECASE)
"""A range that is one step: ``step 12``, ``train_step_12``, ``iteration=12``, ``ProfilerStep#12``."""


@dataclass(frozen=True, slots=True)
class StepRange:
    """A range of time that a program called a step.

    Attributes:
        start_ns: Begin.
        end_ns: End.
        kind: Its name without the number, in small letters.
        number: Its number, as text.
    """

    start_ns: int
    end_ns: int
    kind: str
    number: str


def step_of(text: str, start_ns: int, end_ns: int) -> StepRange | None:
    """The step that a range of this name is; None if it is another range."""
    found = _STEP.fullmatch(text.strip())
    return StepRange(start_ns, end_ns, found[1].lower(), found[2]) if found else None


def assign_to_ranges(at_ns: Integers, ranges: Sequence[StepRange]) -> tuple[Codes, tuple[str, ...]]:
    """The step in which each time lies, as codes and labels; of nested kinds of ranges the outermost counts.

    Args:
        at_ns: Times, shape (n,).
        ranges: Steps of one process; those of one kind follow each other.
    """
    codes = np.zeros(len(at_ns), np.int32)
    lengths: dict[str, int] = {}
    for step in ranges:
        lengths[step.kind] = lengths.get(step.kind, 0) + step.end_ns - step.start_ns
    if not lengths:
        return codes, ("",)
    outermost = max(lengths, key=lambda kind: lengths[kind])
    steps = sorted((r for r in ranges if r.kind == outermost), key=lambda step: step.start_ns)
    starts = np.array([step.start_ns for step in steps], np.int64)
    ends = np.array([step.end_ns for step in steps], np.int64)
    labels: dict[str, int] = {"": 0}
    numbers = np.array([labels.setdefault(step.number, len(labels)) for step in steps], np.int32)
    place = np.searchsorted(starts, at_ns, side="right") - 1
    inside = (place >= 0) & (at_ns < ends[place])
    codes[inside] = numbers[place[inside]]
    return codes, tuple(labels)
