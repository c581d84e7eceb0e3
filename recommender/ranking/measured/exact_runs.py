"""Measurements of exactly the asked question: the best of them is the decision, with its own number."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg.errors import InputError
from kg.nouns.entities import Better, Configuration, Kind, Limit, Objective, Problem, Status, Trust
from kg.nouns.gain import NORMAL_90
from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Settings, Value
from kg.rows.trial_rows import ProblemRow, Trial
from kg.terms.circumstances import sizes_of_shape
from kg.terms.dialects import layout_of, spell
from kg.terms.meanings import kind_of, meaning_of
from kg.terms.metrics import METRICS as NAMED
from kg.terms.setting_registry import ReleaseSettings
from kg.terms.units import Dimension
from recommender.cost_model.facts.device import precision
from recommender.cost_model.measured.step_place import lengths_of
from recommender.cost_model.settings.dialects import translate
from recommender.cost_model.step_runs import METRICS, RATES, TIMES
from recommender.ranking.measured.runs import RunReader, devices_of

MEASURED_SO = "measured: "
"""Begins the line that tells what a start was measured to reach."""
_WHOLE = 1000
"""Number from which it is told without decimals."""
_LOADS = frozenset({"concurrency", "max_concurrency"})
_FORMAT = "weights"
"""Trait that says what a file of weights calls its number format, which a question need not state."""
_DESCRIBED = frozenset({"framework", "engine", "backend", "server"})
"""Names of a configuration that say what ran, and set nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactRun:
    """One configuration that was measured on exactly the asked question.

    Attributes:
        configuration: It, as it was stated.
        layout: How it divides the work.
        metric: What was measured.
        value: Median of its measurements, of all devices.
        unit: Of that.
        low: Lower end of the 90 % interval of that.
        high: Upper end.
        load: Requests at once on all devices; None where that was not stated.
        words: The measurement in words.
        limited: What limits bound, measured for the same configuration and load, by metric.
    """

    configuration: Configuration
    layout: ParallelLayout
    metric: str
    value: float
    unit: str
    low: float
    high: float
    load: float | None
    words: str
    limited: Mapping[str, ExactRun] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, float | None]:
        """Its configuration and load."""
        return self.configuration.digest, self.load


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """A case with its value in the unit of the objective, its load and its layout."""

    trial: Trial
    value: float
    load: float | None
    layout: ParallelLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWork:
    """The work that a measurement must agree with to be one of a question.

    Attributes:
        model: Id of the model.
        device: Id of the device.
        count: Devices.
        phase: ``"training"`` or ``"serving"``.
        engine: Id of what runs it.
        sizes: Lengths and batch, as stated or assumed.
        traits: What is stated of the work beside them.
        precision: Number format as stated; empty if not.
        load: Requests at once as stated; None if not.
        release: Of the engine, as told; empty if not.
    """

    model: str
    device: str
    count: int
    phase: str
    engine: str
    sizes: Mapping[str, object]
    traits: Mapping[str, object]
    precision: str
    load: float | None
    release: str = ""

    def admits(self, row: ProblemRow, problem: Problem) -> bool:
        """True if a problem is the one in the question, apart from its configuration."""
        work = problem.workload
        measured, asked = work.shape.get("global_batch"), self.sizes.get("global_batch")
        return (
            (row.model, row.hardware, work.kind.value) == (self.model, self.device, self.phase)
            and row.trust is not Trust.LOW
            and lengths_of(self.phase, work.shape) == lengths_of(self.phase, self.sizes)
            and (measured is None or asked is None or measured == asked)
            and all(
                name in _LOADS
                or self.traits.get(name) == value
                or (name == _FORMAT and name not in self.traits)
                for name, value in work.traits.items()
            )
        )


