"""Known faults in the lines of a log, looked for where the words of their patterns stand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from recommender.diagnosis.log_lines import BATCH, KEPT_LINES, LogLine, places_of, read_lines
from recommender.diagnosis.pressures import is_general
from recommender.diagnosis.statements import compile_pattern, parts_of, values_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
    from pathlib import Path

    from kg.nouns.knowledge import FaultPattern

T = TypeVar("T")
_SHORTEST = 4
"""Letters of a word that is rare enough to look for: shorter ones stand in most lines."""
_RARE = 64
"""Part of the lines of a batch in which a word may stand by which things are looked for."""
_END, _BETWEEN = b"\x01", b" \x01 "
"""Separator between the words of two lines, which no word holds."""
_MOST_WORDS = 1 << 17
"""Words of lines that are remembered; ids of a log are without end."""
_WORDS = bytes(
    10 if code == 10 else ord(chr(code).lower()) if chr(code).isalpha() else 32 for code in range(128)
) + bytes(range(128, 256))
"""Letters in lower case, what is none as a space; ends of lines and bytes of other scripts stay."""
_NUMBERS = bytes(code if code == 10 or chr(code).isdigit() else 32 for code in range(128)) + b" " * 128
"""Digits and ends of lines; the others as a space."""
_IN_DIGITS = re.compile(r"\d{4,}|^ ?Xid")
"""Digits of a code; those of NVIDIA's driver are too few to look for."""
MOST_TEXT = 200
"""Characters of a line that are shown."""
_BEFORE = (
    r"(?:error|err|ret|code|result|return|status|runtime|rt|acl)[\w .]{0,24}[\s:=\[(#-]{1,4}(?:code\W{0,3})?"
)
"""A bare number is a code only behind a word that says so: iteration 100000 is none."""
_XID = "Xid "
"""Begin of the codes of NVIDIA's driver; its logs put the place of the device between word and number."""


class WordIndex(Generic[T]):
    """An index of items by a rare word of their patterns.

    A word counts that a pattern holds with what ends it on both sides: no longer word of a line hides it.
    What has no such word is found by its longest run of letters, in whatever word of a line holds it. Words
    that show nothing are remembered, so that one difference of sets passes over most lines.
    """

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        """Index things by their patterns; a code is a pattern between spaces."""
        held = [(_texts(pattern), item) for pattern, item in items]
        self._inner = [frozenset(word for text in texts for word in _inner(text)) for texts, _ in held]
        common = Counter(word for words in self._inner for word in words)
        self._items = [(_pieces(texts), item) for texts, item in held]
        self._by_word: dict[bytes, list[int]] = {}
        self._by_part: dict[bytes, list[int]] = {}
        for place, (pieces, _) in enumerate(self._items):
            if words := self._inner[place]:
                word = min(words, key=lambda one: (common[one], -len(one), one))
                self._by_word.setdefault(word, []).append(place)
            else:
                runs = b" ".join(pieces).translate(_WORDS).split()
                self._by_part.setdefault(max(runs, key=len, default=b""), []).append(place)
        self._always = self._by_part.pop(b"", [])
        self._idle: set[bytes] = set()
        self._known: dict[bytes, list[int]] = {}

    def find(self, lines: Sequence[bytes]) -> Iterator[list[T]]:
        """Yield, for each line, the items that may have a pattern in it, each once, in their own order."""
        for start in range(0, len(lines), BATCH):
            batch = lines[start : start + BATCH]
            words = b"\n".join(batch).translate(_WORDS).replace(b"\n", _BETWEEN).split()
            here = set(words)
            self._learn(here - self._idle - self._known.keys())
            telling = {word: self._known[word] for word in here & self._known.keys()}
            shown: dict[int, set[int]] = {}
            often: Counter[bytes] = Counter()
            for place, word in _standing(words, telling.keys()):
                often[word] += 1
                shown.setdefault(place, set(self._always)).update(telling[word])
            for place, line in enumerate(batch):
                places = shown.get(place, self._always)
                if not places:
                    yield []
                    continue
                lowered = line.lower()
                items = (self._items[place] for place in sorted(places))
                found = (item for pieces, item in items if all(map(lowered.__contains__, pieces)))
                yield list(dict.fromkeys(found))
            for word, count in often.items():
                if count > len(batch) // _RARE:
                    self._look_elsewhere(word)

    def _look_elsewhere(self, word: bytes) -> None:
        """Look for things by a word of them that no line has shown yet, where this one stands in many."""
        for place in self._by_word.get(word, [])[:]:
            others = self._inner[place] - self._idle - self._known.keys()
            if others:
                self._by_word[word].remove(place)
                self._by_word.setdefault(min(others, key=lambda one: (-len(one), one)), []).append(place)
        self._known.pop(word, None)

    def drop(self, is_told: Callable[[T], bool]) -> None:
        """Look no longer for things that have told what they tell, from the next lines on."""
        gone = {place for place, (_, item) in enumerate(self._items) if is_told(item)}
        for index in (self._by_word, self._by_part):
            for word, places in list(index.items()):
                index[word] = [place for place in places if place not in gone]
        self._known.clear()
        self._idle.clear()

    def _learn(self, words: set[bytes]) -> None:
        """Remember of which things words may show; words of none are passed over from now on."""
        if len(self._idle) + len(self._known) >= _MOST_WORDS:
            self._idle.clear()
            self._known.clear()
        found = {word: self._by_word[word] for word in self._by_word.keys() & words}
        text = b" %s " % b" ".join(words)
        for part, places in self._by_part.items():
            start = text.find(part)
            while start >= 0:
                end = text.index(b" ", start)
                word = text[text.rindex(b" ", 0, start) + 1 : end]
                found[word] = [*found.get(word, ()), *places]
                start = text.find(part, end)
        self._known |= {word: places for word, places in found.items() if places}
        self._idle |= words - self._known.keys()


