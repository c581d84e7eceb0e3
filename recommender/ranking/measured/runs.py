"""Measured runs of whole models among the cases near a question, each beside its price."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError, MissingFactError, UnknownEntityError
from kg.nouns.entities import Kind, Problem, Source, Status, Trust
from kg.triples.model_facts import plain_facts
from kg.triples.serialisation import from_graph
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.question import Question, engine_of
from recommender.cost_model.settings.dialects import translate
from recommender.cost_model.settings.plans import LayoutError
from recommender.cost_model.step_runs import METRICS, RATES, TIMES, modelled_value
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes
from recommender.ranking.measured.step_place import StepPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kg.nouns.entities import Configuration
    from kg.nouns.values import Value
    from kg.rows.trial_rows import ProblemRow, Trial
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from recommender.cost_model.workloads.steps import Steps

MOST = 256
"""Rows of a problem that are read, best first."""
UNLIKE = math.log(3)
"""A run that took three times as long as its price says, or a third, is something else than was understood;
a choice."""
_COUNTS = ("num_gpus", "num_devices", "devices", "world_size")
_DRAFTS = "spec_decoding"
"""A published switch that does not say how many tokens are drafted."""
_SIZES = frozenset({"tensor_parallel", "pipeline_parallel", "data_parallel"})
_LOADS = ("concurrency", "max_concurrency")
FRAMEWORKS = {"trt": "tensorrt-llm", "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm"}
"""Ids of frameworks by published names."""
_TRUSTED = frozenset({Kind.MEASURED, Kind.PUBLISHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """One measured configuration of a whole model.

    Attributes:
        place: Its work, machine, layout and load.
        group: Id of its problem: what is counted, and how it was timed, is alike there.
        log_ratio: Natural log of its measured time over its modelled one.
        modelled: What its price says: a rate of all devices, answers alone, or seconds.
        settings: Of the cost model.
        count: Devices.
        trial: The case.
        source: Where it can be read.
    """

    place: StepPlace
    group: str
    log_ratio: float
    modelled: float
    settings: Mapping[str, object]
    count: int
    trial: Trial
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReader:
    """Reads measured runs of a workspace.

    Attributes:
        trials: Has the cases.
        graph: Has their problems.
        tree: Knows hardware.
        sizes_of: Facts of a model by its id.
    """

    trials: TrialStore
    graph: GraphStore
    tree: HardwareTree
    sizes_of: Callable[[str], Mapping[str, Value]]

    def runs(self, rows: Iterable[ProblemRow], phase: str) -> list[MeasuredRun]:
        """The runs of some problems that can be priced; of each layout and load the fastest.

        Args:
            rows: The problems.
            phase: ``"training"`` or ``"serving"``.
        """
        return [run for row in rows for run in _fastest(_as_counted(list(self._of_problem(row, phase))))]

    def _of_problem(self, row: ProblemRow, phase: str) -> Iterator[MeasuredRun]:
        if row.metric not in METRICS or row.trust is Trust.LOW or not row.model:
            return
        try:
            problem = replace(from_graph(self.graph, Problem, row.id), current=None)
            sizes = self.sizes_of(row.model)
            layers = int(model_of(row.model, str(sizes.get("architecture", "")), plain_facts(sizes)).layers)
        except (MissingFactError, UnknownEntityError):
            return
        together: dict[tuple[int, str], list[tuple[Trial, dict[str, object]]]] = defaultdict(list)
        for trial in self.trials.rows(row.id, MOST):
            if _is_timed(trial, row.metric):
                told = translate(trial.configuration, phase, layers=layers or None).settings
                count = _count(problem, trial.configuration, told)
                together[count, _engine(problem, trial)].append((trial, dict(told)))
        for (count, engine), cases in together.items():
            of_count = replace(problem, hardware=replace(problem.hardware, count=count))
            try:
                base = Question.of(of_count, sizes, self.tree, phase=phase)
            except (InputError, MissingFactError):
                continue
            question = replace(base, engine=engine, version="")
            divided = [
                (trial, _divided(question, problem, trial.configuration, told)) for trial, told in cases
            ]
            kept = [(trial, settings) for trial, settings in divided if settings is not None]
            for run in _priced(question, problem.id, kept):
                yield replace(run, source=self._source(run.trial.source_id))

    def _source(self, source_id: str) -> str:
        """The address of a source, else its title."""
        try:
            source = from_graph(self.graph, Source, source_id)
        except UnknownEntityError:
            return source_id
        return source.url or source.title


def _is_timed(trial: Trial, metric: str) -> bool:
    """Whether a case was measured, in a metric and a unit that a price has."""
    measured = trial.measurement
    return (
        trial.kind in _TRUSTED
        and measured.status is Status.OK
        and bool(measured.value)
        and measured.metric == metric
        and measured.unit in METRICS[metric]
    )


def _priced(
    question: Question, group: str, cases: Sequence[tuple[Trial, dict[str, object]]]
) -> Iterator[MeasuredRun]:
    """The cases of one engine on one number of devices that can be priced."""
    kept = list(cases)
    while kept:
        try:
            kept = _that_fit(question, kept)
            steps = estimate_question(question, [settings for _, settings in kept]) if kept else None
        except LayoutError as fault:
            kept = [one for one, holds in zip(kept, fault.holds, strict=True) if holds]
            continue
        except (InputError, MissingFactError):
            for one in kept if len(kept) > 1 else ():  # the others may have a price
                yield from _priced(question, group, [one])
            return
        if steps is not None:
            yield from _beside(question, group, kept, steps)
        return


def _beside(
    question: Question, group: str, cases: Sequence[tuple[Trial, dict[str, object]]], steps: Steps
) -> Iterator[MeasuredRun]:
    """Cases beside their prices."""
    for at, (trial, settings) in enumerate(cases):
        measured = trial.measurement
        modelled = modelled_value(steps, measured.metric, at)
        unit, is_time = measured.unit or "", METRICS[measured.metric] is TIMES
        value = (measured.value or 0.0) * (TIMES[unit] if is_time else 1.0)
        if not is_time and RATES[unit]:
            value *= question.machine.count
        if modelled > 0 and math.isfinite(modelled):
            yield MeasuredRun(
                place=StepPlace.of(question, settings),
                group=group,
                log_ratio=math.log(value / modelled) * (1 if is_time else -1),
                modelled=modelled,
                settings=settings,
                count=question.machine.count,
                trial=trial,
                source=trial.source_id,
            )


def _as_counted(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs of a problem with its rates as those of answers.

    Some count prompts too and seldom say so: that reading is taken whose price is nearer.
    """
    if not runs or runs[0].trial.measurement.metric != "throughput":
        return list(runs)
    lengths = [runs[0].settings.get(name) for name in ("input_len", "output_len")]
    if not all(isinstance(item, int | float) and item > 0 for item in lengths):
        return list(runs)
    before, answered = (float(str(item)) for item in lengths)
    both = math.log((before + answered) / answered)
    off = float(np.median([run.log_ratio for run in runs]))
    if abs(off + both) >= abs(off):
        return list(runs)
    return [replace(run, log_ratio=run.log_ratio + both) for run in runs]


