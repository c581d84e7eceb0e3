"""Bounds of the numbers in a question: what no system, degree, load or share can be is refused by name."""

import math
import re
from collections.abc import Mapping

from kg.errors import InputError
from kg.nouns.values import Value
from kg.terms.facts import FACTS, FactType
from kg.terms.meanings import kind_of, meaning_of, phrase_of, size_of

LARGEST_SYSTEM = 2**20
"""Devices of the largest system that is announced: more than a million of an Atlas 960 SuperCluster (Huawei
Connect 2025, the talk that the source ``hc-2025-gizmochina`` of ``data/hardware/ascend.yaml`` reports)."""
MOST = 2.0**63
"""Beyond every number of a question: that of an integer of 64 bits."""
MOST_ENTRIES = 500
"""Most entries of a table or list of a question, beyond the settings of any program. A choice."""
_OUR_OWN = frozenset({"notes", "origins"})
"""Keys that readers of a launch add themselves."""
LONGEST_NAME = 1_000
"""Characters of a name or the path of a model; a choice."""
LEFT_OPEN = "auto"
"""Value by which a file leaves a size to what reads it: it says nothing."""
LEFT_TO_THE_PROGRAM = -1
"""The value by which vLLM and MindIE are told to choose a size themselves."""
_COUNTED = frozenset({"degree", "batch"})
_NUMBERS = frozenset({"degree", "part", "devices", "replicas", "length", "batch", "number"})
_AT_LEAST_ONE = frozenset({"concurrency", "nodes", "devices"})


_SO_MANY = re.compile(r"(?P<count>\d{1,7})\s*[x×*]\s*(?P<name>[^\W_].*)", re.IGNORECASE)
_TIMES = re.compile(r"(?P<name>.*\w)(?:\s+x\s*|\s*[×*]\s*)(?P<count>\d{1,7})", re.IGNORECASE)
"""Hardware with its count, before and behind: ``8xH100``, ``910B3 * 4``; an ``RTX 3090`` is one."""


def with_own_count(question: Mapping[str, object]) -> Mapping[str, object]:
    """A question whose hardware is named with its count, as ``8xH100``, with the two apart.

    Raises:
        InputError: It states another count besides.
    """
    named = question.get("hardware")
    text = named.strip() if isinstance(named, str) else ""
    found = _SO_MANY.fullmatch(text) or _TIMES.fullmatch(text)
    if found is None:
        return question
    count = int(found["count"])
    if question.get("count") not in {None, count}:
        raise InputError(f"hardware: {text!r} is {count} devices, and the count is {question['count']}")
    return {**question, "hardware": found["name"].strip(), "count": count}


def device_count(stated: object) -> int | None:
    """The number of devices that is stated; None where none is.

    Raises:
        InputError: It is none, or no system has so many.
    """
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, int) or stated < 1:
        raise InputError(f"count: {stated!r} is not a number of devices")
    if stated > LARGEST_SYSTEM:
        raise InputError(
            f"count: {stated:,} devices are more than the largest system that is announced has",
            hint=f"at most {LARGEST_SYSTEM:,}",
        )
    return stated


def check_room(raw: Mapping[str, object]) -> None:
    """Refuse a question of more entries than any has.

    Raises:
        InputError: A table or a list of it is too long.
    """
    for key, content in raw.items():
        if isinstance(content, dict | list) and len(content) > MOST_ENTRIES and key not in _OUR_OWN:
            raise InputError(f"{key}: {len(content):,} entries; at most {MOST_ENTRIES} are read")


def check_settings(settings: Mapping[str, Value], program: str = "") -> None:
    """Refuse settings in use that no program runs with: counts below 1, no numbers, one size told twice.

    Args:
        settings: The settings.
        program: In whose words they are; empty where that is not told.

    Raises:
        InputError: There is such a setting.
    """
    said: dict[str, str] = {}
    for name, value in settings.items():
        kind = kind_of(name)
        if value == LEFT_OPEN:
            continue
        meaning = meaning_of(name, program)
        gives_way = meaning is not None and meaning.yields
        other = said.setdefault((None if gives_way else size_of(name, program)) or name, name)
        if str(settings[other]) != str(value):
            said_by = f"{other} is {settings[other]} and {name} {value}"
            words = phrase_of(name, program)
            raise InputError(f"current: {said_by}: both say {words or 'the same'}, so one of them is wrong")
        number = number_of(value)
        if kind in _NUMBERS or (number is not None and math.isnan(number)):
            _refuse_boundless("current", name, value)
        if kind in _COUNTED and number is not None and number < 1 and number != LEFT_TO_THE_PROGRAM:
            raise InputError(f"current: {name} is {value}; it is 1 or more")


def check_traits(traits: Mapping[str, Value]) -> None:
    """Refuse facts of a question that are no numbers where numbers are meant, or that nothing can be.

    Raises:
        InputError: There is such a fact.
    """
    for name, value in traits.items():
        _refuse_boundless("trait", name, value)
        fact = FACTS.get(name)
        number = number_of(value)
        if fact is not None and fact.type is FactType.NUMBER and number is None and value is not None:
            raise InputError(f"trait: {name}: {value!r} is no number")
        if number is None:
            continue
        least = (
            1 if name in _AT_LEAST_ONE else 0 if fact is not None or kind_of(name) in _NUMBERS else -math.inf
        )
        if number < least:
            raise InputError(f"trait: {name} is {value}; it is {least:g} or more")
        if name.endswith("_share") and fact is not None and number > 1:
            raise InputError(f"trait: {name} is {value}; a share is between 0 and 1")


def check_sizes(shape: Mapping[str, Value]) -> None:
    """Refuse sizes that are missing, no numbers, or negative.

    Raises:
        InputError: There is such a size.
    """
    for name, value in shape.items():
        if value is None or value == "":
            raise InputError(f"shape: {name} has no size")
        _refuse_boundless("shape", name, value)
        number = number_of(value)
        if number is None and kind_of(name) in _NUMBERS:
            raise InputError(f"{name}: {value!r} is not a number")
        if number is not None and number < 0:
            raise InputError(f"shape: {name} is {number:g}; a size is not negative")
        if number is not None and number < 1 and name in _AT_LEAST_ONE:
            raise InputError(f"shape: {name} is {number:g}; it is 1 or more")


def number_of(value: object) -> float | None:
    """A value as a number, also where it is written as text; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _refuse_boundless(place: str, name: str, value: object) -> None:
    number = number_of(value)
    if number is not None and not abs(number) < MOST:
        raise InputError(f"{place}: {name}: {value} is no number below 2^63")
