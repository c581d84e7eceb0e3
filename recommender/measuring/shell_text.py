"""A text for the shell with placeholders, as a script that gets their values as variables.

No value ever stands in the text: ``{tile}`` becomes ``"$tg_tile"``, and the variable is in the environment.
Where the text is handed to a second shell (``bash -c "..."``, ``ssh node ...``), which reads it again, the
variable holds the value quoted for that shell. A place that no quoting makes safe (quotes of a second shell,
the code of another language, a here-document) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import PurePath

from kg.errors import InputError

PLACE = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w.-]*)\}")

PLAIN = re.compile(r"(?!-(?!\d))[\w.,:/+=@%-]*", re.ASCII)
"""Text that no shell takes for anything but itself, and no program for an option."""

OPTIONS = "options"
"""Placeholder of flags: several words, the arguments ``"$@"`` of the script."""

_SHELLS = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "su", "runuser", "sg", "flock", "script"}
)
_REMOTE = frozenset({"ssh", "rsh", "pdsh", "clush"})
_BUILTINS = frozenset({"eval", "source", ".", "trap"})
_EVALUATORS = frozenset({"watch", "parallel", "sed", "awk", "gawk", "mawk", "nawk", "fish", "csh", "tcsh"})
_BEFORE_COMMANDS = frozenset(
    {
        *("!", "{", "if", "then", "else", "elif", "while", "until", "do"),
        *("builtin", "command", "exec", "time"),
    }
)
_LANGUAGE = re.compile(r"(?:python|pypy|perl|ruby|node|lua|php|julia|Rscript)[\d.]*")
_CODE_FLAG = re.compile(r"-[A-Za-z]*[ceEr]|--eval|--execute")
_SCRIPT_FLAG = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")
_CODE = re.compile(r"[\s;&|<>$`()\\]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class _Reader(Enum):
    """The reader of a word of a command."""

    PROGRAM = auto()
    SHELL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellScript:
    """A text whose placeholders are variables.

    Attributes:
        text: For ``sh -c``.
        plain: Variable of each placeholder that holds the value itself.
        quoted: Variable of each that holds it quoted for another shell.
        numbers: Placeholders within arithmetic, where a shell would run what is no number.
    """

    text: str
    plain: dict[str, str] = field(default_factory=dict)
    quoted: dict[str, str] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()


def shell_script(text: str) -> ShellScript:
    """A text for the shell as a script.

    Raises:
        InputError: A placeholder stands where a value could be run as code.
    """
    outer, inner = _Cursor(), _Cursor()
    plain: dict[str, str] = {}
    quoted: dict[str, str] = {}
    numbers: set[str] = set()
    made: list[str] = []
    at = 0
    while at < len(text):
        found = PLACE.match(text, at)
        name = found.group(1) if found else None
        if name is None:
            letter, at = (text[at], at + 1) if found is None else (found.group()[0], found.end())
            if outer.starts_word:
                inner = _Cursor()
            for decoded in outer.feed(letter):
                inner.feed(decoded)
            made.append(letter)
            continue
        at = found.end() if found else at
        if outer.arithmetic:
            numbers.add(name)
            made.append(f"${{{_variable(plain, 'tg', name)}}}")
            continue
        if outer.starts_word:
            inner = _Cursor()
        made.append(_reference(name, outer, inner, plain, quoted))
        outer.take(name)
        inner.take(name)
    outer.end(text)
    return ShellScript(text="".join(made), plain=plain, quoted=quoted, numbers=frozenset(numbers))


def is_quoted_word(words: Sequence[str], word: str) -> bool:
    """Return whether values in a word of a command that is a list must be quoted: a second shell reads it.

    Args:
        words: The words before it.
        word: With placeholders.

    Raises:
        InputError: A placeholder stands where a value could be run as code.
    """
    outer = _Cursor(words=list(words))
    inner = _Cursor()
    at = 0
    names = [found for found in PLACE.finditer(word) if found.group(1)]
    reader = _Reader.PROGRAM
    for found in names:
        for letter in word[at : found.start()]:
            inner.feed(letter)
        reader = outer.reader(found.group(1))
        if reader is _Reader.SHELL:
            _check_inner(found.group(1), inner)
        inner.take(found.group(1))
        at = found.end()
    return reader is _Reader.SHELL


def _reference(
    name: str, outer: _Cursor, inner: _Cursor, plain: dict[str, str], quoted: dict[str, str]
) -> str:
    """The script's text for a placeholder."""
    if outer.is_document:
        raise _refusal(name, "in a here-document", "pass it as an argument")
    if outer.reader(name) is _Reader.SHELL:
        _check_inner(name, inner)
        variable = _variable(quoted, "tgq", name)
    elif name == OPTIONS:
        if outer.quote:
            raise _refusal(name, "inside quotes", "flags are several words: take the quotes off")
        return '"$@"'
    else:
        variable = _variable(plain, "tg", name)
    if outer.quote == '"':
        return f"${{{variable}-}}"
    if outer.quote == "'":
        return f"'\"${{{variable}-}}\"'"
    return f'${{{variable}+"${variable}"}}'