def _fastest(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """One run for each place: the fastest configuration, each by the median of its repetitions."""
    repeated: dict[tuple[StepPlace, str], list[MeasuredRun]] = defaultdict(list)
    for run in runs:
        if abs(run.log_ratio) < UNLIKE:
            repeated[run.place, run.trial.configuration.digest].append(run)
    best: dict[StepPlace, MeasuredRun] = {}
    for (place, _), same in repeated.items():
        median = sorted(same, key=lambda run: run.log_ratio)[len(same) // 2]
        if place not in best or median.log_ratio < best[place].log_ratio:
            best[place] = median
    return list(best.values())


def _that_fit(
    question: Question, cases: Sequence[tuple[Trial, dict[str, object]]]
) -> list[tuple[Trial, dict[str, object]]]:
    """The cases whose sequences the memory holds; in others an unknown number waits."""
    if question.phase == "training":
        return list(cases)
    held = memory_bytes(
        question.model, question.phase, [settings for _, settings in cases], question.machine.count
    )
    needed = np.asarray(sum(held.values()))
    holds = ~(needed > question.machine.device.memory_capacity * USABLE_MEMORY)
    return [case for case, fits in zip(cases, holds.tolist(), strict=True) if fits]


def _divided(
    question: Question, problem: Problem, configuration: Configuration, told: Mapping[str, object]
) -> dict[str, object] | None:
    """Settings of a case by the names of the cost model; None if its layout or its load is not stated.

    Instances that prefill and decode apart are none.
    """
    count = question.machine.count
    if str(configuration.get(_DRAFTS, "none")) != "none":
        return None
    if configuration.get("disaggregated") or (count > 1 and not _SIZES & set(told)):
        return None
    settings = {**question.settings, **told}
    inside = math.prod(
        size
        for name in ("tensor_parallel", "pipeline_parallel", "context_parallel")
        if isinstance(size := settings.get(name), int)
    )
    if question.phase != "training" and configuration.get("dp_attention"):
        settings |= {"data_parallel": inside, "tensor_parallel": 1}
    elif "data_parallel" not in settings and not count % inside:
        settings["data_parallel"] = count // inside
    if not question.model.experts:
        settings.pop("expert_parallel", None)
    if question.phase != "training":
        at_once = _at_once(problem, configuration, settings)
        if at_once is None:
            return None
        settings["batch"] = at_once
    return settings


def _at_once(problem: Problem, configuration: Configuration, settings: Mapping[str, object]) -> float | None:
    """Sequences that an engine is sent at once; None where nothing says."""
    for value in (*(configuration.get(name) for name in _LOADS), problem.workload.shape.get("concurrency")):
        if isinstance(value, int | float) and value >= 1:
            return max(1.0, value // float(str(settings.get("data_parallel", 1))))
    batch = settings.get("batch")
    return float(batch) if isinstance(batch, int | float) else None


def _count(problem: Problem, configuration: Configuration, told: Mapping[str, object]) -> int:
    for name in _COUNTS:
        value = configuration.get(name)
        if isinstance(value, int) and value >= 1:
            return value
    if problem.hardware.count:
        return problem.hardware.count
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel")
    return max(1, math.prod(size for name in names if isinstance(size := told.get(name), int)))


def _engine(problem: Problem, trial: Trial) -> str:
    """The engine of a case, as its problem, its software or its configuration names it."""
    named = str(trial.configuration.get("framework", ""))
    return engine_of(problem.software)[0] or engine_of(trial.software)[0] or framework_id(named)


def framework_id(name: str) -> str:
    """The id of the framework of a published name: ``"dynamo-trt"`` is TensorRT-LLM behind a router."""
    last = name.strip().lower().removeprefix("dynamo-").removeprefix("mori-")
    return FRAMEWORKS.get(last, last)
