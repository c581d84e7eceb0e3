"""Settings written into a launch script in the place where a person would write them. Nothing is executed.

A flag that is there gets its new value where the value stands: behind the flag, or in the one plain
assignment of the variable behind it. One that is not there is added at the end of the command. A variable is
exported before the command, or changed where it is exported. Fields are merged into the JSON of their flag.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ingest.questions.launches.launch import launch_command

if TYPE_CHECKING:
    from collections.abc import Mapping

_VALUE = r"""'[^']*'|"(?:\\.|[^"\\])*"|[^\s\\;|&'"]+"""
_VARIABLE = re.compile(r"\"?\$\{?([A-Za-z_]\w*)\}?\"?")
_INDENT = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEdits:
    """Settings to write into a script.

    Attributes:
        variables: Values of environment variables by name.
        flags: Values by flag, with its dashes; None for a flag without one.
        fields: JSON objects by the flag that carries them: these fields are set, others stay.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str | None] = field(default_factory=dict)
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
    for flag, value in edits.flags.items():
        text, is_there = _with_flag(text, flag, value)
        if not is_there:
            added.append(flag if value is None else f"{flag} {shlex.quote(value)}")
    for flag, content in edits.fields.items():
        found = _flag(flag).search(text)
        if found is None:
            added.append(f"{flag} {shlex.quote(json.dumps(content))}")
            continue
        try:
            before = json.loads("".join(shlex.split(found[2])))
        except ValueError:
            unwritten.append(f"{flag} {json.dumps(content)}: its value is no plain JSON in the script")
            continue
        merged = shlex.quote(json.dumps(_merged(before, content)))
        text = text[: found.start(2)] + merged + text[found.end(2) :]
    if added:
        end = launch_command(text).end
        text = text[:end] + "".join(f" \\\n{_INDENT}{word}" for word in added) + text[end:]
    exports: list[str] = []
    for name, value in edits.variables.items():
        setting = re.compile(rf"^(\s*(?:export\s+)?{re.escape(name)}=)({_VALUE})?", re.MULTILINE)
        word = shlex.quote(value)
        if setting.search(text):
            text = setting.sub(partial(_with_value, word), text)
        else:
            exports.append(f"export {name}={word}\n")
    if exports:
        at = _beginning(text)
        text = text[:at] + "".join(exports) + text[at:]
    written = {_plain(word.partition("=")[0]) for word in launch_command(text).words}
    unwritten += [f"{flag}: it stands elsewhere" for flag in edits.flags if _plain(flag) not in written]
    return EditedScript(text=text, unwritten=tuple(unwritten))


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")


def _flag(flag: str) -> re.Pattern[str]:
    name = re.escape(flag.lstrip("-")).replace(r"\-", "[-_]").replace("_", "[-_]").replace("[-[-_]]", "[-_]")
    return re.compile(rf"(?<![\w-])(--?{name})(?![\w-])(?:(?:=|[ \t]+(?:\\\n[ \t]*)?)({_VALUE}))?")


def _with_flag(text: str, flag: str, value: str | None) -> tuple[str, bool]:
    """The text with a new value of a flag that is in it, and whether it is."""
    found = next((one for one in _flag(flag).finditer(text) if not _is_comment(text, one.start())), None)
    if found is None:
        return text, False
    if value is None or found[2] is None or found[2].startswith("-"):
        return text, value is None or found[2] is not None
    variable = _VARIABLE.fullmatch(found[2])
    if variable:
        plain = re.compile(rf"^([ \t]*(?:export[ \t]+)?{variable[1]}=)({_VALUE})", re.MULTILINE)
        assigned = plain.findall(text)
        if len(assigned) == 1 and "$" not in assigned[0][1]:
            return plain.sub(partial(_with_value, shlex.quote(value)), text), True
    return text[: found.start(2)] + shlex.quote(value) + text[found.end(2) :], True


def _with_value(word: str, match: re.Match[str]) -> str:
    return match[1] + word


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _merged(before: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(before)
    for name, value in content.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _beginning(text: str) -> int:
    """Offset of the line in which the launch begins."""
    command = launch_command(text)
    lines = text.split("\n")
    line = command.line - 1
    while line < len(lines) and (not lines[line].strip() or lines[line].lstrip().startswith("#")):
        line += 1  # the statement begins behind the line end of the one before
    return sum(len(one) + 1 for one in lines[:line])
