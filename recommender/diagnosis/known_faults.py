"""Known faults in the lines of a log, looked for where the words of their patterns stand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from recommender.diagnosis.log_lines import KEPT_LINES, LogLine, read_lines
from recommender.diagnosis.pressures import is_general
from recommender.diagnosis.serving import may_tell
from recommender.diagnosis.statements import compile_pattern, parts_of, values_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kg.nouns.knowledge import FaultPattern

T = TypeVar("T")
_SHORTEST = 4
"""Letters of a word that is rare enough to look for: shorter ones stand in most lines."""
_MOST_WORDS = 1 << 17
"""Words of lines that are remembered; ids and numbers of a log are without end."""
_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)) + bytes(
    range(128, 256)
)
"""Letters in lower case, what is no letter or digit as a space; bytes of other scripts stay."""
MOST_TEXT = 200
"""Characters of a line that are shown."""
_BEFORE = (
    r"(?:error|err|ret|code|result|return|status|runtime|rt|acl)[\w .]{0,24}[\s:=\[(#-]{1,4}(?:code\W{0,3})?"
)
"""A bare number is a code only behind a word that says so: iteration 100000 is none."""
_XID = "Xid "
"""Begin of the codes of NVIDIA's driver; its logs put the place of the device between word and number."""


def words_of(line: bytes) -> set[bytes]:
    """The words of a line: runs of letters and digits, in lower case."""
    return set(line.translate(_WORDS).split())


class WordIndex(Generic[T]):
    """Things by a rare word of their patterns.

    A word counts that a pattern holds with what ends it on both sides: no longer word of a line hides it.
    What has no such word is found by its longest run of letters, in whatever word of a line holds it. Words
    that show nothing are remembered, so that one difference of sets passes over most lines.
    """

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        """Index things by their patterns; a code is a pattern between spaces."""
        held = [(_texts(pattern), item) for pattern, item in items]
        inner = [frozenset(word for text in texts for word in _inner(text)) for texts, _ in held]
        common = Counter(word for words in inner for word in words)
        self._items = [(_pieces(texts), item) for texts, item in held]
        self._by_word: dict[bytes, list[int]] = {}
        self._by_part: dict[bytes, list[int]] = {}
        for place, (pieces, _) in enumerate(self._items):
            if words := inner[place]:
                word = min(words, key=lambda one: (common[one], -len(one), one))
                self._by_word.setdefault(word, []).append(place)
            else:
                runs = b" ".join(pieces).translate(_WORDS).split()
                self._by_part.setdefault(max(runs, key=len, default=b""), []).append(place)
        self._parts = re.compile(b"|".join(map(re.escape, self._by_part)) if self._by_part else rb"(?!)")
        self._idle: set[bytes] = set()
        self._known: dict[bytes, list[int]] = {}

    def find(self, line: bytes) -> list[T]:
        """The things of which a pattern may find a line, each once, in the order in which they were given."""
        words = words_of(line)
        telling = words - self._idle
        places = {place for word in telling for place in self._places(word)} if telling else set()
        if not words:
            places = set(self._by_part.get(b"", ()))
        if not places:
            return []
        lowered = line.lower()
        shown = (self._items[place] for place in sorted(places))
        return list(dict.fromkeys(item for pieces, item in shown if all(map(lowered.__contains__, pieces))))

    def _places(self, word: bytes) -> list[int]:
        """Places of the things that a word of a line may show; a word of none is passed over from now on."""
        places = self._known.get(word)
        if places is not None:
            return places
        if len(self._idle) + len(self._known) >= _MOST_WORDS:
            self._idle.clear()
            self._known.clear()
        places = self._by_word.get(word, [])
        if self._parts.search(word):
            shown = (held for part, held in self._by_part.items() if part in word)
            places = [*places, *chain.from_iterable(shown)]
        if places:
            self._known[word] = places
        else:
            self._idle.add(word)
        return places


def _texts(pattern: str) -> list[bytes]:
    return [text.lower().encode() for kind, text in parts_of(pattern) if kind == "text"]


def _pieces(texts: list[bytes]) -> tuple[bytes, ...]:
    """Runs without spaces that a line holds in lower case, the longest first."""
    return tuple(sorted({piece for text in texts for piece in text.split()}, key=len, reverse=True))


def _inner(text: bytes) -> list[bytes]:
    """Words of a text that something ends on both sides."""
    spaced = text.translate(_WORDS)
    words = spaced.split()
    first, last = spaced[:1].isspace(), spaced[-1:].isspace()
    inner = words[0 if first else 1 : len(words) if last else max(len(words) - 1, 0)]
    return [word for word in inner if len(word) >= _SHORTEST]


