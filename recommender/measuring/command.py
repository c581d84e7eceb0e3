"""An objective that is a command: it is run with the parameters filled in, and prints its numbers.

``{name}`` in an argument stands for a parameter, a size of the input or a path (``{scratch}``,
``{kernels}``); ``{{`` and ``}}`` are braces, and so are those around anything but a name. An argument that
names a parameter which is inactive is left out. There is no shell unless the command is one text; then
values are variables of that shell, and never stand in the text (``recommender.measuring.shell_text``).
"""

import math
import re
import shlex
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from kg.errors import InputError
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings, Value
from recommender.measuring.outcome import RunOutcome
from recommender.measuring.process import Bounds, ProcessResult, run
from recommender.measuring.readings import OutputReading, ReadingError
from recommender.measuring.shell_text import OPTIONS, PLACE, ShellScript, is_quoted_word, shell_script

_PATHS = ("scratch", "kernels")

OUT_OF_MEMORY = re.compile(
    r"out of memory|outofmemory|\boom\b|memoryerror|bad_alloc|cannot allocate memory|failed to allocate"
    r"|memory allocation (?:failed|error)|alloc\w{0,20} (?:device )?memory fail|CUDNN_STATUS_ALLOC_FAILED"
    r"|ACL_ERROR_RT_MEMORY_ALLOCATION|EL0004|207001",
    re.IGNORECASE,
)
"""Messages of programs that run out of memory; the last two are Ascend's codes for it."""

_UNRUNNABLE = {126: "cannot be executed", 127: "no such program"}


def placeholders(text: str) -> set[str]:
    """The names that a text has in braces."""
    return {name for name in PLACE.findall(text) if name}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandObjective:
    """A command as an objective.

    Attributes:
        command: Program and arguments; or one text, which a shell runs.
        readings: Where its metrics stand.
        inputs: Values of further placeholders; each configuration runs on all of them, and what counts is
            the geometric mean, so that no single one is over-fitted.
        repeats: Runs on each input that count.
        warmup: Runs on each input before those, whose numbers are dropped.
        bounds: What a run may take.
        folder: Where it runs.
        environment: Variables; values may hold placeholders.
        base: The environment that the variables are added to.
        options: Flags, for ``{options}``; None where there are none to give.
        kernels: Folder of the shipped kernels, for ``{kernels}``.
        mark: Marks its processes, so that they are found again.
    """

    command: tuple[str, ...] | str
    readings: tuple[OutputReading, ...]
    folder: Path
    base: Mapping[str, str]
    inputs: tuple[Settings, ...] = (Settings(),)
    repeats: int = 1
    warmup: int = 0
    bounds: Bounds = field(default_factory=Bounds)
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] | None = None
    kernels: str = ""
    mark: str = "tunegraph"
    _script: ShellScript | None = field(init=False, default=None, repr=False)
    _quoted: tuple[bool, ...] = field(init=False, default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises:
            InputError: Nothing to run or to read, no repeat, or a placeholder in a place for code.
        """
        if not self.command or not self.inputs:
            raise InputError("a command to search over needs a program and at least one input")
        if not self.readings:
            raise InputError("say where the command prints its metric", hint="--metric kernel_time=time_s")
        if self.repeats < 1 or self.warmup < 0:
            raise InputError(f"{self.repeats} repeats and {self.warmup} warm-up runs")
        if isinstance(self.command, str):
            object.__setattr__(self, "_script", shell_script(self.command))
        else:
            quoted = (is_quoted_word(self.command[:place], word) for place, word in enumerate(self.command))
            object.__setattr__(self, "_quoted", tuple(quoted))

    @property
    def kind(self) -> Kind:
        """Kind of its values: measured."""
        return Kind.MEASURED

    def check(self, parameters: Iterable[str]) -> None:
        """See that every placeholder can be filled.

        Raises:
            InputError: One cannot, or a parameter appears nowhere, so that it would change nothing.
        """
        known = {*parameters, *_PATHS, *([OPTIONS] if self.options is not None else [])}
        for number, given in enumerate(self.inputs, 1):
            for name in self._named():
                if name not in known and name not in given:
                    which = f" of input {number}" if len(self.inputs) > 1 else ""
                    hint = f"known{which}: {', '.join(sorted({*known, *given}))}"
                    raise InputError(f"the command names {{{name}}}, which is no parameter", hint=hint)
        unused = [name for name in parameters if name not in self._named()]
        if unused:
            raise InputError(
                f"the command does not use the parameter {unused[0]}", hint=f"put {{{unused[0]}}} into it"
            )

    def _named(self) -> set[str]:
        words = [self.command] if isinstance(self.command, str) else list(self.command)
        return {name for word in [*words, *self.environment.values()] for name in placeholders(word)}

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:
        """Run on every input; the first failure is the outcome.

        Raises:
            InputError: The program does not exist or is not executable.
            CancelledError: ``cancel`` was set.
        """
        started = time.monotonic()
        collected: list[list[dict[str, float]]] = []
        for number, given in enumerate(self.inputs, 1):
            runs: list[dict[str, float]] = []
            for count in range(self.warmup + self.repeats):
                found = self._once(configuration, given, cancel)
                if isinstance(found, str):
                    where = f" (input {number}: {given})" if len(self.inputs) > 1 else ""
                    return RunOutcome(
                        status=Status.FAILED, reason=found + where, cost_s=time.monotonic() - started
                    )
                if count >= self.warmup:
                    runs.append(found)
            collected.append(runs)
        return self._summed(collected, time.monotonic() - started)

    def _once(self, configuration: Settings, given: Settings, cancel: Event) -> dict[str, float] | str:
        """The metrics of one run, or why there are none."""
        scratch = Path(tempfile.mkdtemp(prefix="tunegraph-"))
        try:
            values = {**given, **configuration, "scratch": str(scratch), "kernels": self.kernels}
            environment = {
                name: text
                for name, raw in self.environment.items()
                if (text := _filled(raw, values)) is not None
            }
            result = run(
                self._words(values),
                folder=self.folder,
                environment={
                    **self.base,
                    "TMPDIR": str(scratch),
                    **environment,
                    **self._variables(values),
                },
                bounds=self.bounds,
                cancel=cancel,
                mark=self.mark,
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        if fault := failure_reason(result):
            return fault
        try:
            return {
                item.metric: result.wall_s if item.is_wall else item.read(result.out)
                for item in self.readings
            }
        except ReadingError as missing:
            return str(missing)

    def _words(self, values: Mapping[str, Value]) -> list[str]:
        """Program and arguments of one run."""
        if self._script is not None:
            return ["sh", "-c", self._script.text, "sh", *(self.options or ())]
        filled = (
            _filled(
                word, {name: shlex.quote(show(value)) for name, value in values.items()} if quoted else values
            )
            for word, quoted in zip(self.command, self._quoted, strict=True)
        )
        return [word for word in filled if word is not None]

    def _variables(self, values: Mapping[str, Value]) -> dict[str, str]:
        """The values of a run as variables of its shell.

        Raises:
            InputError: What stands in arithmetic is no number.
        """
        if self._script is None:
            return {}
        for name in self._script.numbers:
            if isinstance(values.get(name), bool) or not isinstance(values.get(name), int | float):
                raise InputError(f"{{{name}}} stands in arithmetic, and {values.get(name)!r} is no number")
        texts = {name: show(value) for name, value in values.items()}
        quoted = {name: shlex.quote(text) for name, text in texts.items()}
        if self.options is not None:
            quoted[OPTIONS] = shlex.join(self.options)
        return {
            variable: known[name]
            for names, known in ((self._script.plain, texts), (self._script.quoted, quoted))
            for name, variable in names.items()
            if name in known
        }

    def _summed(self, collected: Sequence[Sequence[Mapping[str, float]]], cost_s: float) -> RunOutcome:
        """Mean over repeats, geometric mean over inputs; of a metric that is not above zero the largest."""
        values, spreads = {}, {}
        by_input: list[dict[str, float]] = [{} for _ in collected]
        for reading in self.readings:
            name, relative = reading.metric, []
            for place, runs in enumerate(collected):
                numbers = [found[name] for found in runs]
                mean = statistics.fmean(numbers)
                by_input[place][name] = mean
                if len(numbers) > 1 and mean:
                    relative.append(statistics.stdev(numbers) / abs(mean))
            means = [found[name] for found in by_input]
            if len(means) > 1 and all(mean > 0 for mean in means) and name != "accuracy_loss":
                values[name] = math.exp(statistics.fmean(math.log(mean) for mean in means))
            else:
                values[name] = max(means)
            if len(relative) == len(collected):  # of a geometric mean of independent inputs
                spreads[name] = math.hypot(*relative) / len(relative) * abs(values[name])
        return RunOutcome(
            values=values,
            stdev=spreads,
            repeats=self.repeats,
            cost_s=cost_s,
            by_input=tuple(by_input) if len(by_input) > 1 else (),
        )


def show(value: Value) -> str:
    """A value as a program reads it: ``true``, ``16``, ``0.5``, a list with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(show, value))
    return "" if value is None else str(value)


