"""The facts of a question in a text, with notes on what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAXIMUM_BYTES = 1_000_000
"""A script, a configuration or a table of devices is small; a larger file is something else."""

TABLES = ("shape", "sizes", "current", "software", "traits")
"""Keys of a question whose values are names and values: later texts add to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """The facts of one text.

    Attributes:
        question: Keys of a question, as ``ingest.questions.problems.problem_from`` takes them.
        notes: Assumptions, and parts that could not be read, with the reason.
    """

    question: Mapping[str, object]
    notes: tuple[str, ...] = field(default=())


def merge_facts(parts: Iterable[LaunchFacts]) -> dict[str, object]:
    """One question from several texts: later ones win, tables are joined, every note is kept."""
    question: dict[str, object] = {}
    notes: list[str] = []
    for part in parts:
        for name, value in part.question.items():
            before = question.get(name)
            both = name in TABLES and isinstance(before, dict) and isinstance(value, dict)
            question[name] = {**before, **value} if both else value  # type: ignore[dict-item]
        notes += part.notes
    if notes:
        question["notes"] = list(dict.fromkeys(notes))
    return question


def read_text(path: Path) -> str:
    """The text of a small file.

    Raises:
        InputError: It cannot be read, is too large, or is no text.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return decode_text(raw, str(path))


def decode_text(raw: bytes, place: str) -> str:
    """Bytes as text.

    Raises:
        InputError: They are too many, or no text.
    """
    if len(raw) > MAXIMUM_BYTES:
        raise InputError(f"{place}: {len(raw)} bytes is too large for what was expected")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{place}: not UTF-8 text", hint="save it as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{place}: not text")
    if not text.strip():
        raise InputError(f"{place}: empty")
    return text
