"""Compares the circumstances of an effect with those of a question: its baseline and its framework."""

from collections.abc import Iterable, Mapping

from kg.nouns.framework import Framework
from kg.nouns.values import Settings, show
from kg.terms.circumstances import SOFTWARE
from kg.terms.conditions import FactValue, Truth
from kg.terms.meanings import degree_of
from kg.terms.purposes import plain_key


def baseline_truth(against: Settings, facts: Mapping[str, FactValue]) -> Truth:
    """Judge if the settings of a published baseline hold in the question too.

    A gain over something holds where that something runs: it fails where the question sets it otherwise, and
    is unknown where the question does not say.
    """
    if not against:
        return Truth.HOLDS
    stated = {
        plain_key(name[len("setting[") : -1]): value
        for name, value in facts.items()
        if name.startswith("setting[")
    }
    truth = Truth.HOLDS
    for name, value in against.items():
        degree = degree_of(name)
        here = facts.get(degree) if degree else stated.get(plain_key(name))
        if here is None:
            truth = Truth.UNKNOWN
        elif _plain(here) != _plain(value):
            return Truth.FAILS
    return truth


def _plain(value: object) -> object:
    """A value as two spellings of it compare: 4.0 as 4, True and "true" as "true"."""
    text = show(value).lower() if isinstance(value, str | int | float | bool) else str(value).lower()
    try:
        return float(text)
    except ValueError:
        return text


def other_framework(seen: Settings, facts: Mapping[str, FactValue], frameworks: Iterable[Framework]) -> str:
    """The framework of an effect, where it is not the question's; empty where it is, or either is unknown.

    Two that pass settings on to each other, as a plugin and its engine do, are one here.
    """
    theirs = {name.removeprefix(SOFTWARE) for name in seen if name.startswith(SOFTWARE)}
    ours = {name[len("software[") : -1] for name in facts if name.startswith("software[")}
    by_id = {item.id: item for item in frameworks}
    for one in theirs:
        for other in ours:
            is_kin = one == other or (one in by_id and by_id[one].reads(other))
            if is_kin or (other in by_id and by_id[other].reads(one)):
                return ""
    return min(theirs) if theirs and ours else ""
