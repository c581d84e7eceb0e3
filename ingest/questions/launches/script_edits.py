"""Settings written into a launch script where a person would write them, and proven. Nothing is executed.

A flag that is there gets its value where that stands: in the command, in the array or string that the command
is made of, or in the one assignment behind it. One that is not there is added at the end of the command. A
variable is changed where it is set, or exported before the command; of a container it is set by ``-e``. Each
edit is read again: every command of the script must have the words and the variables that it had, but for the
edit. What fails that is taken back and said.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.questions.launches.launch import launch_command
from ingest.questions.launches.script_proof import environment_of, is_proven
from ingest.questions.launches.script_words import BARE, ScriptWord, ScriptWords
from ingest.questions.launches.shell import UNKNOWN, Script, ShellCommand, read_script
from ingest.questions.launches.variables import CONTAINERS
from kg.terms.meanings import long_names

_SPACE = re.compile(r"(?:[ \t]|\\\n)+$")
_INDENT = "    "
_ELSEWHERE = "it stands where it cannot be changed alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEdits:
    """Settings to write into a script.

    Attributes:
        variables: Values of environment variables by name.
        flags: The words of the value by flag, with its dashes; none for a flag without one.
        fields: JSON objects by the flag that carries them: these fields are set, others stay.
        removed: Flags, with their values, and variables to take away.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedScript:
    """A script with its edits.

    Attributes:
        text: The new text.
        unwritten: Settings that could not be written, with the reason.
        commands: How many commands were read again.
        edits: How many settings were written.
    """

    text: str
    unwritten: tuple[str, ...] = ()
    commands: int = 0
    edits: int = 0


