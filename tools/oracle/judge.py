"""The judge of a launch: what a released program says to an argv and an environment.

The program itself is not run. Its parser is rebuilt from the facts of the release (``tools.oracle.rebuilt``),
the JSON of its flags is held against its configuration classes, and the combinations that its validation
refuses are refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import registry
from tools.oracle.facts import Facts, facts, releases
from tools.oracle.rebuilt import RebuiltParser, typed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.oracle.facts import Entry

__all__ = ["judge", "releases"]

_PYTHON: dict[str, type | tuple[type, ...]] = {
    "bool": bool,
    "int": int,
    "float": (int, float),
    "str": str,
    "list": list,
    "object": dict,
}


def judge(
    program: str, release: str, argv: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The complaints of a release about a launch; none if it accepts it.

    Args:
        program: Its name in the registry, such as ``"vllm"``.
        release: Name of a release that was read.
        argv: Its words, with or without those that start the program (``vllm serve``, ``torchrun x.py``).
        environment: Variables that the launch sets.

    Raises:
        UnknownEntityError: The program or the release was not read.
    """
    known = facts(program, release)
    given, complaints = _parser(program, known.release).read(options(argv))
    return (
        *complaints,
        *_objects(known, given),
        *_conflicts(known, given),
        *_variables(known, environment or {}),
    )


def options(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of an argv after those that start the program, such as ``vllm serve`` or a script's name."""
    for number, word in enumerate(argv):
        if word.endswith(".py") and not any(item in {"serve", "-m"} for item in argv[:number]):
            return tuple(argv[number + 1 :])
        if word == "-m" and number and argv[number - 1].rpartition("/")[2].startswith("python"):
            return tuple(argv[number + 2 :])
        if word == "serve" and number and not argv[number - 1].startswith("-"):
            return tuple(argv[number + 1 :])
    return tuple(argv)


@lru_cache(maxsize=64)
def _parser(program: str, release: str) -> RebuiltParser:
    return RebuiltParser(facts(program, release))


def _objects(known: Facts, given: Mapping[str, Any]) -> Iterator[str]:
    """Complaints about fields of JSON values that their configuration class does not have or take."""
    for key, value in given.items():
        if isinstance(value, dict):
            name = key.lstrip("-").replace("-", "_")
            open_ = bool(known.flags[key].get("open"))
            yield from _fields(known, f"{name}.", value, open_=open_)


def _fields(known: Facts, prefix: str, value: Mapping[str, Any], *, open_: bool) -> Iterator[str]:
    fields = [path for path in known.fields if path.startswith(prefix)]
    for name, item in value.items():
        entry = known.fields.get(prefix + name)
        if entry is None:
            if fields and not open_:
                yield f"{prefix}{name}: unexpected keyword argument"
            continue
        if isinstance(item, dict) and entry.get("type", "object") == "object":
            yield from _fields(known, f"{prefix}{name}.", item, open_=bool(entry.get("open")))
        elif fault := _fault(entry, item):
            yield f"{prefix}{name}: {fault}"


def _fault(entry: Entry, value: object) -> str:
    """What is wrong with the value of a field; empty if it is taken."""
    kind = entry.get("type", "any")
    if value is None or kind == "any" or (kind == "str" and isinstance(value, int) and entry.get("choices")):
        return ""  # a member of an enumeration may stand as its number
    if isinstance(value, str) and kind in {"int", "float", "bool"}:
        try:
            value = typed(value, kind)
        except ValueError:
            return f"invalid {kind} value: {value!r}"
    if not isinstance(value, _PYTHON[kind]) and not (kind == "bool" and value in (0, 1)):
        return f"invalid {kind} value: {value!r}"
    choices = entry.get("choices", ())
    items = value if isinstance(value, list) else [value]
    wrong = [item for item in items if choices and str(item) not in {str(choice) for choice in choices}]
    if wrong:
        return f"invalid choice: {wrong[0]!r} (choose from {', '.join(map(str, choices))})"
    low, high = entry.get("low"), entry.get("high")
    if isinstance(value, int | float) and low is not None and value < low:
        return f"{value} is less than {low:g}"
    if isinstance(value, int | float) and high is not None and value > high:
        return f"{value} is greater than {high:g}"
    return ""


def _conflicts(known: Facts, given: Mapping[str, Any]) -> Iterator[str]:
    """Combinations that the program's validation refuses, with its defaults for what is not given."""
    values: dict[str, Any] = {}
    for key, entry in known.flags.items():
        if entry.get("default") and entry["default"][0] is not None:
            values[key] = entry["default"][0]
    values.update({key: value for key, value in given.items() if value is not None})
    said = {key for key in given if known.flags[key].get("conflicts")}
    if said:
        for conflict in broken_conflicts(registry(known.program).at(known.release), values):
            if any(conflict in known.flags[key]["conflicts"] for key in said):
                yield f"conflicting settings: {conflict}"


def _variables(known: Facts, environment: Mapping[str, str]) -> Iterator[str]:
    """Complaints about values of variables; a program reads over a variable that it does not know."""
    for name, text in environment.items():
        entry = known.variables.get(name)
        kind = entry.get("type", "any") if entry else "any"
        if entry is None or not text:
            continue
        try:
            value = typed(text, kind) if kind in {"int", "float", "bool"} else text
        except ValueError:
            yield f"{name}: invalid {kind} value: {text!r}"
            continue
        choices = [str(choice) for choice in entry.get("choices", ())]
        items = [item.strip() for item in text.split(",")] if kind == "list" else [str(value)]
        if choices and kind != "bool" and any(item not in choices for item in items):
            yield f"{name}: invalid choice: {text!r} (choose from {', '.join(choices)})"
