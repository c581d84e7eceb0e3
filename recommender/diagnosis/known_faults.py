"""Known faults in the lines of a log, looked for where the words of their patterns stand."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.log_lines import KEPT_LINES, LogLine, read_lines
from recommender.diagnosis.pressures import is_general
from recommender.diagnosis.statements import compile_pattern, values_found
from recommender.diagnosis.text_index import TextIndex

_IN_DIGITS = re.compile(r"\d{4,}|^ ?Xid")
"""Digits of a code; those of NVIDIA's driver are too few to look for."""
MOST_TEXT = 200
"""Characters of a line that are shown."""
_BEFORE = (
    r"(?:error|err|ret|code|result|return|status|runtime|rt|acl)[\w .]{0,24}[\s:=\[(#-]{1,4}(?:code\W{0,3})?"
)
"""A bare number is a code only behind a word that says so: iteration 100000 is none."""
_RAISE = re.compile(r"(?:.*[\])])?\s*raise\s")
"""Line of source in a traceback: it holds a message before its values are known."""
_XID = "Xid "
"""Begin of the codes of NVIDIA's driver; its logs put the place of the device between word and number."""


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
        self._by_number: dict[str, list[str]] = {}
        self._by_digits: dict[str, list[int]] = {}
        for place, code in (
            (place, code) for place, (fault, _) in enumerate(self._known) for code in fault.codes
        ):
            for number in _IN_DIGITS.findall(code):
                self._by_number.setdefault(number.strip(), []).append(code)
                self._by_digits.setdefault(_XID if code.startswith(_XID) else number, []).append(place)
        self._numbers = list(self._by_number)
        self._digits = TextIndex((number, None) for number in self._numbers)
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._seen: dict[str, tuple[FaultPattern, list[LogLine]]] = {}

    def codes_in(self, text: bytes) -> dict[int, str]:
        """Codes in the lines of a text by their places, each with the word before it."""
        found: dict[int, str] = {}
        near = self._digits.near(text)
        lines = text.split(b"\n") if near else []
        for place, numbers in near.items():
            line = lines[place].decode("utf-8", "replace")
            told = (self._pattern(self._numbers[number]).search(line) for number in numbers)
            if codes := [code for code in told if code is not None]:
                found[place] = min(codes, key=lambda code: code.start())[0]
        return found

    def _pattern(self, number: str) -> re.Pattern[str]:
        """The pattern of the codes with these digits: one pattern of all codes would be ten times slower."""
        if number not in self._patterns:
            self._patterns[number] = re.compile("|".join(_codes(self._by_number[number])), re.IGNORECASE)
        return self._patterns[number]

    def digits(self) -> list[str]:
        """Digits of codes, and the word before those of NVIDIA's driver."""
        return self._numbers

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
    head = next((line for line in lines if not _RAISE.match(line.first)), lines[0])
    shown = head.last if _counts_none(fault, head.first) else head.first
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
    index = TextIndex([*faults.items(), *((text, -1) for text in faults.digits())])
    for lines in read_lines(path, index.places, faults.codes_in, lambda _: (), lambda _: None):
        for line, shown in zip(lines, index.find([line.head for line in lines]), strict=True):
            faults.take(line, [place for place in shown if place >= 0])
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