def _standing(words: Iterable[bytes], wanted: Set[bytes]) -> Iterator[tuple[int, bytes]]:
    """Wanted words with the place of their line, of words with an end between two lines."""
    place = 0
    for word in filter((wanted | {_END}).__contains__, words):
        if word == _END:
            place += 1
        else:
            yield place, word


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
    return [word for word in inner if len(word) >= _SHORTEST] or [word for word in inner if len(word) > 1]


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
        self._by_number: dict[bytes, list[str]] = {}
        self._by_digits: dict[str, list[int]] = {}
        for place, code in (
            (place, code) for place, (fault, _) in enumerate(self._known) for code in fault.codes
        ):
            for number in _IN_DIGITS.findall(code):
                self._by_number.setdefault(number.encode(), []).append(code)
                self._by_digits.setdefault(_XID if code.startswith(_XID) else number, []).append(place)
        self._patterns: dict[bytes, re.Pattern[str]] = {}
        self._seen: dict[str, tuple[FaultPattern, list[LogLine]]] = {}

    def codes_in(self, text: bytes) -> dict[int, str]:
        """Codes in the lines of a text by their places, each with the word before it."""
        words = text.translate(_NUMBERS).replace(b"\n", _BETWEEN).split()
        xids = [_XID.encode()] * (_XID.strip().encode() in self._by_number)
        places = [*_standing(words, self._by_number.keys()), *places_of(text, xids)]
        lines = text.split(b"\n") if places else []
        found: dict[int, tuple[int, str]] = {}
        for place, word in dict.fromkeys(sorted(places)):
            code = self._pattern(word.strip()).search(lines[place].decode("utf-8", "replace"))
            if code is not None and code.start() < found.get(place, (len(text), ""))[0]:
                found[place] = code.start(), code[0]
        return {place: code for place, (_, code) in found.items()}

    def _pattern(self, number: bytes) -> re.Pattern[str]:
        """The pattern of the codes with these digits: one pattern of all codes would be ten times slower."""
        if number not in self._patterns:
            self._patterns[number] = re.compile("|".join(_codes(self._by_number[number])), re.IGNORECASE)
        return self._patterns[number]

    def items(self) -> Iterator[tuple[str, int]]:
        """Texts that a line without a code must hold to show a fault, with the place of the fault."""
        for place, (fault, _) in enumerate(self._known):
            for text in (*fault.patterns, *(f" {code} " for code in fault.codes)):
                if not _IN_DIGITS.search(text) or not any(code in text for code in fault.codes):
                    yield text, place

    def take(self, line: LogLine, places: Iterable[int]) -> bool:
        """Return whether lines of a kind show a fault, of those at places or with a code."""
        near = set(places)
        if line.code:  # it may hold others behind the first
            told = (_IN_DIGITS.findall(line.first), [_XID] * line.code.startswith(_XID.strip()))
            near.update(place for number in chain(*told) for place in self._by_digits.get(number, ()))
        shown = [pair for pair in map(self._known.__getitem__, sorted(near)) if pair[1].search(line.first)]
        for fault, _ in shown:
            if not _counts_none(fault, line.last):
                self._seen.setdefault(fault.id, (fault, []))[1].append(line)
        return bool(shown)

    def seen_faults(self) -> list[SeenFault]:
        """Faults that were found: causes before those that only say that something failed, the last first."""
        found = [_seen_fault(fault, lines) for fault, lines in self._seen.values()]
        return sorted(found, key=lambda item: (is_general(item.fault.id), -item.last))


def _counts_none(fault: FaultPattern, text: str) -> bool:
    """True if a line states that a fault was counted zero times."""
    values = (values_found(pattern, text) or {} for pattern in fault.patterns if "{count}" in pattern)
    told = [item["count"] for item in values if item.get("count")]
    return bool(told) and all(re.fullmatch(r"0+|N/A", count) for count in told)


def _seen_fault(fault: FaultPattern, lines: list[LogLine]) -> SeenFault:
    last = max(lines, key=lambda line: line.last_number)
    shown = lines[0].last if _counts_none(fault, lines[0].first) else lines[0].first
    values: dict[str, str] = {}
    for line in sorted(lines, key=lambda line: line.last_number):
        for pattern in fault.patterns:
            values |= values_found(pattern, line.last) or {}
    return SeenFault(
        fault=fault,
        lines=tuple(sorted({number for line in lines for number in line.numbers})[:KEPT_LINES]),
        count=sum(line.count for line in lines),
        first=shown.strip()[:MOST_TEXT],
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
    for lines in read_lines(path, faults.codes_in, lambda _: (), lambda _: None):
        for line, shown in zip(lines, index.find([line.head for line in lines]), strict=True):
            faults.take(line, shown)
    return tuple(faults.seen_faults())


def _expression(fault: FaultPattern) -> re.Pattern[str]:
    parts = [*(compile_pattern(text).pattern for text in fault.patterns), *_codes(fault.codes)]
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)


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
