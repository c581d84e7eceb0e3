"""Edits of the launch in a shell script, each proven before it is kept.

A flag that is there gets its value where that stands: in the command, in the array or string that the command
is made of, or in the one assignment behind it. One that is not there is added at the end of the command. A
variable is changed where it is set, or exported before the command; of a container it is set by ``-e``. Each
edit is read again: every command of the script must have the words and the variables that it had, but for the
edit. What fails that is taken back and said.
"""

import itertools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.questions.launches.options import TRUTHS
from ingest.questions.launches.script import UNKNOWN, Script, ShellCommand
from ingest.questions.launches.shell import read_script
from ingest.questions.launches.variables import CONTAINERS
from ingest.questions.patches.script_proof import environment_of, is_proven
from ingest.questions.patches.script_words import BARE, ScriptWord, ScriptWords
from kg.nouns.values import parse_json
from kg.terms.meanings import long_names

_SPACE = re.compile(r"(?<![ \t])(?<!\\\n)(?:[ \t]|\\\n)++$")
NEW_LINE = " \\\n    "
"""Before what is added at the end of a command of several lines."""
ELSEWHERE = "it stands where it cannot be changed alone"
COMPUTED = "its value is computed in the script"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEdit:
    """A setting to write or to take away.

    Attributes:
        name: Of a flag, with its dashes, or of a variable.
        words: Of its value, none for a switch; None to take it away, and of fields.
        fields: To be set in the JSON object of the flag, others stay.
    """

    name: str
    words: tuple[str, ...] | None = None
    fields: Mapping[str, Any] | None = None

    @property
    def is_flag(self) -> bool:
        """True if it is a flag, or a field of one's object."""
        return self.name.startswith("-") or "." in self.name

    @property
    def plain(self) -> str:
        """The name as that of an argument."""
        return self.name.lstrip("-").replace("-", "_")

    def __str__(self) -> str:
        if self.fields is not None:
            return f"{self.name} {json.dumps(self.fields)}"
        if self.words is None:
            return f"without {self.name}"
        return " ".join((self.name, *self.words)) if self.is_flag else f"{self.name}={self.words[0]}"