def _check_inner(name: str, inner: _Cursor) -> None:
    if inner.quote or inner.is_document or inner.arithmetic or inner.is_backtick:
        raise _refusal(name, "inside the quotes of a second shell", f"there it stands bare: {{{name}}}")
    if inner.reader(name) is not _Reader.PROGRAM:
        raise _refusal(name, "in the text of a third shell", "put the inner commands into a script")


def _variable(names: dict[str, str], prefix: str, name: str) -> str:
    if name not in names:
        base = f"{prefix}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
        names[name] = base if base not in names.values() else f"{base}__{len(names)}"
    return names[name]


def _refusal(name: str, where: str, hint: str) -> InputError:
    return InputError(f"the command has {{{name}}} {where}, where its value could be run as code", hint=hint)


class _Cursor:
    """A position in a shell text: its quotes, and its word in which command."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.quote = ""
        self.is_document = False
        self.is_backtick = False
        self.arithmetic = 0
        self._words = list(words)
        self._word: str | None = None
        self._escaped = False
        self._segment = ""
        self._named = ""
        self._before = ""

    @property
    def starts_word(self) -> bool:
        """True if the next letter may begin a word."""
        return self._word is None

    def take(self, name: str) -> None:
        """Go past a placeholder."""
        self._word = (self._word or "") + "x"
        self._before = "x"
        if self.quote:
            self._named = self._named or name

    def feed(self, letter: str) -> str:
        """Go past a letter; what of it a second reader would see."""
        before, self._before = self._before, letter
        if self._escaped:
            self._escaped = False
            kept = letter if self.quote != '"' or letter in '$`"\\' else f"\\{letter}"
            self._word = (self._word or "") + kept
            self._segment += kept
            return kept
        if letter == "\\" and self.quote != "'":
            self._escaped = True
            return ""
        if self.quote:
            if letter == self.quote:
                self._close()
                return ""
            self._segment += letter
            self._word = (self._word or "") + letter
            return letter
        if letter in "'\"":
            self.quote, self._segment, self._named = letter, "", ""
            self._word = self._word or ""
            return ""
        if letter == "(" and before == "(":
            self.arithmetic += 1
        elif letter == ")" and before == ")" and self.arithmetic:
            self.arithmetic -= 1
        if letter == "<" and before == "<":
            self.is_document = True
        if letter == "`":
            self.is_backtick = not self.is_backtick
        if letter in " \t":
            self._next_word()
        elif letter in ";&|\n()`":
            self._words, self._word = [], None
        else:
            self._word = (self._word or "") + letter
        return letter

    def end(self, text: str) -> None:
        """See that all quotes are closed.

        Raises:
            InputError: One is not.
        """
        if self.quote:
            raise InputError(f"the command does not close its quote {self.quote}: {text[:80]}")

    def reader(self, name: str) -> _Reader:
        """The reader of the word that is open.

        Raises:
            InputError: Somebody to whom every text is code.
        """
        words = [PurePath(word).name or word for word in self._words if not _ASSIGNMENT.match(word)]
        command = next((word for word in words if word not in _BEFORE_COMMANDS), "")
        culprits = [command] if command in _BUILTINS else [word for word in words if word in _EVALUATORS]
        if culprits:
            raise _refusal(
                name, f"in an argument of {culprits[0]}", "put that command into a script of its own"
            )
        if _reads_code(words):
            raise _refusal(name, f"in the code after {words[-1]}", "let that code read it from its arguments")
        is_remote = any(word in _REMOTE for word in words)
        if _reads_script(words):
            if is_remote:
                raise _refusal(name, "in the text of a third shell", "leave the inner shell out")
            return _Reader.SHELL
        return _Reader.SHELL if is_remote else _Reader.PROGRAM

    def _close(self) -> None:
        named, text = self._named, self._segment
        self.quote = ""
        is_json = text.lstrip().startswith(("{", "["))
        if named and not is_json and _CODE.search(text) and self.reader(named) is _Reader.PROGRAM:
            hint = f"take it out of them: '...' {{{named}}}"
            raise _refusal(named, "inside quotes that hold more than a word", hint)

    def _next_word(self) -> None:
        if self._word is not None:
            self._words.append(self._word)
            self._word = None


def _reads_script(words: Sequence[str]) -> bool:
    """True if the next word is the script of a shell: the first after ``-c`` that is no option."""
    shell = next((place for place, word in enumerate(words) if word in _SHELLS), len(words))
    flags = [place for place, word in enumerate(words) if place > shell and _SCRIPT_FLAG.fullmatch(word)]
    return bool(flags) and all(word.startswith("-") for word in words[flags[0] :])


def _reads_code(words: Sequence[str]) -> bool:
    """True if the word after these is code of another language."""
    places = [place for place, word in enumerate(words) if _LANGUAGE.fullmatch(word)]
    options = words[places[0] + 1 :] if places else []
    return (
        bool(options)
        and all(word.startswith("-") for word in options)
        and "-m" not in options
        and _CODE_FLAG.fullmatch(options[-1]) is not None
    )
