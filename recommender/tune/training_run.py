"""A training run measured by its log: started, followed until enough steps are done, and ended.

The time of a step is what the trainer prints where it does (``data/outputs/training.yaml``), else the time
between the lines of two steps. The first steps do not count: they compile.
"""

import math
import os
import re
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from threading import Event

from ingest.formats.outputs.tool import tools
from kg.errors import InputError
from kg.nouns.entities import Better, Status
from kg.terms.units import Dimension, Unit, unit
from recommender.measuring.outcome import CancelledError
from recommender.measuring.user_patterns import SlowPatternError, first_and_last
from recommender.tune.candidates import samples_factor
from recommender.tune.engine_process import EngineProcess, LaunchPlace, StartError, telling_line
from recommender.tune.tune_result import TuneObjective, TuneResult, TuneStart

_STEP = re.compile(r"(?:\b|_)(?:global[_ ]?step|step|iteration|iter)\b\s*+[:=\[#]*+\s*+(\d++)", re.IGNORECASE)
_BAR = re.compile(r"^\s*+\d{1,3}%\|[^|]*+\|\s*+(\d++)/\d++ \[")
"""A bar of tqdm without a title: the steps of Hugging Face's Trainer, whose lines do not count them."""
_LOSS = re.compile(
    r"\b(?:lm[_ ])?loss\b['\"]?\s*[:=]\s*['\"]?([-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan\b|inf\b))",
    re.IGNORECASE,
)
_TICK_S = 0.01
"""Interval between looks at the log, and more than the error of its times of writing. A choice."""
_SPAN_S = 20 * _TICK_S
"""Over which steps are timed at least, for an error of a twentieth; a choice: fast ones need more of them."""
_DROP = 0.9
"""A candidate this much slower than the best after a third of its steps is given up; a choice."""


@cache
def _step_times() -> tuple[tuple[re.Pattern[str], str, Unit], ...]:
    """Forms in which trainers print the time of a step: pattern, name and unit, from the tables of logs."""
    return tuple(
        (pattern, name, of)
        for tool in tools()
        for told in tool.metrics.get("step_time", ())
        for name, of in [(told.rpartition(" ")[0], unit(told.rpartition(" ")[2]))]
        for pattern in tool.lines
        if name in pattern.groupindex and of.dimension is Dimension.TIME
    )


@dataclass(slots=True, kw_only=True)
class _Course:
    """The contents of a log so far; ``samples`` of a step, over those of the script's own."""

    warmup: int
    own: str
    samples: float = 1.0
    seen: dict[int, float | None] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    own_values: list[float] = field(default_factory=list)
    loss: float | None = None

    def read(self, lines: Sequence[str], at: float) -> None:
        """Take lines that were found together: the last step among them was written at a time."""
        before = len(self.seen)
        for line in lines:
            self._read(line)
        for found in first_and_last(self.own, lines) if self.own else ():
            with suppress(ValueError):  # a line that is alike
                self.own_values += [float((found[0] or "").rstrip(","))] if found else []
        if len(self.seen) > before:
            self.times[next(reversed(self.seen))] = at

    def _read(self, line: str) -> None:
        if (loss := _LOSS.search(line)) is not None:
            self.loss = float(loss[1])
        if self.own:
            return
        step = _BAR.search(line) or _STEP.search(line)
        if step is None or int(step[1]) in self.seen:
            return
        told = ((pattern.search(line), name, of) for pattern, name, of in _step_times())
        seconds = next((of.to_si(float(found[name])) for found, name, of in told if found is not None), None)
        self.seen[int(step[1])] = seconds

    @property
    def count(self) -> int:
        """Steps that count."""
        if self.own:
            return max(0, len(self.own_values) - self.warmup)
        steps = sorted(self.seen)
        return max(0, steps[-1] - steps[0] - self.warmup) if steps else 0

    @property
    def value(self) -> float | None:
        """Mean of the steps that count, their time or the number of the user's own line; None while open."""
        if self.own:
            return statistics.fmean(self.own_values[self.warmup :]) if self.count else None
        if not self.count:
            return None
        steps = sorted(self.seen)
        counted = [step for step in steps if step >= steps[0] + self.warmup]
        told = [seconds for step in counted[1:] if (seconds := self.seen[step]) is not None]
        if told:
            return statistics.fmean(told) / self.samples
        timed = [step for step in counted if step in self.times]
        span_s = self.times[timed[-1]] - self.times[timed[0]] if timed else 0.0
        return span_s / (timed[-1] - timed[0]) / self.samples if span_s >= _SPAN_S else None


