"""The judge of a launch: what a released program says to an argv and an environment.

The program itself is not run. Its parser is rebuilt from the facts of the release (``tools.oracle.rebuilt``),
the JSON of its flags is held against its configuration classes, and the combinations that its validation
refuses are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import registry
from tools.oracle.facts import Facts, facts, releases
from tools.oracle.files import as_flags, dictionary, objects, overrides
from tools.oracle.rebuilt import RebuiltParser, typed

__all__ = ["judge", "releases"]


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
    if known.file in {"json", "overrides"}:
        said = dictionary(known, argv) if known.file == "json" else overrides(known, argv)
        return (*said, *_variables(known, environment or {}))
    words = list(options(argv))
    if not known.positional:
        words = words[next((number for number, word in enumerate(words) if word.startswith("-")), 0) :]
    if known.file == "yaml":
        words = as_flags(words)
    given, complaints = _parser(program, known.release).read(words)
    return (
        *complaints,
        *objects(known, given),
        *_conflicts(known, given),
        *_variables(known, environment or {}),
    )


def options(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of an argv after those that start the program, such as ``vllm serve`` or a script's name."""
    for number, word in enumerate(argv):
        if (word.endswith(".py") or word == "SCRIPT") and not any(
            item in {"serve", "-m"} for item in argv[:number]
        ):
            return tuple(argv[number + 1 :])
        if word == "-m" and number and argv[number - 1].rpartition("/")[2].startswith("python"):
            return tuple(argv[number + 2 :])
        if word == "serve" and number and not argv[number - 1].startswith("-"):
            return tuple(argv[number + 1 + (argv[number - 1] == "lmdeploy") :])  # lmdeploy serve api_server
    return tuple(argv[1:] if argv[:1] == ["trtllm-serve"] else argv)  # whose verb may be left out


@lru_cache(maxsize=64)
def _parser(program: str, release: str) -> RebuiltParser:
    return RebuiltParser(facts(program, release))


def _conflicts(known: Facts, given: Mapping[str, Any]) -> Iterator[str]:
    """Combinations that the program's validation refuses, with its defaults for what is not given."""
    values: dict[str, Any] = {}
    for key, entry in known.flags.items():
        if isinstance((entry.get("default") or [None])[0], bool | int | float):
            values[key] = entry["default"][0]  # a default text such as "disable" is no switch that is on
    values.update({key: value for key, value in given.items() if value is not None})
    entries = {**known.flags, **known.fields}
    told = set(given)
    for key, value in given.items():
        name = key.lstrip("-").replace("-", "_")
        fields = {path: entry for path, entry in known.fields.items() if path.startswith(f"{name}.")}
        if isinstance(value, dict) and fields:
            values.update({path: one["default"][0] for path, one in fields.items() if one.get("default")})
            values.update({f"{name}.{field}": item for field, item in value.items()})
            told |= {f"{name}.{field}" for field in value}
    said = {key for key in told if entries.get(key, {}).get("conflicts")}
    if said:
        values = {key: value for key, value in values.items() if value is not None}
        for conflict in broken_conflicts(registry(known.program).at(known.release), values):
            named = [word for word in conflict.split() if word in entries]
            if said & {*named} and all(conflict in entries[key].get("conflicts", ()) for key in named):
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