def edited(text: str, edits: ScriptEdits) -> EditedScript:
    """A launch script with settings written into it.

    Args:
        text: The script.
        edits: What to set.

    Raises:
        InputError: No launch stands in the script itself.
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    editor = _Editor(text.replace("\r\n", "\n"))
    left = ((name, editor.remove(name)) for name in edits.removed)
    unwritten = [f"without {name}: {reason}" for name, reason in left if reason]
    for flag, words in edits.flags.items():
        if reason := editor.set_flag(flag, words):
            unwritten.append(f"{' '.join((flag, *words))}: {reason}")
    for flag, content in edits.fields.items():
        if reason := editor.set_fields(flag, content):
            unwritten.append(f"{flag} {json.dumps(content)}: {reason}")
    for name, value in edits.variables.items():
        if reason := editor.set_variable(name, value):
            unwritten.append(f"{name}={value}: {reason}")
    return EditedScript(
        text=editor.text.replace("\n", ends),
        unwritten=tuple(unwritten),
        commands=len(editor.script.commands),
        edits=editor.edits,
    )


class _Editor:
    """Edits one script, one setting at a time, each proven before it is kept."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.edits = 0
        self.script: Script = read_script(text)
        start = launch_command(text).start
        self.number = [command.start for command in self.script.commands].index(start)

    @property
    def command(self) -> ShellCommand:
        """The launch."""
        return self.script.commands[self.number]

    @property
    def words(self) -> ScriptWords:
        """Its words as they stand in the text."""
        return ScriptWords(text=self.text, script=self.script, command=self.command)

    def set_flag(self, flag: str, values: Sequence[str]) -> str:
        """Set a flag; why it could not be, or an empty text."""
        words, names = self.command.words, _names(flag)
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        if at is None:
            return self._append((flag, *values))
        if not values:
            return ""
        if "=" in words[at]:
            value = f"{words[at].partition('=')[0]}={shlex.join(values)}"
            return self._replace(names, 0, 1, (value,), (*words[:at], value, *words[at + 1 :]))
        behind = 1
        while len(values) > 1 and at + behind < len(words) and words[at + behind].isdigit():
            behind += 1
        count = behind - 1 if len(values) > 1 else 1
        if words[at + 1 : at + 1 + count] == tuple(values):
            return ""
        if at + count >= len(words):
            return "it has no value in the script"
        return self._replace(names, 1, count, values, (*words[: at + 1], *values, *words[at + 1 + count :]))

    def remove(self, name: str) -> str:
        """Take a flag with its values, or a variable, away; why it could not be, or an empty text."""
        if not name.startswith("-"):
            return self._remove_variable(name)
        words, names = self.command.words, _names(name)
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        tokens = list(self.words)
        place = self._last_of(tokens, names)
        if at is None or place is None:
            return "" if at is None else _ELSEWHERE
        behind = itertools.takewhile(lambda word: not word.startswith("-"), words[at + 1 :])
        for count in range(len(list(behind)), -1, -1):  # a switch may stand before words of its own
            if place + count >= len(tokens):
                continue
            before = self.text[: tokens[place].start]
            kept = _SPACE.sub("", before) if not tokens[place].is_inside else before.rstrip(" ")
            text = kept + self.text[tokens[place + count].end :]
            if self._accept(text, (*words[:at], *words[at + 1 + count :]), {}):
                return ""
        return _ELSEWHERE

    def _remove_variable(self, name: str) -> str:
        if name not in environment_of(self.command):
            return ""
        for start, end in self._values_of(name):
            line = self.text.rfind("\n", 0, start) + 1
            statement = re.fullmatch(rf"[ \t]*(?:export[ \t]+)?{name}=", self.text[line:start])
            if statement and self.text[end : end + 1] in {"\n", ""}:
                text = self.text[:line] + self.text[end + 1 :]
            else:
                text = re.sub(rf"(?:(?<=\s)(?:-e|--env)\s+)?{name}=$", "", self.text[:start]) + self.text[
                    end:
                ].lstrip(" ")
            if self._accept(text, None, {name: None}):
                return ""
        return _ELSEWHERE

    def set_fields(self, flag: str, content: Mapping[str, Any]) -> str:
        """Merge fields into the JSON object of a flag; why it could not be done, or an empty text."""
        words, names = self.command.words, _names(flag)
        if any(_name(word).startswith(tuple(f"{name}." for name in names)) for word in words):
            return "the script sets its fields one by one"
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        if at is None:
            return self._append((flag, json.dumps(content)))
        own = "=" in words[at]
        before = _object(words[at].partition("=")[2] if own else words[at + 1] if at + 1 < len(words) else "")
        if before is None:
            return "its value is no plain JSON object in the script"
        merged = json.dumps(_merged(before, content))
        return self.set_flag(flag, (merged,)) if _merged(before, content) != before else ""

    def set_variable(self, name: str, value: str) -> str:
        """Set a variable of the launch; why it could not be, or an empty text."""
        if environment_of(self.command).get(name) == value:
            return ""
        word = shlex.quote(value)
        tries: list[str] = []
        for start, end in self._values_of(name):
            if self.words.is_literal(start, end):
                tries.append(self.text[:start] + word + self.text[end:])
        words = self.command.words
        if words[0].rpartition("/")[2] in CONTAINERS and "run" in words:
            end = self.command.spans[words.index("run")][1]
            tries.append(f"{self.text[:end]} -e {name}={word}{self.text[end:]}")
        elif name not in environment_of(self.command) or not tries:
            tries.append(self._exported(name, word))
        if any(self._accept(text, None, {name: value}) for text in tries):
            return ""
        return _ELSEWHERE

    def _exported(self, name: str, word: str) -> str:
        """The text with a variable exported before the launch, or set in front of it within a line."""
        begins = (start for start, end in self.command.spans if self.text[end : end + 1] != ")")
        start = next(begins, self.command.end)  # behind the pattern of a case
        line = self.text.rfind("\n", 0, start) + 1
        indent = self.text[line:start]
        if indent.strip():
            return f"{self.text[:start]}{name}={word} {self.text[start:]}"
        return f"{self.text[:line]}{indent}export {name}={word}\n{self.text[line:]}"

    def _values_of(self, name: str) -> Iterator[tuple[int, int]]:
        """Where the launch itself, and then the last assignment before it, gives a variable its value."""
        for word, (start, end) in zip(self.command.words, self.command.spans, strict=True):
            raw = self.text[start:end]
            if word.startswith(f"{name}=") and raw.startswith(f"{name}="):
                yield start + len(name) + 1, end
        earlier = [one for one in self.script.assignments if one.name == name and not one.words]
        before = [one for one in earlier if one.span[1] <= self.command.end]
        yield from [one.span for one in before[-1:]]

    def _append(self, words: Sequence[str]) -> str:
        end = self.command.end
        added = " ".join((words[0], *map(shlex.quote, words[1:])))
        text = f"{self.text[:end]} \\\n{_INDENT}{added}{self.text[end:]}"
        return "" if self._accept(text, (*self.command.words, *words), {}) else _ELSEWHERE

    def _replace(
        self, names: frozenset[str], behind: int, count: int, values: Sequence[str], expected: Sequence[str]
    ) -> str:
        """Replace words of the launch that stand behind a flag, or are it."""
        held = self.words
        tokens = list(held)
        at = self._last_of(tokens, names)
        if at is None or at + behind + count > len(tokens):
            return _ELSEWHERE
        first, last = tokens[at + behind], tokens[at + behind + count - 1]
        places = [first]
        variable = held.variable(first) if count == 1 else ""
        if variable:
            places = [*held.assigned(variable), first]
        elif any(held.is_computed(token) for token in tokens[at + behind : at + behind + count]):
            return "its value is computed in the script"
        for place in places:
            end = last.end if place is first else place.end
            is_bare = all(BARE.fullmatch(value) for value in values)
            if place.is_inside and not is_bare:
                continue
            word = " ".join(values) if is_bare else shlex.join(values)
            if behind == 0:
                name, _, value = values[0].partition("=")
                word = values[0] if is_bare else f"{name}={shlex.quote(value)}"
            if self._accept(self.text[: place.start] + word + self.text[end:], expected, {}):
                return ""
        return _ELSEWHERE

    def _last_of(self, tokens: Sequence[ScriptWord], names: frozenset[str]) -> int | None:
        """Where a flag stands last among words of the text; None where it does not."""
        literal = self.words.literal
        there = (i for i in reversed(range(len(tokens))) if _name(literal(tokens[i]) or "") in names)
        return next(there, None)

    def _accept(self, text: str, expected: Sequence[str] | None, variables: Mapping[str, str | None]) -> bool:
        """Keep a text if it reads as what is wanted; whether it does."""
        script = read_script(text)
        words = tuple(expected or self.command.words)
        if not is_proven(self.script, script, self.number, words, variables):
            return False
        self.text, self.script = text, script
        self.edits += 1
        return True


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


def _names(flag: str) -> frozenset[str]:
    """The spellings of a flag, without dashes."""
    others = [item for engine in ("vllm", "sglang") for item in long_names(engine).items()]
    return frozenset({_plain(flag), *(_plain(name) for name, long in others if _plain(long) == _plain(flag))})


def _name(word: str) -> str:
    """The flag that a word is, without dashes; empty for another word."""
    name = word.partition("=")[0]
    return _plain(name) if name.startswith("-") and UNKNOWN not in name else ""


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