def check_own_pattern(line: str) -> None:
    """Refuse a user's own expression of a line.

    Raises:
        InputError: It is none, or does not have one group.
    """
    try:
        pattern = re.compile(line)
    except re.error as fault:
        raise InputError(f"--line {line!r}: {fault}") from None
    if line and pattern.groups != 1:
        raise InputError(f"--line {line!r}: it needs one group", hint=r"such as 'tokens/s: (\S+)'")


def training_objective(line: str, better: Better) -> TuneObjective:
    """The time of a step, or the number of the user's own line: a rate where more is better, else a time."""
    if not line:
        return TuneObjective(
            metric="step_time", better=Better.LOWER, unit="s", text="time of a step, for the same samples"
        )
    text = f"the number of {line!r}"
    if better is Better.HIGHER:
        return TuneObjective(metric="throughput", better=better, unit="1/s", text=text)
    return TuneObjective(metric="run_time", better=better, unit="s", text=text)


@dataclass(slots=True, kw_only=True)
class TrainingEvaluator:
    """Measures configurations of a training run.

    Attributes:
        place: What starts it.
        steps: Steps that count.
        warmup: First steps that do not.
        line: The user's own expression with one group, a number; empty for the time of a step.
        better: Direction of that number.
    """

    place: LaunchPlace
    steps: int = 20
    warmup: int = 3
    line: str = ""
    better: Better = Better.LOWER

    @property
    def objective(self) -> TuneObjective:
        """The time of a step, or the user's own number."""
        return training_objective(self.line, self.better)

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        """See :class:`TuneEvaluator`; the data of a run are its own."""
        began = time.monotonic()
        process: EngineProcess | None = None
        try:
            process = self.place.start(
                self.place.text(start.edits), start.edits, start.number, PYTHONUNBUFFERED="1"
            )
            samples = samples_factor(start.edits, self.place.script)
            course, dropped, first_s = self._followed(process, start.bar, cancel, samples)
        except StartError as fault:
            return TuneResult(status=Status.FAILED, reason=str(fault), cost_s=time.monotonic() - began)
        finally:
            if process is not None:
                process.stop()
                process.before.wait_free(cancel)
        others = {} if course.loss is None else {"loss": course.loss}
        if course.samples != 1:
            others["samples_factor"] = course.samples
        return TuneResult(
            value=None if dropped else course.value,
            reason=dropped,
            is_dropped=bool(dropped),
            probes=1,
            others=others,
            ready_s=first_s,
            cost_s=time.monotonic() - began,
            load_s=max(0.0, time.monotonic() - began - first_s),
        )

    def _followed(
        self, process: EngineProcess, bar: float | None, cancel: Event, samples: float
    ) -> tuple[_Course, str, float]:
        """The course of a run, why it was dropped, and the seconds to its first step.

        Raises:
            StartError: It ended or fell silent before enough steps.
            CancelledError: ``cancel`` was set.
        """
        course = _Course(warmup=self.warmup, own=self.line, samples=samples)
        began = heard = time.monotonic()
        first_s, rest = 0.0, ""
        with process.log.open(encoding="utf-8", errors="replace") as stream:
            while True:
                end, now = process.end, time.monotonic()
                *lines, rest = re.split(r"[\r\n]", rest + stream.read())
                if lines:
                    heard = now
                    try:
                        course.read(lines, os.fstat(stream.fileno()).st_mtime)  # however late we read it
                    except SlowPatternError as fault:
                        raise StartError(f"--line {fault}") from None
                    first_s = first_s or (now - began if course.seen or course.own_values else 0.0)
                if course.loss is not None and not math.isfinite(course.loss):
                    raise StartError(f"its loss is {course.loss}")
                value = course.value
                if value is not None and course.count >= self.steps:
                    return course, "", first_s
                is_early = value is not None and course.count >= max(2, self.steps // 3)
                if is_early and bar is not None and self.objective.gain(value or 0.0, bar) < _DROP:
                    so_far = f"{value:.4g} {self.objective.unit} so far"
                    return course, f"{so_far}, the best has {bar:.4g}", first_s
                if end:
                    if value is not None and course.count >= max(2, self.steps // 2):
                        return course, "", first_s
                    short = ", too short to be timed" if value is None and course.count else ""
                    raise StartError(f"it ended after {course.count} steps that count{short} ({end})")
                if now - heard > self.place.silence_s:
                    said = telling_line(process.log)
                    raise StartError(f"silent for {self.place.silence_s:.0f} s; it said last: {said}")
                if cancel.wait(_TICK_S):
                    raise CancelledError("the run was interrupted")
