"""Fenced blocks of the documentation, and the command lines in them.

A block that no test can run carries its reason in the line above, which a browser does not show:
``<!-- untested: REASON -->``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
UNTESTED = "<!-- untested: "

_ROW = re.compile(r"\| .* \| `(tunegraph .*)` \|")
_FENCE = re.compile(r"^```(\w*)\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        page: Name of its page.
        line: Number of its first line.
        language: What its fence says.
        text: What is in it.
        is_tested: Whether the line above it does not say otherwise.
    """

    page: str
    line: int
    language: str
    text: str
    is_tested: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, with what the page shows of its output.

    Attributes:
        where: Page and line.
        text: As it is written, its continuation lines joined.
        shown: Lines of output under it.
    """

    where: str
    text: str
    shown: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """The error that the page shows; empty if the command is to succeed."""
        return next((line for line in self.shown if line.startswith("tunegraph: ")), "")


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page."""
    language, start, inside, above = "", 0, list[str](), ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if not start and fence:
            language, start, inside = fence[1], number + 1, []
        elif start and line.startswith("```"):
            yield Block(page.name, start, language, "\n".join(inside), not above.startswith(UNTESTED))
            start, above = 0, line
        elif start:
            inside.append(line)
        else:
            above = line


def commands(block: Block) -> Iterator[Command]:
    """The command lines of a block of ``sh`` (every line) or ``console`` (those after a dollar sign)."""
    if block.language not in {"sh", "console"} or not block.is_tested:
        return
    lines = block.text.splitlines()
    at = 0
    while at < len(lines):
        start, line = at, lines[at]
        at += 1
        if block.language == "console" and not line.startswith("$ "):
            continue
        text = line.removeprefix("$ ")
        while text.endswith("\\"):
            text, at = f"{text[:-1].rstrip()} {lines[at].strip()}", at + 1
        shown = []
        while block.language == "console" and at < len(lines) and not lines[at].startswith("$ "):
            shown.append(lines[at])
            at += 1
        if text.strip():
            yield Command(f"{block.page}:{block.line + start}", text, tuple(shown))


def table_commands(page: Path) -> Iterator[Command]:
    """The commands of a page's tables, one in the last cell of a row; FILES stands for what a reader has."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if (row := _ROW.fullmatch(line)) is not None:
            yield Command(f"{page.name}:{number}", row[1])