def _filled(text: str, values: Mapping[str, Value], *, absent: str | None = None) -> str | None:
    """A text with its placeholders filled; ``absent`` if that is None and one has no value."""
    missing = False

    def fill(match: re.Match[str]) -> str:
        nonlocal missing
        if match.group(1) is None:
            return match.group()[0]
        if match.group(1) not in values:
            missing = True
            return ""
        return show(values[match.group(1)])

    filled = PLACE.sub(fill, text)
    return None if missing and absent is None else filled


def failure_reason(result: ProcessResult) -> str:
    """The reason why a run counts as failed; empty if it does not.

    Raises:
        InputError: There is nothing to run: a shell found no such program.
    """
    if result.stopped:
        return result.stopped
    if result.code == 0:
        return ""
    said = result.err + result.out
    line = _telling(result.err) or _telling(result.out)
    tail = f": {line}" if line else ""
    number = -result.code if result.code < 0 else result.code - 128 if 128 < result.code < 160 else 0
    if found := OUT_OF_MEMORY.search(said):
        start = said.rfind("\n", 0, found.start()) + 1
        return f"out of memory: {said[start:].splitlines()[0].strip()[:200]}"
    if number == signal.SIGKILL:
        return f"killed by SIGKILL, as the system does when memory runs out{tail}"
    if number == signal.SIGXFSZ:
        return "it wrote a file larger than allowed"
    if number:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return f"killed by {name}{tail}"
    if result.code in _UNRUNNABLE:
        return f"exit code {result.code} ({_UNRUNNABLE[result.code]}){tail}"
    return f"exit code {result.code}{tail}"


def _telling(text: str) -> str:
    """The last line, cut; errors stand at the end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
