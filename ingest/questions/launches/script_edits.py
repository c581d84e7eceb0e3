"""Settings written into a launch script in the place where a person would write them. Nothing is executed.

A flag that is there gets its new value where the value stands: behind the flag, in the command itself or in
the variables that it is made of, or in the one plain assignment of the variable behind the flag. One that is
not there is added at the end of the command. A variable is exported before the command, or changed where it
is exported. Fields are merged into the JSON of their flag. Comments and other commands stay as they are.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ingest.questions.launches.launch import launch_command
from kg.terms.meanings import long_names

_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*\""""
_VALUE = rf"""{_QUOTED}|\d+(?:[ \t]+\d+)+(?![\w.])|[^\s\\;|&'"]+"""
_VARIABLE = re.compile(r"\"?\$\{?([A-Za-z_]\w*)\}?\"?")
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_INDENT = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEdits:
    """Settings to write into a script.

    Attributes:
        variables: Values of environment variables by name.
        flags: The words of the value by flag, with its dashes; none for a flag without one.
        fields: JSON objects by the flag that carries them: these fields are set, others stay.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedScript:
    """A script with its edits.

    Attributes:
        text: The new text.
        unwritten: Settings whose place could not be found, with the reason.
    """

    text: str
    unwritten: tuple[str, ...] = ()


def edited(text: str, edits: ScriptEdits) -> EditedScript:
    """A launch script with settings written into it.

    Args:
        text: The script.
        edits: What to set.

    Raises:
        InputError: No launch stands in the script itself.
    """
    text = text.replace("\r\n", "\n")
    unwritten: list[str] = []
    added: list[str] = []
    for flag, words in edits.flags.items():
        text, is_there = _with_flag(text, flag, shlex.join(words))
        if not is_there:
            added.append(" ".join((flag, *map(shlex.quote, words))))
    for flag, content in edits.fields.items():
        found = _find(text, flag)
        if found is None:
            added.append(f"{flag} {shlex.quote(json.dumps(content))}")
            continue
        before = _object("".join(shlex.split(found[2] or "")))
        if before is None:
            unwritten.append(f"{flag} {json.dumps(content)}: its value is no plain JSON object in the script")
            continue
        merged = shlex.quote(json.dumps(_merged(before, content)))
        text = text[: found.start(2)] + merged + text[found.end(2) :]
    if added:
        end = launch_command(text).end
        text = text[:end] + "".join(f" \\\n{_INDENT}{word}" for word in added) + text[end:]
    exports: list[str] = []
    for name, value in edits.variables.items():
        setting = re.compile(rf"^([ \t]*(?:export[ \t]+)?{re.escape(name)}=)({_VALUE})?", re.MULTILINE)
        word = shlex.quote(value)
        if setting.search(text):
            text = setting.sub(partial(_with_value, word), text)
        else:
            exports.append(f"export {name}={word}\n")
    if exports:
        at = _beginning(text)
        text = text[:at] + "".join(exports) + text[at:]
    written = {_plain(word.partition("=")[0]) for word in launch_command(text).words}
    unwritten += [
        f"{flag}: it stands elsewhere"
        for flag in (*edits.flags, *edits.fields)
        if not {_plain(name) for name in _names(flag)} & written
    ]
    return EditedScript(text=text, unwritten=tuple(unwritten))


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _names(flag: str) -> list[str]:
    """A flag and its short forms."""
    others = [item for engine in ("vllm", "sglang") for item in long_names(engine).items()]
    return [_plain(flag), *(name for name, long in others if long == _plain(flag))]


def _find(text: str, flag: str) -> re.Match[str] | None:
    """A flag with its value in the launch, or in a variable that the launch is made of."""
    names = "|".join(re.escape(name).replace("_", "[-_]") for name in _names(flag))
    pattern = re.compile(rf"(?<![\w-])(--?(?:{names}))(?![\w-])(?:(?:=|[ \t]+(?:\\\n[ \t]*)?)({_VALUE}))?")
    for start, end in _regions(text):
        for match in pattern.finditer(text, start, end):
            if not _is_comment(text, match.start()):
                return match
    return None


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Where the launch stands, and where the variables are assigned that it is made of."""
    command = launch_command(text)
    waiting, seen = [(command.start, command.end)], set[str]()
    while waiting:
        start, end = waiting.pop(0)
        yield start, end
        for name in dict.fromkeys(_USED.findall(text, start, end)):
            if name not in seen:
                seen.add(name)
                value = rf"(?:{_QUOTED}|\((?:{_QUOTED}|[^()])*\)|[^\s;|&]*)"
                assigned = re.compile(rf"^[ \t]*(?:export[ \t]+)?{name}\+?=({value})", re.MULTILINE)
                waiting += [match.span(1) for match in assigned.finditer(text)]


def _with_flag(text: str, flag: str, value: str) -> tuple[str, bool]:
    """The text with a new value of a flag that is in it, and whether it is."""
    found = _find(text, flag)
    if found is None:
        return text, False
    if not value or found[2] is None or found[2].startswith("-"):
        return text, not value or found[2] is not None
    variable = _VARIABLE.fullmatch(found[2])
    if variable:
        plain = re.compile(rf"^([ \t]*(?:export[ \t]+)?{variable[1]}=)({_VALUE})", re.MULTILINE)
        assigned = plain.findall(text)
        if len(assigned) == 1 and "$" not in assigned[0][1]:
            return plain.sub(partial(_with_value, value), text), True
    return text[: found.start(2)] + value + text[found.end(2) :], True


def _with_value(word: str, match: re.Match[str]) -> str:
    return match[1] + word


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object; None if the text is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _merged(before: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for name, value in content.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _beginning(text: str) -> int:
    """Offset of the line in which the launch begins."""
    at = launch_command(text).start
    for line in text[at:].splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        at += len(line)
    return text.rfind("\n", 0, at) + 1
