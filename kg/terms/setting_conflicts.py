"""Conflicts that a program itself raises between its settings, as the registry has them."""

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kg.nouns.setting import read_value
from kg.nouns.values import Settings, Value
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings

_TERM = re.compile(
    r"^(?P<not>not )?(?P<key>[-\w.]+)"
    r"(?: (?P<test>is set|is unset)| (?P<compare>==|!=|<=|>=|<|>) (?P<value>\S+)"
    r"| (?P<among>(?:not )?in) \((?P<values>[^)]*)\))?$"
)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OFF = frozenset({"false", "0", "none", "", "null", "disable"})
DEEPEST = 5
"""Settings that may be added for one another: longer chains are another configuration; a choice."""


def broken_conflicts(release: ReleaseSettings, settings: Mapping[str, Value]) -> list[str]:
    """The conflicts of a release that settings break, each as the conjunction that must not hold.

    A conflict is broken if all of its terms hold. What is not set has its default; where the release states
    none, it is off, and a comparison with it is undecided, so it breaks nothing. What a newer
    release refuses, an older one is not asked to do.

    Args:
        release: Of a program, with the programs beneath it.
        settings: Values by key, in any spelling; of a field its path, carrier first.
    """
    values = {plain_key(key): value for key, value in settings.items()}
    broken: dict[str, None] = {}
    aside = release.registry.set_aside(release.release)
    for layer in release.layers():
        for key in settings:
            found = layer.registry.find(key, None, layer.release)
            if found is None or not found.setting.in_release(layer.release):
                continue
            for conflict in found.setting.as_in(layer.release).conflicts:
                if layer is not release and aside & {*conflict.split()}:
                    continue
                if all(_holds(term, values, layer) for term in conflict.split(" and ")):
                    broken[conflict] = None
    return list(broken)


def companions(
    release: ReleaseSettings, current: Mapping[str, Value], change: Mapping[str, Value]
) -> Settings | None:
    """Settings that a release needs beside a change; None where none help.

    A conflict names its own cure where it holds for the lack of something: ``not --sequence-parallel``, or a
    word that the default is not. What is set already is not touched.

    Args:
        release: Of a program, with the programs beneath it.
        current: What is set before.
        change: What the change sets.
    """
    before = set(broken_conflicts(release, current))
    settings = {**current, **change}
    added: dict[str, Value] = {}
    for _ in range(DEEPEST + 1):
        broken = [one for one in broken_conflicts(release, {**settings, **added}) if one not in before]
        if not broken:
            return Settings(added)
        needed = cure(broken[0], release, {**settings, **added})
        if needed is None:
            return None
        added |= dict([needed])
    return None


def cure(
    conflict: str, release: ReleaseSettings, settings: Mapping[str, Value] = MappingProxyType({})
) -> tuple[str, Value] | None:
    """The setting that a conflict names as its own cure; None without one that is not set already.

    Args:
        conflict: The conjunction that must not hold.
        release: Of a program.
        settings: What is set already.
    """
    held = {plain_key(key) for key in settings}
    terms = sorted(conflict.split(" and "), key=lambda term: not term.startswith("not "))
    cures = (_cure(term, release) for term in terms)
    return next((one for one in cures if one is not None and plain_key(one[0]) not in held), None)


def _cure(term: str, release: ReleaseSettings) -> tuple[str, Value] | None:
    """The setting that makes a term false; None where the term does not say which."""
    match = _TERM.match(term.strip())
    if match is None or match["test"] or match["among"]:
        return None
    found = release.look_up(match["key"], suggest=False)
    if not found.usable or found.setting is None:
        return None
    if match["not"] and match["compare"] is None and found.setting.type == "bool":
        return found.setting.key, True
    if match["compare"] == "!=" and found.setting.accepts(match["value"]):
        return found.setting.key, read_value(match["value"], found.setting.type)
    return None


def _held(key: str, values: Mapping[str, Value], release: ReleaseSettings) -> Value:
    """The final value of a setting: as given, else its default; None where neither is known."""
    if key in values:
        return values[key]
    found = release.registry.find(key, None, release.release)
    default = None if found is None or found.beneath else found.setting.default_in(release.release)
    return None if default is None else default.value


def holds(term: str, settings: Mapping[str, Value], release: ReleaseSettings) -> bool:
    """True if a term holds for settings by key, and the defaults of a release."""
    return _holds(term, {plain_key(key): value for key, value in settings.items()}, release)


def _holds(term: str, values: Mapping[str, Value], release: ReleaseSettings) -> bool:
    match = _TERM.match(term.strip())
    if match is None:
        return False
    key = plain_key(match["key"])
    if match["test"]:
        return (key in values) == (match["test"] == "is set")
    held = _held(key, values, release)
    if match["compare"] is None and match["among"] is None:
        is_on = str(held).lower() not in _OFF
        return is_on != bool(match["not"])
    if held is None:
        return False
    text = str(held).lower()
    if match["among"]:
        return (text in {item.strip().lower() for item in match["values"].split(",")}) == (
            match["among"] == "in"
        )
    named = _held(plain_key(match["value"]), values, release)
    other = str(match["value"] if named is None else named).lower()
    if match["compare"] in {"==", "!="}:
        return (text == other) == (match["compare"] == "==")
    one, two = read_value(text, "float"), read_value(other, "float")
    if not isinstance(one, int | float) or not isinstance(two, int | float):
        return False
    return _COMPARE[match["compare"]](one, two)
