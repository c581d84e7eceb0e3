"""A document of a checkout, and a configuration that it publishes, as text that launches it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.kustomize import Read


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A configuration as it is published.

    Attributes:
        text: What launches it.
        line: Where it begins, from 1.
        title: Its heading or name.
        near: Words around it that may name a chip.
        files: Texts of files that it names and that the checkout does not hold under that name.
        said: Fields of a recipe that the document itself states; not ``sized`` where its parallel sizes are
            what fits, for no load in particular.
    """

    text: str
    line: int = 1
    title: str = ""
    near: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of a checkout.

    Attributes:
        path: Of the file.
        text: Of the file.
        place: The row of the table that names it.
        read: Reads other files of the checkout.
    """

    path: str
    text: str
    place: Mapping[str, Any]
    read: Read


def flags(given: Mapping[str, Any], *, dash: bool = False) -> list[str]:
    """Flags for values: a true one alone, a false or missing one left out."""
    words: list[str] = []
    for name, value in given.items():
        if value is None or value is False or isinstance(value, dict):
            continue
        flag = f"--{name.replace('_', '-')}" if dash else f"--{name}"
        words += [flag] if value is True else [flag, str(value)]
    return words


def command(words: Sequence[str], exported: Mapping[str, Any]) -> str:
    """The lines that set variables and start a program."""
    lines = [f"export {name}={shlex.quote(str(value))}" for name, value in exported.items()]
    return "\n".join([*lines, shlex.join(words)])
