"""The steps of a training over time, from the lines that trainers write of them: rates, memory, parts.

Source:
    ``data/settings/training_rates.yaml``, which names the programs' own files.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import yaml

import data
from kg.nouns.codec import JsonNoun, in_json

_TABLE: Sequence[Mapping[str, Any]] = yaml.safe_load(data.text("settings/training_rates.yaml"))
_NUMBER = r"(\d[\d,]*+\.?\d*+(?:e[+-]?\d++)?)([KMB]?)"
_SUFFIX = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9}
PART = "part"
_EXPRESSIONS = [
    re.compile(
        (re.escape(row["before"]) if "before" in row else r"(?<![\d,.])")
        + (r"(\w++):\s*+" if row["what"] == PART else "()")
        + _NUMBER
        + (re.escape(row["after"]) if "after" in row else "")
    )
    for row in _TABLE
]
MARKS = tuple(dict.fromkeys(row.get("mark") or row.get("before") or row["after"] for row in _TABLE))
"""Texts of lines that may tell a step."""
_MARKS = [mark.encode() for mark in MARKS]
_RATES = ("steps_s", "samples_s", "tokens_s")
"""Rates by whose inverse steps are compared where nothing tells how long one takes."""
MOST_SAMPLES = 1 << 16
LEAST_SAMPLES = 8
"""Steps from which a median says what is usual. Assumed."""
SLOW, LONGER = 1.5, 1.1
"""Times of the median from which a step is slow, and of the first quarter's median from which steps of the
last quarter have grown: choices, beside which the figures are shown."""
FULL = 0.95
"""Share of a device's memory from which it is full: the allocator has to give back and ask again. Assumed."""
LEAST_PART, MOST_PARTS = 0.1, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRates(JsonNoun):
    """The steps of a training as its log tells them.

    Attributes:
        program: The trainer whose lines they are.
        samples: Number of steps told.
        medians: Median by name: seconds a step, rates, memory in GiB, shares.
        peaks: Most by name.
        slow: Steps of more than 1.5 times the median, the first left out.
        every: How many steps lie between two slow ones, where that is always the same; 0 otherwise.
        factor: Times of the median that a slow step takes.
        lost_share: Part of all time that slow steps take beyond the median.
        growth: Median step of the last quarter over that of the first; 1 for a few steps.
        parts: Parts of a step that have a tenth or more of it, and their shares; parts may hold others.
    """

    program: str
    samples: int
    medians: Mapping[str, float] = field(metadata=in_json(digits=6))
    peaks: Mapping[str, float] = field(metadata=in_json(digits=6))
    slow: int = 0
    every: int = 0
    factor: float = field(default=1.0, metadata=in_json(digits=3))
    lost_share: float = field(default=0.0, metadata=in_json(digits=4))
    growth: float = field(default=1.0, metadata=in_json(digits=3))
    parts: Mapping[str, float] = field(default_factory=dict, metadata=in_json(digits=4))

    @property
    def reduces(self) -> tuple[str, float] | None:
        """The part that reduces gradients and its share, where it is one of the large ones."""
        return next(((name, share) for name, share in self.parts.items() if "allreduce" in name), None)

    @property
    def is_full(self) -> bool:
        """True if the device's memory is as good as full."""
        return self.peaks.get("memory_share", 0.0) >= FULL


def training_marks(text: bytes) -> list[bytes]:
    """Marks of a trainer's steps in a text; none where no line of it holds any."""
    return [mark for mark in _MARKS if mark in text]


class TrainingSamples:
    """What a trainer tells of its steps, taken line by line."""

    def __init__(self) -> None:
        """Begin without steps."""
        self._held: dict[str, list[float]] = defaultdict(list)
        self._parts: dict[str, list[float]] = defaultdict(list)
        self._programs: Counter[str] = Counter()

    def take(self, line: bytes) -> None:
        """Take a line that ``training_marks`` finds."""
        text = line.decode("utf-8", "replace")
        for row, expression in zip(_TABLE, _EXPRESSIONS, strict=True):
            if any(row.get(key, "") not in text for key in ("mark", "before", "after")):
                continue
            for name, number, suffix in expression.findall(text):
                value = float(number.replace(",", "")) * _SUFFIX[suffix] * row.get("factor", 1.0)
                held = self._parts[name] if row["what"] == PART else self._held[row["what"]]
                if len(held) < MOST_SAMPLES:
                    held.append(value)
                self._programs[row["program"]] += 1

    def rates(self) -> TrainingRates | None:
        """The steps told; None without."""
        of_time = next((name for name in ("step_s", *_RATES) if self._held.get(name)), None)
        if of_time is None:
            return None
        told = [value for value in self._held[of_time] if value > 0]
        if not told:
            return None
        times = told if of_time == "step_s" else [1 / value for value in told]
        usual, later = median(times), times[1:]
        slow = [place for place, spent in enumerate(later) if spent > SLOW * usual]
        if len(times) < LEAST_SAMPLES or 2 * len(slow) > len(later):
            slow = []
        apart = {after - before for before, after in pairwise(slow)}
        quarter = len(later) // 4
        whole = median(self._held["step_s"]) if self._held.get("step_s") else self._whole_of_parts()
        return TrainingRates(
            program=self._programs.most_common(1)[0][0],
            samples=len(told),
            medians={name: median(values) for name, values in self._held.items()},
            peaks={name: max(values) for name, values in self._held.items()},
            slow=len(slow),
            every=apart.pop() if len(apart) == 1 else 0,
            factor=sum(later[place] for place in slow) / len(slow) / usual if slow else 1.0,
            lost_share=sum(later[place] - usual for place in slow) / sum(times),
            growth=median(later[-quarter:]) / median(later[:quarter])
            if quarter >= LEAST_SAMPLES // 2
            else 1.0,
            parts=self._large_parts(whole),
        )

    def _whole_of_parts(self) -> float:
        """Length of a step from its outermost parts: those in whose name no other begins."""
        mean = {name: sum(values) / len(values) for name, values in self._parts.items()}
        outer = [name for name in mean if not any(_holds(other, name) for other in mean)]
        return sum(mean[name] for name in outer)

    def _large_parts(self, whole: float) -> dict[str, float]:
        shares = {
            name: sum(values) / len(values) / whole
            for name, values in self._parts.items()
            if whole > 0 and name != "step"
        }
        large = sorted((item for item in shares.items() if item[1] >= LEAST_PART), key=lambda item: -item[1])
        return dict(large[:MOST_PARTS])


def _holds(outer: str, inner: str) -> bool:
    """True if one part is within another by their names: ``bwd_microstep`` holds ``bwd_inner_microstep``."""
    first, last = outer.partition("_")[::2]
    return inner != outer and bool(last) and inner.startswith(f"{first}_") and inner.endswith(f"_{last}")
