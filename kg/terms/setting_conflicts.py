"""Conflicts that a program itself raises between its settings, as the registry has them."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from kg.nouns.setting import read_value
from kg.terms.purposes import plain_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kg.nouns.values import Value
    from kg.terms.setting_registry import ReleaseSettings

_TERM = re.compile(
    r"^(?P<not>not )?(?P<key>[-\w.]+)"
    r"(?: (?P<test>is set|is unset)| (?P<compare>==|!=|<=|>=|<|>) (?P<value>\S+)"
    r"| (?P<among>(?:not )?in) \((?P<values>[^)]*)\))?$"
)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OFF = frozenset({"false", "0", "none", "", "null"})


def broken_conflicts(release: ReleaseSettings, settings: Mapping[str, Value]) -> list[str]:
    """The conflicts of a release that settings break, each as the conjunction that must not hold.

    A conflict is broken if all of its terms hold for settings that are set; what is not set is unset or
    off, and a
    comparison with it is undecided, so it breaks nothing. What a newer release refuses, an older one is
    not asked to do.

    Args:
        release: Of a program, with the programs beneath it.
        settings: Values by key, in any spelling; of a field its path, carrier first.
    """
    values = {plain_key(key): value for key, value in settings.items()}
    broken: dict[str, None] = {}
    for layer in release.layers():
        for key in settings:
            found = layer.registry.find(key, None, layer.release)
            for conflict in () if found is None else found.setting.conflicts:
                if all(_holds(term, values) for term in conflict.split(" and ")):
                    broken[conflict] = None
    return list(broken)


def _holds(term: str, values: Mapping[str, Value]) -> bool:
    match = _TERM.match(term.strip())
    if match is None:
        return False
    key = plain_key(match["key"])
    if match["test"]:
        return (key in values) == (match["test"] == "is set")
    if match["compare"] is None and match["among"] is None:
        is_on = key in values and str(values[key]).lower() not in _OFF
        return is_on != bool(match["not"])
    if key not in values:
        return False
    text = str(values[key]).lower()
    if match["among"]:
        return (text in {item.strip().lower() for item in match["values"].split(",")}) == (
            match["among"] == "in"
        )
    other = str(values.get(plain_key(match["value"]), match["value"])).lower()
    if match["compare"] in {"==", "!="}:
        return (text == other) == (match["compare"] == "==")
    one, two = read_value(text, "float"), read_value(other, "float")
    if not isinstance(one, int | float) or not isinstance(two, int | float):
        return False
    return _COMPARE[match["compare"]](one, two)