def exact_runs(
    rows: Iterable[ProblemRow], reader: RunReader, work: AskedWork, objective: Objective
) -> list[ExactRun]:
    """The configurations measured on exactly a question, best first.

    Model, device, number of devices and lengths are the asked ones, and so are engine, release, number format
    and load where both sides state them; each load is one by itself. A layout that does not take up the
    devices is none.

    Args:
        rows: Problems of the model.
        reader: Reads their problems and cases.
        work: What they must agree with.
        objective: What decides.
    """
    together: dict[tuple[str, float | None], list[_Timed]] = defaultdict(list)
    for row in rows:
        problem = reader.problem(row)
        if problem is None or not work.admits(row, problem):
            continue
        for trial, value in _timed(row, problem, reader, objective):
            told = translate(trial.configuration, work.phase).settings
            stated = problem.workload.precision or str(told.get("precision", ""))
            engine = reader.engine(problem, trial)
            load = _load(problem, trial.configuration)
            layout = _layout(trial.configuration, engine or work.engine, work)
            if (
                devices_of(problem, trial.configuration, told) == layout.devices == work.count
                and engine in {"", work.engine}
                and _is_of(_release(problem, trial, engine), work.release)
                and _agree(_plain(stated), _plain(work.precision))
                and _agree(load, work.load)
            ):
                together[trial.configuration.digest, load].append(
                    _Timed(trial=trial, value=value, load=load, layout=layout)
                )
    found = [
        _run(same, objective.metric, reader.source(same[0].trial.source_id)) for same in together.values()
    ]
    return sorted(found, key=lambda run: run.value, reverse=objective.better is Better.HIGHER)


def within(
    runs: Iterable[ExactRun], limits: Sequence[Limit], limited: Mapping[str, Sequence[ExactRun]]
) -> list[ExactRun]:
    """The runs that are measured to keep every limit; one whose bounded metric nobody measured is left out.

    Args:
        runs: Of the metric that decides.
        limits: What is to be kept.
        limited: Runs of the bounded metrics, by metric.
    """
    kept = []
    for run in runs:
        beside = {metric: one for metric, others in limited.items() for one in others if one.key == run.key}
        if all(one.metric in beside and beside[one.metric].value <= one.maximum for one in limits):
            kept.append(replace(run, limited=beside))
    return kept


def words_of(
    run: ExactRun, release: ReleaseSettings | None, program: str, layout: Mapping[str, Value]
) -> Settings:
    """Settings of a run in the words of the program, without those that only describe the run.

    Args:
        run: The run.
        release: Of the program; None where none ships.
        program: Its id.
        layout: How it writes the run's layout, where the run writes that in other words.
    """

    def is_usable(name: str) -> bool:
        return release is None or release.look_up(name, suggest=False).usable

    stated = {name: value for name, value in run.configuration.items() if name not in _DESCRIBED | _LOADS}
    divided = {name: value for name, value in stated.items() if kind_of(name) == "degree"}
    words = dict(divided if all(map(is_usable, divided)) else layout)
    for name, value in stated.items():
        if name in divided:
            continue
        meaning = meaning_of(name, program)
        if is_usable(name):
            positive = name.removeprefix("no_")
            is_turned = positive != name and release is not None and is_usable(positive)
            words.update({positive: not value} if is_turned else {name: value})
        elif meaning is not None and (found := spell(meaning.fact, program, value=meaning.says(value))):
            words[found[0].key] = found[1]
    return Settings(words)


def _timed(
    row: ProblemRow, problem: Problem, reader: RunReader, objective: Objective
) -> Iterator[tuple[Trial, float]]:
    """Cases with a value in the objective's own metric and unit, of all devices."""
    for trial in (one for case in reader.trials(row) for one in _compared(case)):
        measured = trial.measurement
        if trial.kind is not Kind.MEASURED or measured.status is not Status.OK or not measured.value:
            continue
        value: float | None = None
        units = METRICS.get(measured.metric, TIMES if _is_time(measured.metric) else {})
        if measured.metric == objective.metric and measured.unit in units:
            is_time = units is TIMES
            per_device = not is_time and RATES[measured.unit or ""]
            devices = problem.hardware.count if per_device else 1
            value = measured.value * devices if devices else None
        elif (measured.metric, objective.metric) == ("step_time", "throughput") and measured.unit == "s":
            sizes = [problem.workload.shape.get(name) for name in ("global_batch", "seq_len")]
            tokens = math.prod(size for size in sizes if isinstance(size, int | float))
            value = tokens / measured.value if all(sizes) else None
        if value is not None:
            yield trial, value


