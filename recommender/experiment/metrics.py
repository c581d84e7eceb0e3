"""The metrics that an experiment reads, from text as people write it; the same way as a search's.

``NAME=PATH:UNIT`` is a path into the JSON that is printed, ``NAME:UNIT=PATTERN`` a regular expression.
Without either it is the time that the command takes. The first metric decides, the others are for guardrails.
"""

from collections.abc import Sequence

from kg.errors import InputError
from kg.nouns.entities import Better, WorkloadKind
from kg.terms.metrics import METRICS, canonical_metric
from recommender.measuring.readings import WALL, OutputReading

_TIMES = ("time", "latency", "_s", "_ms", "_us", "_ns")
"""Endings of names of metrics of which less is better."""


def readings_of(
    metrics: Sequence[str], patterns: Sequence[str] = (), *, better: str = ""
) -> tuple[OutputReading, ...]:
    """Read where each metric stands; the time of the command where none is given.

    Args:
        metrics: ``NAME=PATH:UNIT`` each.
        patterns: ``NAME:UNIT=PATTERN`` each.
        better: ``lower`` or ``higher`` for the first, where its name does not tell.

    Raises:
        InputError: One cannot be read, is there twice, or has no known direction.
    """
    told: list[tuple[str, str, str, str]] = []
    for text in metrics:
        name, sign, rest = text.partition("=")
        path, _, symbol = rest.partition(":")
        if not sign or not path.strip() or not name.strip():
            raise InputError(f"--metric {text!r}: expected NAME=PATH:UNIT", hint="kernel_time=time_s:s")
        told.append((name.strip(), symbol.strip(), path.strip(), ""))
    for text in patterns:
        head, sign, expression = text.partition("=")
        name, _, symbol = head.partition(":")
        if not sign or not expression or not name.strip():
            raise InputError(f"--pattern {text!r}: expected NAME:UNIT=PATTERN")
        told.append((name.strip(), symbol.strip(), "", expression))
    if not told:
        return (OutputReading(metric="run_time", better=Better.LOWER, unit="s", path=WALL),)
    found = []
    for place, (name, symbol, path, pattern) in enumerate(told):
        metric = canonical_metric(name, WorkloadKind.OPERATOR)
        way = direction(metric, better if place == 0 else "", is_deciding=place == 0)
        found.append(
            OutputReading(metric=metric, better=way, unit=symbol or None, path=path, pattern=pattern)
        )
    names = [item.metric for item in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"the metric {twice[0]} is given twice")
    return tuple(found)


def direction(metric: str, stated: str = "", *, is_deciding: bool = True) -> Better:
    """The direction in which a metric improves.

    Args:
        metric: Its canonical name.
        stated: ``lower`` or ``higher``; wins over the name.
        is_deciding: Whether it must be known; that of others stands in their guardrails.

    Raises:
        InputError: Its name does not tell, and neither does ``stated``.
    """
    if stated:
        try:
            return Better(stated.strip().lower())
        except ValueError:
            raise InputError(f"--better {stated!r}: lower or higher") from None
    if metric in METRICS:
        return METRICS[metric].better
    if metric.endswith(_TIMES) or not is_deciding:
        return Better.LOWER
    raise InputError(f"{metric}: say which way is better", hint="--better lower, or --better higher")
