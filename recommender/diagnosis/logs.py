"""Known faults in a log: their lines, causes and remedies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.files.content import Content, ContentError
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kg.nouns.knowledge import FaultPattern

KEPT_LINES = 5
"""Lines of a fault that are listed one by one; the others are counted."""
_BEFORE = (
    r"(?:error|err|ret|code|result|return|status|runtime|rt|acl)[\w .]{0,24}[\s:=\[(#-]{1,4}(?:code\W{0,3})?"
)
"""A bare number is a code only behind a word that says so: iteration 100000 is none."""
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
    """

    fault: FaultPattern
    lines: tuple[int, ...]
    count: int
    first: str

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "fault": self.fault.id,
            "label": self.fault.label,
            "codes": list(self.fault.codes),
            "lines": list(self.lines),
            "count": self.count,
            "text": self.first,
            "cause": dict(self.fault.cause),
            "remedy": dict(self.fault.remedy),
            "strategies": list(self.fault.strategies),
            "source": self.fault.source.url or self.fault.source.title,
            "confidence": str(self.fault.confidence),
        }


def read_log(path: Path, patterns: Iterable[FaultPattern]) -> list[SeenFault]:
    """Known faults of a log, in the order of their first lines.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    faults = list(patterns)
    matches = [(fault, _expression(fault)) for fault in faults]
    either = re.compile("|".join(f"(?:{expression.pattern})" for _, expression in matches), re.IGNORECASE)
    seen: dict[str, list[int]] = {}
    first: dict[str, str] = {}
    number = 0
    try:
        for number, text in _lines(path):
            if not either.search(text):
                continue
            for fault, expression in matches:
                if expression.search(text):
                    seen.setdefault(fault.id, []).append(number)
                    first.setdefault(fault.id, text.strip()[:200])
    except (OSError, ContentError) as fault:
        raise InputError(f"{path}: cannot be read ({fault})") from fault
    if not number:
        raise InputError(f"{path}: is empty", hint="name a log, or the folder of a profile")
    by_id = {fault.id: fault for fault in faults}
    return [
        SeenFault(by_id[name], tuple(lines[:KEPT_LINES]), len(lines), first[name])
        for name, lines in seen.items()
    ]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with Content(path) as content:
        for number, line in content.lines():
            if line is not None:
                yield number, line.decode("utf-8", "replace")


def _expression(fault: FaultPattern) -> re.Pattern[str]:
    parts = [re.escape(text) for text in fault.patterns]
    for code in fault.codes:
        literal = re.escape(code)
        if code.isdigit():
            parts.append(rf"{_BEFORE}{literal}(?!\d)")
        elif code.startswith(_XID):  # "NVRM: Xid (PCI:0000:2b:00): 79, ..." in the log of the kernel
            parts.append(rf"\bXid:?\s*(?:\([^)]{{0,40}}\):?\s*)?{code.removeprefix(_XID)}(?!\d)")
        else:
            parts.append(rf"(?<!\w){literal}(?!\w)")
    return re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
