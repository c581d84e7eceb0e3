"""The tools whose results are read, and what each calls them: the tables of ``data/outputs``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import data
from ingest.files.safe_yaml import load_yaml

Names = Mapping[str, tuple[str, ...]]
_PHASES = ("serving", "training")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Output of one tool; the head of ``data/outputs/serving.yaml`` says what each field means.

    Attributes:
        id: Its name.
        title: For the sources of its cases.
        signs: Texts that its files have, all of one of the lists.
        engine: The engine that it runs; empty where the run names one.
        starts: The line at which a run begins.
        warmed: The line before which a run was a warm-up.
        each: Path of the list of runs.
        header_rows: Lines of the header of a table with a run in each row; 0 for a text of labels.
        facts: Names of the facts of a run.
        aborted: Names of what says that it broke off.
        settings: Settings of the engine by their names in the file.
        metrics: Name and unit of each metric.
        medians: The same of medians.
        where: Numbers that a run must have for a metric.
        spread: Names of standard deviation and number of repeats.
        computed: Name of what is computed, and of what: sums, and the first and last of times.
        lines: Patterns of lines with values.
        traits: Traits of the work.
        phase: ``"serving"`` or ``"training"``.
        joined: All lines, or all items of a list, are one run.
        clock: Names of elapsed time and of steps done.
        last: Names whose last value is of the whole run.
    """

    id: str
    title: str
    signs: tuple[tuple[str, ...], ...]
    engine: str = ""
    starts: re.Pattern[str] | None = None
    warmed: re.Pattern[str] | None = None
    each: str = ""
    header_rows: int = 0
    facts: Names = field(default_factory=dict)
    aborted: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    metrics: Names = field(default_factory=dict)
    medians: Names = field(default_factory=dict)
    where: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    spread: Names = field(default_factory=dict)
    computed: Names = field(default_factory=dict)
    lines: tuple[re.Pattern[str], ...] = ()
    traits: Mapping[str, str] = field(default_factory=dict)
    phase: str = "serving"
    joined: bool = False
    clock: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    def sign(self, text: str) -> tuple[str, ...] | None:
        """The signs that a text has; None if it is of another tool."""
        return next((signs for signs in self.signs if all(sign in text for sign in signs)), None)

    @property
    def names(self) -> frozenset[str]:
        """All names that are read."""
        measured = [
            name.rpartition(" ")[0]
            for table in (self.metrics, self.medians)
            for names in table.values()
            for name in names
        ]
        stated = [
            name
            for table in (self.facts, self.spread, self.computed)
            for names in table.values()
            for name in names
        ]
        conditions = [name for numbers in self.where.values() for name in numbers]
        return frozenset([*measured, *stated, *conditions, *self.aborted, *self.settings, *self.clock])


@cache
def tools() -> tuple[Tool, ...]:
    """All tools."""
    return tuple(_tool({**row, "phase": phase}) for phase in _PHASES for row in _document(phase)["tools"])


def tool_of(text: str) -> Tool | None:
    """The tool that wrote a text; None if none of the tables did."""
    return next((tool for tool in tools() if tool.sign(text)), None)


def part_of(text: str) -> str:
    """The summary that is read instead of a file that a tool writes beside it; empty for other files."""
    parts = _document("serving")["parts"]
    return next((str(part["reason"]) for part in parts if all(sign in text for sign in part["signs"])), "")


@cache
def _document(phase: str) -> Any:
    return load_yaml(data.text(f"outputs/{phase}.yaml").encode())


def plain(name: str) -> str:
    """A label as the tables have it: lower case, every other sign an underscore."""
    return re.sub(r"[^0-9a-z#]+", "_", name.lower()).strip("_")


def _tool(row: Mapping[str, Any]) -> Tool:
    tables: dict[str, Names] = {
        name: {key: tuple(names) for key, names in row.get(name, {}).items()}
        for name in ("facts", "metrics", "medians", "spread", "computed")
    }
    return Tool(
        id=row["id"],
        title=row["title"],
        signs=tuple(tuple(signs) for signs in row["signs"]),
        engine=row.get("engine", ""),
        starts=re.compile(row["starts"]) if "starts" in row else None,
        warmed=re.compile(row["warmed"]) if "warmed" in row else None,
        each=row.get("each", ""),
        header_rows=row.get("header_rows", 0),
        facts=tables["facts"],
        aborted=tuple(row.get("aborted", ())),
        settings=row.get("settings", {}),
        metrics=tables["metrics"],
        medians=tables["medians"],
        where=row.get("where", {}),
        spread=tables["spread"],
        computed=tables["computed"],
        lines=tuple(re.compile(pattern) for pattern in row.get("lines", ())),
        traits=row.get("traits", {}),
        phase=row["phase"],
        joined=row.get("joined", False),
        clock=tuple(row.get("clock", ())),
        last=tuple(row.get("last", ())),
    )
