"""Numbers in what a command printed: by a path into its JSON, or by a regular expression."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from kg.errors import InputError
from kg.nouns.codec import JsonNoun
from kg.nouns.entities import Better, Objective
from kg.terms.metrics import METRICS
from kg.terms.units import Dimension, unit
from recommender.measuring.user_patterns import SlowPatternError, first_and_last

_EXAMPLES = {
    Dimension.TIME: "s",
    Dimension.RATE: "tokens/s",
    Dimension.ENERGY: "J",
    Dimension.MASS: "g",
    Dimension.POWER: "W",
    Dimension.BYTES: "B",
}
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


WALL = "@wall"
"""In place of a path: how long the command ran, start of the process included."""


class ReadingError(ValueError):
    """A command printed no number where one was to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReading(JsonNoun):
    """The place of a metric in the output of a command.

    Attributes:
        metric: Canonical name.
        unit: Of the printed number; None where it is kept as it is.
        better: Direction of improvement.
        path: Path into the JSON that is printed, such as ``"timing.mean_s"`` or ``"$.runs[0].time"``;
            ``WALL`` for the time that the command itself takes, in seconds.
        pattern: Regular expression whose first group is the number; the last match counts.
    """

    metric: str
    better: Better
    unit: str | None = None
    path: str = ""
    pattern: str = ""

    def __post_init__(self) -> None:
        """Refuse what says nothing or twice where to look.

        Raises:
            InputError: Neither or both are given, the expression is none, the unit is unknown.
        """
        if bool(self.path) == bool(self.pattern):
            raise InputError(f"metric {self.metric}: give a path into JSON or a pattern", hint="path: time_s")
        if self.pattern:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as fault:
                raise InputError(f"metric {self.metric}: pattern {self.pattern!r}: {fault}") from None
            if groups < 1:
                raise InputError(
                    f"metric {self.metric}: the pattern needs a group", hint=r"such as 'time: (\S+)'"
                )
        known = METRICS.get(self.metric)
        if self.unit is None:
            if known is not None and known.dimension is not Dimension.RATIO:
                hint = f"a unit of {known.dimension}, such as unit: {_EXAMPLES.get(known.dimension, 's')}"
                raise InputError(f"metric {self.metric}: in which unit is it printed?", hint=hint)
            return
        try:
            measures = unit(self.unit).dimension
        except ValueError as fault:
            raise InputError(f"metric {self.metric}: {fault}") from None
        if known is not None and measures is not known.dimension:
            raise InputError(f"metric {self.metric} is a {known.dimension}, {self.unit} is a {measures}")

    @property
    def is_wall(self) -> bool:
        """True for the wall-clock time of the run, which nobody prints."""
        return self.path == WALL

    @property
    def objective(self) -> Objective:
        """The objective of a search for this metric, in SI."""
        symbol = unit(self.unit).symbol if self.unit is not None else "1"
        return Objective(metric=self.metric, better=self.better, unit=symbol)

    def read(self, text: str) -> float:
        """The metric in SI.

        Raises:
            ReadingError: It is not there, or it is no finite number.
        """
        return self._number(self._by_pattern(text) if self.pattern else self._by_path(text))

    def read_lines(self, lines: Sequence[str]) -> list[float]:
        """The metric in SI of each line that has it.

        Raises:
            SlowPatternError: The pattern takes too long.
        """
        found: list[float] = []
        matched = first_and_last(self.pattern, lines) if self.pattern else [None] * len(lines)
        for line, match in zip(lines, matched, strict=True):
            with suppress(ReadingError):
                found.append(self._number(match and match[1] if self.pattern else self._by_path(line)))
        return found

    def _number(self, raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            raise ReadingError(f"{self.metric}: {self.path} is {json.dumps(raw)[:40]}, which is no number")
        try:
            value = float(raw)
        except (ValueError, OverflowError):
            raise ReadingError(f"{self.metric}: {str(raw)[:40]!r} is no number") from None
        if not math.isfinite(value):
            raise ReadingError(f"{self.metric} is {value:g}")
        return value if self.unit is None else unit(self.unit).to_si(value)

    def _by_pattern(self, text: str) -> object:
        try:
            [found] = first_and_last(self.pattern, [text])
        except SlowPatternError as fault:
            raise ReadingError(f"{self.metric}: {fault}") from None
        if found is None:
            raise ReadingError(f"printed no {self.metric} (nothing matches {self.pattern!r}){_printed(text)}")
        return found[1]

    def _by_path(self, text: str) -> object:
        found = _last_object(text)
        if found is None:
            raise ReadingError(f"printed no {self.metric} (no JSON object){_printed(text)}")
        for name, index in _STEP.findall(self.path.removeprefix("$")):
            try:
                found = found[int(index)] if index else found[name]  # type: ignore[index]  # caught below
            except (KeyError, IndexError, TypeError):
                raise ReadingError(f"printed no {self.metric}: its JSON has no {self.path}") from None
        return found


def _last_object(text: str) -> object:
    """The last JSON object that is printed: on a line, or the whole output; None if there is none."""
    for line in reversed(text.splitlines()):
        stripped = line.strip()
        if stripped.startswith("{") and stripped.endswith("}"):
            try:
                return json.loads(stripped)
            except (ValueError, RecursionError):
                continue
    start = text.find("{")
    try:
        return json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None


def _printed(text: str) -> str:
    """The last thing that was printed, to show."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"; it printed {lines[-1][:80]!r}" if lines else "; it printed nothing"
