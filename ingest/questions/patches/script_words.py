"""The words of a launch as they stand in its script, those of its variables in their place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.questions.launches.script import Script, ShellCommand

_VARIABLE = re.compile(r"\"?\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?\}?\"?")
_LITERAL = re.compile(r"""(?:'[^']*'|"[^"$`\\]*"|[^\s'"$`\\;|&<>()#]|\\.)+""")
_PART = re.compile(r"""'([^']*)'|"([^"]*)"|\\(.)|([^'"\\]+)""")
BARE = re.compile(r"[\w.,:/=+@%-]+")
"""A word that stands for itself in any quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptWord:
    """A word as it stands in a text.

    Attributes:
        start: Its offset.
        end: That behind it.
        is_inside: Whether it stands in the quotes of a longer string.
    """

    start: int
    end: int
    is_inside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptWords:
    """The words of one launch.

    Attributes:
        text: Of the script.
        script: As it reads.
        command: The launch.
    """

    text: str
    script: Script
    command: ShellCommand

    def __iter__(self) -> Iterator[ScriptWord]:
        """The words of the launch as they stand in the text, those of its variables in their place."""
        waiting = [ScriptWord(start=start, end=end) for start, end in dict.fromkeys(self.command.spans)]
        opened: set[str] = set()
        while waiting:
            token = waiting.pop(0)
            variable = _VARIABLE.fullmatch(self.text, token.start, token.end)
            inner = self._inside(variable[1]) if variable is not None and variable[1] not in opened else []
            if variable is not None and inner:
                opened.add(variable[1])
                waiting = [*inner, *waiting]
            else:
                yield token

    def _inside(self, name: str) -> list[ScriptWord]:
        """The words of an array, or of a string of several words; empty for a plain value."""
        found: list[ScriptWord] = []
        for one in (one for one in self.script.assignments if one.name == name):
            if one.words:
                found += [ScriptWord(start=start, end=end) for start, end in one.words]
                continue
            start, end = one.span
            if self.text[start : start + 1] in {"'", '"'} and self.text[end - 1 : end] == self.text[start]:
                words = re.compile(r"(?:[^\s\\]|\\(?!\n).)+").finditer(self.text, start + 1, end - 1)
                tokens = [ScriptWord(start=word.start(), end=word.end(), is_inside=True) for word in words]
                found += tokens if len(tokens) > 1 else []
        return found

    def literal(self, token: ScriptWord) -> str | None:
        """The word that a token is; None where it is computed."""
        raw = self.text[token.start : token.end]
        if token.is_inside:
            return raw if not set(raw) & set("$`\\'\"") else None
        if not _LITERAL.fullmatch(raw):
            return raw if raw.startswith("-") and BARE.fullmatch(raw.partition("=")[0]) else None
        return "".join("".join(part) for part in _PART.findall(raw))

    def is_computed(self, token: ScriptWord) -> bool:
        """True if a word, or its part behind ``=``, is neither literal nor one variable."""
        name, equals, value = self.text[token.start : token.end].partition("=")
        raw = value if equals and BARE.fullmatch(name) and name.startswith("-") else f"{name}{equals}{value}"
        if token.is_inside:
            return bool(set(raw) & set("$`\\'\"")) and not _VARIABLE.fullmatch(raw)
        return not (_LITERAL.fullmatch(raw) or _VARIABLE.fullmatch(raw))

    def assigned(self, name: str) -> list[ScriptWord]:
        """The plain values that the script gives a variable."""
        found = [one for one in self.script.assignments if one.name == name and not one.words]
        return [ScriptWord(start=one.span[0], end=one.span[1]) for one in found]

    def variable(self, word: ScriptWord) -> str:
        """The name of the variable that a word is; empty for another word."""
        found = _VARIABLE.fullmatch(self.text, word.start, word.end)
        return found[1] if found else ""

    def is_literal(self, start: int, end: int) -> bool:
        """True if a part of the text stands for itself, or is empty."""
        return start == end or bool(_LITERAL.fullmatch(self.text, start, end))