class ShellEditor:
    """Edits one script, one setting at a time, each proven before it is kept."""

    def __init__(self, text: str, number: int, joint: str = NEW_LINE) -> None:
        """Edits of a command.

        Args:
            text: The script.
            number: Of the command.
            joint: What stands before words that are added at its end.
        """
        self.text = text
        self.edits = 0
        self.joint = joint
        self.script: Script = read_script(text)
        self.number = number

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""
        return len(self.script.commands)

    @property
    def command(self) -> ShellCommand:
        """The launch."""
        return self.script.commands[self.number]

    @property
    def words(self) -> ScriptWords:
        """Its words as they stand in the text."""
        return ScriptWords(text=self.text, script=self.script, command=self.command)

    def make(self, edit: SettingEdit) -> str:
        """Make an edit; why it could not be made, or an empty text."""
        if edit.fields is not None:
            return self._set_fields(edit.name, edit.fields)
        if edit.words is None:
            return self._remove(edit.name)
        if edit.is_flag:
            return self._set_flag(edit.name, edit.words)
        return self._set_variable(edit.name, edit.words[0])

    def _set_flag(self, flag: str, values: Sequence[str]) -> str:
        """Set a flag; why it could not be, or an empty text."""
        words, names = self.command.words, names_of(flag)
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        if at is None:
            return self._append((flag, *values))
        if not values:  # a switch: a truth behind it goes
            _, equals, value = words[at].partition("=")
            truth = value if equals else "".join(words[at + 1 : at + 2])
            return self._remove(flag) or self._append((flag,)) if truth.lower() in TRUTHS else ""
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

    def _remove(self, name: str) -> str:
        """Take a flag with its values, or a variable, away; why it could not be, or an empty text."""
        if "." in name:
            return self._remove_field(name)
        if not name.startswith("-"):
            return self._remove_variable(name)
        words, names = self.command.words, names_of(name)
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        tokens = list(self.words)
        place = self._last_of(tokens, names)
        if at is None or place is None:
            return "" if at is None else ELSEWHERE
        behind = itertools.takewhile(lambda word: not word.startswith("-"), words[at + 1 :])
        for count in range(len(list(behind)), -1, -1):  # a switch may stand before words of its own
            if place + count >= len(tokens):
                continue
            before = self.text[: tokens[place].start]
            kept = _SPACE.sub("", before) if not tokens[place].is_inside else before.rstrip(" ")
            text = kept + self.text[tokens[place + count].end :]
            if self._accept(text, (*words[:at], *words[at + 1 + count :]), {}):
                return ""
        return ELSEWHERE

    def _remove_field(self, path: str) -> str:
        """Take a field of a flag's object away, and the flag with its last one."""
        carrier, _, rest = path.lstrip("-").partition(".")
        words, names = self.command.words, names_of(f"--{carrier}")
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        if at is None:
            return ""
        before = _object(words[at].partition("=")[2] or "".join(words[at + 1 : at + 2]))
        if before is None:
            return "its value is no plain JSON object in the script"
        left = without_field(before, rest)
        flag = words[at].partition("=")[0]
        return self._set_flag(flag, (json.dumps(left),)) if left else self._remove(flag)

    def _remove_variable(self, name: str) -> str:
        if name not in environment_of(self.command):
            return ""
        for start, end in self._values_of(name):
            line = self.text.rfind("\n", 0, start) + 1
            statement = re.fullmatch(rf"[ \t]*(?:export[ \t]+)?{name}=", self.text[line:start])
            rest = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|$)").match(self.text, end)
            if statement and rest is not None:
                text = self.text[:line] + self.text[rest.end() :]
            else:
                head = re.sub(rf"(?:(?<=\s)(?:-e|--env)\s+)?{name}=$", "", self.text[:start])
                text = head + self.text[end:].lstrip(" ")
                if re.search(r"\bexport\s*$", head) and not re.match(r"[ \t]*[A-Za-z_]", self.text[end:]):
                    continue  # it alone would be left, and prints all variables
            if self._accept(text, None, {name: None}):
                return ""
        return ELSEWHERE

    def _set_fields(self, flag: str, content: Mapping[str, Any]) -> str:
        """Merge fields into the JSON object of a flag; why it could not be done, or an empty text."""
        words, names = self.command.words, names_of(flag)
        if any(_name(word).startswith(tuple(f"{name}." for name in names)) for word in words):
            return "the script sets its fields one by one"
        at = next((i for i in reversed(range(len(words))) if _name(words[i]) in names), None)
        if at is None:
            return self._append((flag, json.dumps(content)))
        own = "=" in words[at]
        before = _object(words[at].partition("=")[2] if own else words[at + 1] if at + 1 < len(words) else "")
        if before is None:
            return "its value is no plain JSON object in the script"
        merged = json.dumps(merged_fields(before, content))
        return self._set_flag(flag, (merged,)) if merged_fields(before, content) != before else ""

    def _set_variable(self, name: str, value: str) -> str:
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
        return ELSEWHERE

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
        """Spans where the launch itself, and then the last assignment before it, sets a variable."""
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
        indents = re.findall(r"\\\n([ \t]*)", self.text[self.command.spans[0][0] : end])
        joint = f" \\\n{indents[-1]}" if indents and self.joint == NEW_LINE else self.joint
        text = f"{self.text[:end]}{joint}{added}{self.text[end:]}"
        return "" if self._accept(text, (*self.command.words, *words), {}) else ELSEWHERE

    def _replace(
        self, names: frozenset[str], behind: int, count: int, values: Sequence[str], expected: Sequence[str]
    ) -> str:
        """Replace words of the launch that stand behind a flag, or are it."""
        held = self.words
        tokens = list(held)
        at = self._last_of(tokens, names)
        if at is None or at + behind + count > len(tokens):
            return ELSEWHERE
        first, last = tokens[at + behind], tokens[at + behind + count - 1]
        variable = held.variable(first) if count == 1 else ""
        if variable and all(one.name != variable for one in self.script.assignments):
            return f"its value is that of ${variable}, which is set outside the script"
        given = held.assigned(variable) if variable else tokens[at + behind : at + behind + count]
        if any(held.is_computed(token) for token in given):
            return COMPUTED
        places = [*(given if variable and len(given) == 1 else ()), first]
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
        return ELSEWHERE

    def _last_of(self, tokens: Sequence[ScriptWord], names: frozenset[str]) -> int | None:
        """The last place of a flag among words of the text; None where there is none."""
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
    content = parse_json(text)
    return content if isinstance(content, dict) else None


def without_field(content: Mapping[str, Any], path: str) -> dict[str, Any]:
    """An object without a field, and without objects that it leaves empty."""
    name, _, rest = path.partition(".")
    inner = content.get(name)
    kept = without_field(inner, rest) if rest and isinstance(inner, dict) else {}
    return {**{key: value for key, value in content.items() if key != name}, **({name: kept} if kept else {})}


def merged_fields(before: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the fields of another set in it."""
    merged = dict(before)
    for name, value in content.items():
        old = merged.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = merged_fields(old, value) if both else value  # type: ignore[arg-type]
    return merged


def names_of(flag: str) -> frozenset[str]:
    """The spellings of a flag, without dashes."""
    others = [item for engine in ("vllm", "sglang") for item in long_names(engine).items()]
    return frozenset({_plain(flag), *(_plain(name) for name, long in others if _plain(long) == _plain(flag))})


def _name(word: str) -> str:
    """The flag that a word is, without dashes; empty for another word."""
    name = word.partition("=")[0]
    return _plain(name) if name.startswith("-") and UNKNOWN not in name else ""


def _plain(flag: str) -> str:
    return flag.lstrip("-").replace("-", "_")
