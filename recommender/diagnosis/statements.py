"""Statements of released programs: what their sources raise and log, found again in the lines of a log.

A pattern is the text of a statement around its values: ``{name}`` stands for a value, `` … `` for words left
out, doubled braces for braces. Tables are made from released sources by ``tools/oracle/errors.py``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TypeAlias

import data
from kg.nouns.codec import NOT_IN_JSON, JsonNoun

FOLDER = "errors"
FIELDS = ("since", "until", "level", "where", "pattern")
GAP = "…"
LEVELS = ("raise", "fatal", "critical", "error", "warning", "info")
"""Levels, the gravest first; what is raised ends a program or a request."""
_MOST_VALUE = 60
"""Characters of a value: longer ones are texts, not numbers."""
_MOST_GAP = 300
"""Characters that left-out words may take."""
_PART = re.compile(r"\{(\w+)\}|(…)|((?:\{\{|\}\}|[^{}…])+)")
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*+(?<=\d)(?:\.\d++)?|\.\d++)(?:e[-+]?\d++)?", re.IGNORECASE)
_EDGES = "()[]<>'\"`,;:!?%"
_UNIT = re.compile(
    r" ?(GiB|MiB|KiB|GB|MB|KB|TB|bytes|bits|tokens?|blocks?|ms|us|s|seconds?|reqs|requests)\b| ?(%)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStatement(JsonNoun):
    """A statement of a released program.

    Attributes:
        program: The program whose source has it.
        since: First release read that has it.
        until: Last release read that has it.
        level: One of ``LEVELS``.
        where: Exception that it raises, or module that logs it.
        pattern: Its text around its values.
    """

    program: str = field(metadata=NOT_IN_JSON)
    since: str = field(metadata=NOT_IN_JSON)
    until: str = field(metadata=NOT_IN_JSON)
    level: str
    where: str
    pattern: str

    @property
    def releases(self) -> str:
        """The range of releases as it is read."""
        return self.since if self.since == self.until else f"{self.since} to {self.until}"

    def values_in(self, line: str) -> dict[str, str] | None:
        """The values by name with which a line shows it; None if it does not."""
        return values_found(self.pattern, line)


def values_found(pattern: str, line: str) -> dict[str, str] | None:
    """The values by name with which a line shows a pattern, numbers with their units; None if it does not."""
    found = compile_pattern(pattern).search(line)
    if found is None:
        return None
    values: dict[str, str] = {}
    for group, name in enumerate(slots_of(pattern), 1):
        text = found[group].strip(_EDGES + " ").rstrip(".")
        end = found.end(group)
        unit = _UNIT.match(line[end : end + 12].lstrip(")]"))
        is_number = _NUMBER.fullmatch(text) is not None
        values[name] = f"{text} {unit[1] or unit[2]}" if is_number and unit is not None else text
    return values


def parts_of(pattern: str) -> Iterator[tuple[str, str]]:
    """The parts of a pattern: kind (``text``, ``slot`` or ``gap``) and text or name."""
    for name, gap, text in _PART.findall(pattern):
        if name:
            yield "slot", name
        elif gap:
            yield "gap", ""
        else:
            yield "text", text.replace("{{", "{").replace("}}", "}")


@cache
def slots_of(pattern: str) -> list[str]:
    """Names of a pattern's values, each once: a second one of a name carries its number."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for kind, name in parts_of(pattern):
        if kind == "slot":
            seen[name] += 1
            names.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return names


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The expression of a pattern, one group a value, each step taken once so that time stays linear."""
    expression = ""
    step = ""
    for kind, text in bare_parts(pattern):
        if kind == "text":
            words = re.sub(r"(?:\\ )+", " ++", re.escape(text))
            expression += f"(?>{step}{words})" if step else words
            step = ""
            continue
        expression += _last(step)
        if kind == "gap":
            step = f".{{0,{_MOST_GAP}}}?"
        elif re.search("[A-Za-z]{2}", expression):
            step = f"(.{{0,{_MOST_VALUE}}}?)"
        else:  # no word stands before it: the value is one word, else it would begin anywhere
            step = ("" if expression else r"(?<!\S)(?! )") + rf"(\S{{0,{_MOST_VALUE}}}?)"
    return re.compile(expression + _last(step))


def bare_parts(pattern: str) -> list[tuple[str, str]]:
    """The parts of a pattern without the spaces at its ends and beside left-out words."""
    parts = [("gap", ""), *parts_of(pattern), ("gap", "")]
    bare: list[tuple[str, str]] = []
    for (before, _), (kind, text), (behind, _) in zip(parts, parts[1:], parts[2:], strict=False):
        kept = text.lstrip() if before == "gap" else text
        kept = kept.rstrip() if behind == "gap" else kept
        if kept or kind == "gap":
            bare.append((kind, kept))
    return bare


def _last(step: str) -> str:
    """A step with nothing known behind it: a value is one word, left-out words are none."""
    return step.replace(".{0,", r"\S{0,").replace("?)", "+)") if step.endswith(")") else ""


def anchors_of(pattern: str) -> list[str]:
    """Words of a pattern that stand alone between spaces, so that a line's words hold them."""
    return [
        word.replace("{{", "{").replace("}}", "}")
        for word in pattern.split()
        if word != GAP and ("{" not in word or not re.search(r"(?<!\{)\{\w+\}", word))
    ]


