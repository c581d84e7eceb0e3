"""Limits on the gains that a row may claim: beyond them it is a fault, not evidence."""

from kg.nouns.entities import Baseline

HIGHEST_OPERATOR_GAIN = 500.0
"""The same of one operator, where the highest that is cited is 55x (one that left the scalar cores)."""

HIGHEST_GAIN = 30.0
"""Factor by which a strategy may better or worsen a step or a request at most: the highest of the 80 gains
that the shipped knowledge cites is 2.6x, and a wrong unit is off by a thousand."""

_OPERATOR_METRICS = frozenset({"operator_time", "kernel_time"})


def implausible_gain(metric: str, value: float | None, baseline: Baseline | None, strategy: str) -> str:
    """The reason to doubt a gain; empty if it is plausible.

    Args:
        metric: The measured metric.
        value: Its value; None where there is none.
        baseline: The value it is compared with; None if there is none.
        strategy: Id of the strategy; empty for none, and then nothing learns a gain.
    """
    if baseline is None or not strategy or value is None or value <= 0:
        return ""
    factor = max(value / baseline.value, baseline.value / value)
    highest = highest_gain(metric)
    if factor <= highest:
        return ""
    return f"baseline: {factor:.4g}x apart from the value, more than any strategy does ({highest:g}x)"


def highest_gain(metric: str) -> float:
    """Return the factor by which a strategy may better or worsen a metric at most."""
    return HIGHEST_OPERATOR_GAIN if metric in _OPERATOR_METRICS else HIGHEST_GAIN
