"""The profiler's split of steps: step_trace_time, cluster_step_trace_time, msprof's step_trace."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from ingest.profiles.cells import number, optional_number, read_table
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import StepTime

COMPUTING, EXPOSED = "Computing", "Communication(Not Overlapped)"
TOLERANCE = 0.005
"""Share by which parts and total may differ: the profiler rounds, it does not lose half a per cent."""


def is_step_table(header: frozenset[str]) -> bool:
    """True if a CSV file splits steps."""
    return {COMPUTING, EXPOSED, "Free"} <= header


def read_steps(path: Path, file: str, on_fault: Callable[[str], None]) -> list[tuple[str, str, StepTime]]:
    """Steps with the type and index that a cluster's table gives them (both empty in a rank's own)."""
    found = []
    for line, row in read_table(path, on_fault):
        step = step_time(row.get("Step", ""), row, FactPlace(file, (line,)))
        if step is None:
            on_fault(f"{path.name}: line {line} has no split of a step, and is left out")
            continue
        found.append((row.get("Type", ""), row.get("Index", ""), step))
    return found


def step_time(step: str, row: Mapping[str, object], place: FactPlace) -> StepTime | None:
    """One row of a split; None if the parts that make a step are not there, or the step is empty."""
    computing, exposed, free = (number(row.get(name)) for name in (COMPUTING, EXPOSED, "Free"))
    if any(math.isnan(value) or value < 0 for value in (computing, exposed, free)):
        return None
    parts = computing + exposed + free
    stage, bubble = (
        number(row.get("Stage")),
        number(row.get("Bubble")),
    )  # the stage is the step less its bubble
    length = parts if math.isnan(stage) or stage <= 0 else stage + (0.0 if math.isnan(bubble) else bubble)
    if length <= 0:
        return None
    overlapped = number(row.get("Overlapped"))
    return StepTime(
        step=str(step or ""),
        step_us=length,
        computing_us=computing,
        exposed_us=exposed,
        overlapped_us=0.0 if math.isnan(overlapped) else overlapped,
        free_us=free,
        bubble_us=optional_number(row.get("Bubble")),
        preparing_us=optional_number(row.get("Preparing")),
        place=place,
    )