@cache
def longest_text(pattern: str) -> str:
    """The longest text of a pattern, that a line must hold."""
    return max((text.strip() for kind, text in parts_of(pattern) if kind == "text"), key=len, default="")


def programs() -> list[str]:
    """Programs with a table of statements."""
    return [name.rpartition("/")[2].removesuffix(".csv") for name in data.files(FOLDER, ".csv")]


def read_statements(program: str) -> list[KnownStatement]:
    """The statements of a program."""
    rows = csv.reader(io.StringIO(data.text(f"{FOLDER}/{program}.csv")))
    next(rows)
    return [
        KnownStatement(program=program, since=since, until=until, level=level, where=where, pattern=pattern)
        for since, until, level, where, pattern in rows
    ]


StatementHit: TypeAlias = tuple[KnownStatement, "Mapping[str, str]"]
"""A statement that wrote a line of a log, and its values by name."""


@lru_cache(maxsize=8)
def index_of(names: tuple[str, ...]) -> StatementIndex:
    """The statements of some programs."""
    return StatementIndex(item for name in names for item in read_statements(name))


class StatementIndex:
    """Statements by a rare word of each, so that a line is compared with few of them."""

    def __init__(self, statements: Iterable[KnownStatement]) -> None:
        """Index statements.

        Args:
            statements: Of the programs that a log may come from.
        """
        held = [(item, anchors_of(item.pattern)) for item in statements]
        common = Counter(word for _, words in held for word in set(words))
        self._by_word: dict[str, list[tuple[str, KnownStatement]]] = {}
        for item, words in held:
            if words:
                word = min(words, key=lambda text: (common[text], -len(text)))
                self._by_word.setdefault(word, []).append((longest_text(item.pattern), item))
        self.words = frozenset(self._by_word)

    def hits(self, line: str, programs: Collection[str]) -> list[StatementHit]:
        """The statements of some programs that may have written a line, the most specific first."""
        near = [item for item in self.near(line) if item.program in programs]
        found = [(item, values) for item in near if (values := item.values_in(line)) is not None]
        return sorted(found, key=lambda hit: (-len(hit[0].pattern), hit[0].program))

    def near(self, line: str) -> list[KnownStatement]:
        """The statements of which a line has a rare word and the longest text."""
        words = self.words.intersection(line.split())
        return [item for word in words for text, item in self._by_word[word] if text in line]
