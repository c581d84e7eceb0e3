"""Which metrics an experiment reads, as people write them: ``NAME[UNIT]=WHERE``.

``WHERE`` is a path into the JSON that is printed, or a regular expression between slashes; a bare
``wall_time`` is the time that the command takes. The first metric decides, the others are for guardrails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.metrics import METRICS, canonical_metric
from kg.entities import Better, WorkloadKind
from kg.errors import InputError
from recommender.measuring.readings import WALL, Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

WALL_TIME = "wall_time"

_METRIC = re.compile(r"^\s*([A-Za-z_][\w .-]*?)\s*(?:\[([^\]]+)\])?\s*(?:=\s*(.+?))?\s*$", re.DOTALL)


def readings_of(texts: Sequence[str], *, better: str = "") -> tuple[Reading, ...]:
    """Where each metric stands; the time of the command where none is given.

    Args:
        texts: As people write them.
        better: ``lower`` or ``higher`` for the first, where its name does not tell.

    Raises:
        InputError: One cannot be read, is there twice, or has no known direction.
    """
    found = [_reading(text, better if place == 0 else "") for place, text in enumerate(texts or [WALL_TIME])]
    names = [item.metric for item in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"the metric {twice[0]} is given twice")
    return tuple(found)


def direction(metric: str, told: str = "") -> Better:
    """Which way a metric improves.

    Raises:
        InputError: Its name does not tell, and neither does ``told``.
    """
    if told:
        try:
            return Better(told.strip().lower())
        except ValueError:
            raise InputError(f"--better {told!r}: lower or higher") from None
    if metric in METRICS:
        return METRICS[metric].better
    if metric.endswith(("_s", "_ms", "_us", "_ns", "time", "latency")):
        return Better.LOWER
    raise InputError(f"{metric}: say which way is better", hint="--better lower, or --better higher")


def _reading(text: str, better: str) -> Reading:
    matched = _METRIC.match(text)
    if matched is None:
        raise InputError(f"--metric {text!r}: expected NAME=WHERE", hint="step_time[ms]=/step: (\\S+) ms/")
    name, symbol, where = matched.groups()
    if where is None:
        if name not in {WALL_TIME, "run_time"}:
            raise InputError(
                f"--metric {text!r}: say where the command prints it", hint=f"{name}=path.in.json"
            )
        return Reading(metric="run_time", better=Better.LOWER, unit="s", path=WALL)
    metric = canonical_metric(name, WorkloadKind.OPERATOR)
    is_pattern = len(where) > 1 and where[0] == where[-1] == "/"
    return Reading(
        metric=metric,
        better=direction(metric, better),
        unit=symbol,
        path="" if is_pattern else where,
        pattern=where[1:-1] if is_pattern else "",
    )