def _compared(trial: Trial) -> Iterator[Trial]:
    """A case, and what it was compared with where that is stated; not the case where it lost to that."""
    before, measured = trial.baseline, trial.measurement
    if before is None:
        yield trial
        return
    is_time = METRICS.get(measured.metric) is TIMES
    if measured.value and (measured.value < before.value) == is_time:
        yield trial
    if before.configuration:
        yield replace(
            trial, configuration=before.configuration, measurement=replace(measured, value=before.value)
        )


def _run(same: Sequence[_Timed], metric: str, source: str) -> ExactRun:
    """The measurements of one configuration as one."""
    values = [one.value for one in same]
    first, middle, measured = same[0], statistics.median(values), same[0].trial.measurement
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    else:
        relative = (measured.stdev or 0.0) / (measured.value or 1.0)
        error = relative * middle / math.sqrt(measured.repeats or 1)
    times = "" if len(values) == 1 else f", the median of {len(values)}"
    load = "" if first.load is None else f", {first.load:.0f} at once"
    symbol = "s" if measured.unit in TIMES and first.value == measured.value else "tokens/s"
    if measured.metric == "throughput":
        symbol = (measured.unit or "").removesuffix("/device")
    number = f"{middle:,.0f}" if middle >= _WHOLE else f"{middle:.4g}"
    return ExactRun(
        configuration=first.trial.configuration,
        layout=first.layout,
        metric=metric,
        value=middle,
        unit=symbol,
        low=middle - NORMAL_90 * error,
        high=middle + NORMAL_90 * error,
        load=first.load,
        words=f"{MEASURED_SO}{number} {symbol} with {first.layout}{load}{times} <{source}>",
    )


def _layout(configuration: Configuration, engine: str, work: AskedWork) -> ParallelLayout:
    """The layout of a case; a trainer divides the samples over the devices that are left."""
    layout = layout_of(configuration, engine)
    if work.phase == "training" and layout.dp == 1 and not work.count % layout.devices:
        return replace(layout, dp=work.count // layout.devices)
    return layout


def _load(problem: Problem, configuration: Configuration) -> float | None:
    shape, traits = sizes_of_shape(problem.workload.shape), problem.workload.traits
    stated = [place.get(name) for place in (configuration, traits) for name in _LOADS]
    stated.append(shape.get("concurrency"))
    return next((float(one) for one in stated if isinstance(one, int | float) and one >= 1), None)


def _is_time(metric: str) -> bool:
    return metric in NAMED and NAMED[metric].dimension is Dimension.TIME


def _plain(name: str) -> str:
    """The canonical name of a number format; as it is where it has none."""
    try:
        return precision(name) if name else ""
    except InputError:
        return name


def _release(problem: Problem, trial: Trial, engine: str) -> str:
    """The release that a case states of what ran it; empty where it states none."""
    return str(problem.software.get(engine) or trial.software.get(engine) or "")


def _is_of(one: str, other: str) -> bool:
    """True if two releases agree as far as both are stated: 0.18 is 0.18.0 and 0.18.1."""
    parts = [name.lstrip("v").split(".") for name in (one, other)]
    return not one or not other or all(a == b for a, b in zip(*parts, strict=False))


def _agree(one: object, other: object) -> bool:
    """True if two statements agree; a missing one agrees with all."""
    return not one or not other or one == other