@dataclass(frozen=True, slots=True)
class SeenFault:
    """A known fault in a log.

    Attributes:
        fault: Its entry in the knowledge.
        lines: The first lines that show it.
        count: Number of lines that show it.
        first: Text of the first of them, cut to 200 characters.
        values: Numbers of the last line by name, where its pattern names them.
        last: Number of the last line.
        message: Text of the last line.
    """

    fault: FaultPattern
    lines: tuple[int, ...]
    count: int
    first: str
    values: Mapping[str, str] = field(default_factory=dict)
    last: int = 0
    message: str = ""

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "fault": self.fault.id,
            "label": self.fault.label,
            "codes": list(self.fault.codes),
            "lines": list(self.lines),
            "count": self.count,
            "text": self.first,
            "values": dict(self.values),
            "cause": dict(self.fault.cause),
            "remedy": dict(self.fault.remedy),
            "strategies": list(self.fault.strategies),
            "source": self.fault.source.url or self.fault.source.title,
            "confidence": str(self.fault.confidence),
        }


class KnownFaults:
    """Known faults with what finds them, and those found.

    Attributes:
        number: How many are known.
    """

    def __init__(self, faults: Iterable[FaultPattern]) -> None:
        self._known = [(fault, _expression(fault)) for fault in faults]
        self.number = len(self._known)
        codes = [code for fault, _ in self._known for code in fault.codes]
        self._codes = re.compile("|".join(_codes(codes)) or r"(?!)", re.IGNORECASE)
        self._code_index = WordIndex((f" {_code_text(code)} ", code) for code in codes)
        self._seen: dict[str, tuple[FaultPattern, list[LogLine]]] = {}

    def code_in(self, line: bytes) -> str | None:
        """The code that a line tells, with the word before it; None without."""
        if not self._code_index.find(line):
            return None
        found = self._codes.search(line.decode("utf-8", "replace"))
        return None if found is None else found[0]

    def items(self) -> Iterator[tuple[str, int]]:
        """What a line must hold that may show a fault, with its place."""
        for place, (fault, _) in enumerate(self._known):
            for text in (*fault.patterns, *(f" {_code_text(code)} " for code in fault.codes)):
                yield text, place

    def take(self, line: LogLine, places: Iterable[int]) -> bool:
        """Return whether lines of a kind show a fault, of those at places."""
        shown = [pair for pair in map(self._known.__getitem__, places) if pair[1].search(line.first)]
        for fault, _ in shown:
            if not _counts_none(fault, line.last):
                self._seen.setdefault(fault.id, (fault, []))[1].append(line)
        return bool(shown)

    def seen(self) -> list[SeenFault]:
        """Those found: causes before what only says that something failed, the last one first."""
        found = [_seen_fault(fault, lines) for fault, lines in self._seen.values()]
        return sorted(found, key=lambda item: (is_general(item.fault.id), -item.last))


def _counts_none(fault: FaultPattern, text: str) -> bool:
    """Whether a line tells that a fault was counted no times."""
    values = (values_found(pattern, text) or {} for pattern in fault.patterns if "{count}" in pattern)
    told = [item["count"] for item in values if item.get("count")]
    return bool(told) and all(re.fullmatch(r"0+|N/A", count) for count in told)


def _seen_fault(fault: FaultPattern, lines: list[LogLine]) -> SeenFault:
    last = max(lines, key=lambda line: line.last_number)
    values: dict[str, str] = {}
    for pattern in fault.patterns:
        values |= values_found(pattern, last.last) or {}
    return SeenFault(
        fault=fault,
        lines=tuple(sorted({number for line in lines for number in line.numbers})[:KEPT_LINES]),
        count=sum(line.count for line in lines),
        first=lines[0].first.strip()[:MOST_TEXT],
        values=values,
        last=last.last_number,
        message=last.last.strip(),
    )


def read_faults(path: Path, patterns: Iterable[FaultPattern]) -> tuple[SeenFault, ...]:
    """Known faults in a log or in the output of a tool.

    Raises:
        InputError: It cannot be read, or nothing is in it.
    """
    faults = KnownFaults(patterns)
    index = WordIndex(faults.items())
    for line in chain.from_iterable(read_lines(path, faults.code_in, may_tell, lambda _: None)):
        faults.take(line, index.find(line.head))
    return tuple(faults.seen())


def _expression(fault: FaultPattern) -> re.Pattern[str]:
    parts = [*(compile_pattern(text).pattern for text in fault.patterns), *_codes(fault.codes)]
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)


def _code_text(code: str) -> str:
    """The word of a code that a line must hold: of NVIDIA's driver the one before the number."""
    return _XID.strip() if code.startswith(_XID) else code


def _codes(codes: Sequence[str]) -> list[str]:
    """Expressions that find codes: bare numbers, codes of NVIDIA's driver, and names."""
    numbers = [code for code in codes if code.isdigit()]
    xids = [code.removeprefix(_XID) for code in codes if code.startswith(_XID)]
    names = [re.escape(code) for code in codes if not code.isdigit() and not code.startswith(_XID)]
    parts = []
    if numbers:
        parts.append(rf"{_BEFORE}(?:{'|'.join(numbers)})(?!\d)")
    if xids:  # "NVRM: Xid (PCI:0000:2b:00): 79, ..." in the log of the kernel
        parts.append(rf"\bXid:?\s*(?:\([^)]{{0,40}}\):?\s*)?(?:{'|'.join(xids)})(?!\d)")
    if names:
        parts.append(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)")
    return parts
