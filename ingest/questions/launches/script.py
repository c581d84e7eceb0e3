"""The commands of a script, as they were read from it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_SHELLS = frozenset({"bash", "sh", "zsh"})
_SHELL_TEXT = re.compile(r"-[a-z]*c")
"""The option of a shell before the text that it runs: ``-c``, ``-lc``."""
_RUNNERS = frozenset({"eval", "ssh", "tmux", "screen", "su", "system"})
"""Commands that run a text of a shell in one of their words."""
UNKNOWN = "\0"
"""Stands in a word on both sides of what could not be filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    """One command.

    Attributes:
        words: Its name and arguments, variables filled in; :data:`UNKNOWN` surrounds what was not.
        line: Where it begins, from 1.
        start: Offset behind the statement before; comments may stand between the two.
        environment: Variables that were exported to it.
        end: Offset in the text (with Unix line ends) behind its last word.
        spans: Where each word stands in the text, from and to; words of one variable share its place.
        image: Of the container that it runs in, or the package that it is of; empty if that is not told.
    """

    words: tuple[str, ...]
    line: int = 1
    start: int = 0
    end: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    spans: tuple[tuple[int, int], ...] = ()
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAssignment:
    """A value that a script gives a variable.

    Attributes:
        name: Of the variable.
        span: Where the value stands in the text, from and to.
        words: Where each word of an array stands; empty for a plain value.
    """

    name: str
    span: tuple[int, int]
    words: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The commands of a script, as far as it can be read.

    Attributes:
        commands: Its commands in their order.
        notes: Constructs that were not followed.
        used: Variables that the script itself reads.
        assignments: What it assigns, in order.
        here_documents: Texts that are data for what reads them.
    """

    commands: tuple[ShellCommand, ...]
    notes: tuple[str, ...]
    used: frozenset[str] = frozenset()
    assignments: tuple[ShellAssignment, ...] = ()
    here_documents: tuple[str, ...] = ()


def readable(word: str) -> str:
    """A word without the marks of unknown parts."""
    return word.replace(UNKNOWN, "")


def as_flags(values: Mapping[str, object], *, states: bool = False) -> Iterator[str]:
    """Values by names of arguments as the words of flags.

    Args:
        values: Those without a value are left out.
        states: Whether names stay as they are and a truth stands behind its flag, as trainers read them.
    """
    for name, value in values.items():
        flag = name if states else name.replace("_", "-")
        if (value is True or value is False) and not states:
            yield f"--{'' if value else 'no-'}{flag}"
        elif isinstance(value, dict):
            yield from (f"--{flag}", json.dumps(value, default=str))
        elif isinstance(value, list | tuple):
            yield from (f"--{flag}", *map(str, value))
        elif value is not None:
            yield from (f"--{flag}", str(value))


def place_of_text(words: Sequence[str], names: Sequence[str]) -> int | None:
    """The place of a command's word that a shell is given to run; None where there is none."""
    for at, name in enumerate(names):
        if name in _SHELLS:
            option = next(
                (n for n, word in enumerate(words[at + 1 :], at + 1) if _SHELL_TEXT.fullmatch(word)), None
            )
            if option is not None and option + 1 < len(words):
                return option + 1
    if names and names[0] in _RUNNERS:
        return next((n for n in reversed(range(1, len(words))) if " " in words[n].strip()), None)
    return None
