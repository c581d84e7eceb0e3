"""The reader of measured runs: whole-model cases of a workspace, each beside its price."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeAlias

import numpy as np

from kg.errors import InputError, MissingFactError, UnknownEntityError
from kg.nouns.entities import Configuration, Kind, Problem, Source, Status, Trust
from kg.nouns.values import Value
from kg.rows.trial_rows import ProblemRow, Trial
from kg.rows.trials import TrialStore
from kg.terms.circumstances import sizes_of_shape
from kg.triples.finders import ModelFinder
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import facts_of, plain_facts
from kg.triples.serialisation import from_graph
from recommender.applicability.framework import ON_ASCEND
from recommender.cost_model.anchors import OWN_SITE, MeasuredStep, StepKey, shipped_anchors
from recommender.cost_model.estimate import class_spread, estimate_question, step_key
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.measured.step_place import StepPlace
from recommender.cost_model.question import Question, engine_of
from recommender.cost_model.settings.dialects import translate
from recommender.cost_model.settings.plans import PHASES, LayoutError
from recommender.cost_model.step_runs import METRICS, RATES, TIMES, modelled_value
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes
from recommender.cost_model.workloads.steps import Steps
from recommender.ranking.measured.measured_run import MeasuredRun, as_counted, fastest

TimedCase: TypeAlias = tuple[str, Trial, dict[str, object]]
"""Id of the problem, the case, and its settings by the names of the cost model."""

MOST = 256
"""Rows of a problem that are read, best first."""
_COUNTS = ("num_gpus", "num_devices", "devices", "world_size")
_DRAFTS = "spec_decoding"
"""A published switch that does not say how many tokens are drafted."""
_SIZES = frozenset({"tensor_parallel", "pipeline_parallel", "data_parallel"})
_LOADS = ("concurrency", "max_concurrency")
FRAMEWORKS = {"trt": "tensorrt-llm", "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm"}
"""Ids of frameworks by published names."""
MOST_OWN = 32
"""Own steps of a system; a choice: three move it nearly all the way, and thousands take seconds to weigh."""
_TRUSTED = frozenset({Kind.MEASURED, Kind.PUBLISHED})


class RunReader:
    """Reads measured runs of a workspace; what was read once is kept.

    Args:
        trials: Has the cases.
        graph: Has their problems.
        tree: Knows hardware.
    """

    def __init__(self, trials: TrialStore, graph: GraphStore, tree: HardwareTree) -> None:
        self._trials = trials
        self._graph = graph
        self._tree = tree
        self._models = ModelFinder(graph)
        self._read: dict[tuple[str, str], list[MeasuredRun]] = {}
        self._problems: dict[str, Problem | None] = {}
        self._sources: dict[str, str] = {}
        self._layers_of: dict[str, int | None] = {}

    def runs(self, rows: Iterable[ProblemRow], phase: str) -> list[MeasuredRun]:
        """The runs of some problems that can be priced; of each layout and load the fastest.

        Args:
            rows: The problems.
            phase: ``"training"`` or ``"serving"``.
        """
        wanted = list(rows)
        self._read_all([row for row in wanted if (row.id, phase) not in self._read], phase)
        return [run for row in wanted for run in self._read[row.id, phase]]

    def own_steps(self, rows: Iterable[ProblemRow]) -> list[MeasuredStep]:
        """Runs of sources without an address beside their physics; the metrics of one run are one step."""
        together: dict[tuple[StepKey, StepPlace, str, str, float], list[float]] = defaultdict(list)
        for row in rows:
            problem = self.problem(row)
            is_own = any("://" not in self.source(trial.source_id) for trial in self.trials(row))
            phase = problem.workload.kind.value if problem is not None and is_own else ""
            for run in self.runs([row], phase) if phase in PHASES else ():
                question = problem and self._question(problem, run.count, phase)
                if not question or "://" in run.source:
                    continue
                key = step_key(question.model, question.machine, phase, engine=run.place.engine)
                anchor = shipped_anchors().correction(key)
                usual = 0.0 if anchor else class_spread(question.model, question.machine, phase, key.engine)
                place = (key, run.place, run.trial.configuration.digest, run.source, usual)
                together[place].append(run.log_ratio + (anchor.log_factor if anchor else 0.0))
        systems: dict[StepKey, list[MeasuredStep]] = defaultdict(list)
        for (key, _, _, source, usual), ratios in together.items():
            own = replace(key, site=OWN_SITE)
            step = MeasuredStep(key=own, log_ratio=fmean(ratios), source=source, spread=usual)
            systems[own].append(step)
        return [step for steps in systems.values() for step in thinned(steps)]

    def trials(self, row: ProblemRow) -> list[Trial]:
        """The cases of a problem, best first."""
        return self._trials.rows(row.id, MOST)

    def engine(self, problem: Problem, trial: Trial) -> str:
        """The engine of a case, as its problem, its software or its configuration names it."""
        named = framework_id(str(trial.configuration.get("framework", "")))
        engine = engine_of(problem.software)[0] or engine_of(trial.software)[0] or named
        is_ascend = "huawei" in self._tree.path(problem.hardware.name)
        return ON_ASCEND.get(engine, engine) if is_ascend else engine

    def problem(self, row: ProblemRow) -> Problem | None:
        """The problem of a row; None where the graph has none."""
        if row.id not in self._problems:
            try:
                self._problems[row.id] = replace(from_graph(self._graph, Problem, row.id), current=None)
            except UnknownEntityError:
                self._problems[row.id] = None
        return self._problems[row.id]

    def _read_all(self, rows: Sequence[ProblemRow], phase: str) -> None:
        """Price the cases of some problems, those of one model, machine and engine at once."""
        together: dict[tuple[str, str, int, str], list[TimedCase]] = defaultdict(list)
        questions: dict[tuple[str, str, int, str], Question] = {}
        for row in rows:
            for question, case in self._cases(row, phase):
                key = (question.model.id, row.hardware, question.machine.count, question.engine)
                questions.setdefault(key, replace(question, settings={}))
                together[key].append(case)
        found: dict[str, list[MeasuredRun]] = defaultdict(list)
        for key, cases in together.items():
            for run in _priced(questions[key], cases):
                found[run.group].append(run)
        for row in rows:
            kept = fastest(as_counted(found[row.id]))
            self._read[row.id, phase] = [
                replace(run, source=self.source(run.trial.source_id)) for run in kept
            ]

    def _cases(self, row: ProblemRow, phase: str) -> Iterator[tuple[Question, TimedCase]]:
        """The cases of a problem whose layout and load are stated, each with the question that prices it."""
        if row.metric not in METRICS or row.trust is Trust.LOW or not row.model:
            return
        problem, layers = self.problem(row), self._layers(row.model)
        if problem is None or layers is None or problem.workload.kind.value != phase:
            return
        questions: dict[int, Question | None] = {}
        for trial in self.trials(row):
            if not _is_timed(trial, row.metric):
                continue
            told = translate(trial.configuration, phase, layers=layers or None).settings
            count = devices_of(problem, trial.configuration, told)
            if count not in questions:
                questions[count] = self._question(problem, count, phase)
            if (question := questions[count]) is None:
                continue
            settings = _divided(question, problem, trial.configuration, dict(told))
            if settings is not None:
                engine = replace(question, engine=self.engine(problem, trial), version="")
                yield engine, (problem.id, trial, settings)

    def _layers(self, name: str) -> int | None:
        """The blocks of a model; None where it has no price."""
        if name not in self._layers_of:
            sizes = self._sizes(name)
            try:
                architecture = str(sizes.get("architecture", ""))
                self._layers_of[name] = int(model_of(name, architecture, plain_facts(sizes)).layers)
            except MissingFactError:
                self._layers_of[name] = None
        return self._layers_of[name]

    def _sizes(self, name: str) -> Mapping[str, Value]:
        model = self._models.find(name)
        return {} if model is None else facts_of(model)

    def _question(self, problem: Problem, count: int, phase: str) -> Question | None:
        of_count = replace(problem, hardware=replace(problem.hardware, count=count))
        try:
            sizes = self._sizes(problem.workload.model or "")
            return Question.of(of_count, sizes, self._tree, phase=phase)
        except (InputError, MissingFactError):
            return None

    def source(self, source_id: str) -> str:
        """The address of a source, else its title."""
        if source_id not in self._sources:
            try:
                source = from_graph(self._graph, Source, source_id)
                self._sources[source_id] = source.url or source.title
            except UnknownEntityError:
                self._sources[source_id] = source_id
        return self._sources[source_id]


def _is_timed(trial: Trial, metric: str) -> bool:
    """True if a case was measured, in a metric and a unit that a price has."""
    measured = trial.measurement
    return (
        trial.kind in _TRUSTED
        and measured.status is Status.OK
        and bool(measured.value)
        and measured.metric == metric
        and measured.unit in METRICS[metric]
    )


def _priced(question: Question, cases: Sequence[TimedCase]) -> Iterator[MeasuredRun]:
    """The cases of one engine on one number of devices that can be priced."""
    kept = list(cases)
    while kept:
        try:
            kept = _that_fit(question, kept)
            steps = estimate_question(question, [settings for *_, settings in kept]) if kept else None
        except LayoutError as fault:
            kept = [one for one, holds in zip(kept, fault.holds, strict=True) if holds]
            continue
        except (InputError, MissingFactError):
            for one in kept if len(kept) > 1 else ():  # the others may have a price
                yield from _priced(question, [one])
            return
        if steps is not None:
            yield from _beside(question, kept, steps)
        return


def _beside(question: Question, cases: Sequence[TimedCase], steps: Steps) -> Iterator[MeasuredRun]:
    """Cases beside their prices."""
    for at, (group, trial, settings) in enumerate(cases):
        measured = trial.measurement
        modelled = modelled_value(steps, measured.metric, at)
        unit, is_time = measured.unit or "", METRICS[measured.metric] is TIMES
        value = (measured.value or 0.0) * (TIMES[unit] if is_time else 1.0)
        if not is_time and RATES[unit]:
            value *= question.machine.count
        if modelled > 0 and math.isfinite(modelled):
            yield MeasuredRun(
                place=question.place(settings),
                group=group,
                log_ratio=math.log(value / modelled) * (1 if is_time else -1),
                modelled=modelled,
                settings=settings,
                count=question.machine.count,
                trial=trial,
                usual=steps.spread,
            )


def _that_fit(question: Question, cases: Sequence[TimedCase]) -> list[TimedCase]:
    """The cases whose sequences the memory holds; in others an unknown number waits."""
    if question.phase == "training":
        return list(cases)
    configurations = [settings for *_, settings in cases]
    device, count = question.machine.device, question.machine.count
    held = memory_bytes(question.model, question.phase, configurations, count, reserved=device.reserved_bytes)
    needed = np.asarray(sum(held.values()))
    holds = ~(needed > device.memory_capacity * USABLE_MEMORY)
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
    if "data_parallel" not in settings and not count % inside:
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
    """Sequences that an engine runs at once: what it is sent, up to its batch; None where nothing says."""
    batch, asked = settings.get("batch"), sizes_of_shape(problem.workload.shape).get("concurrency")
    most = float(batch) if isinstance(batch, int | float) else math.inf
    for value in (*(configuration.get(name) for name in _LOADS), asked):
        if isinstance(value, int | float) and value >= 1:
            return min(most, max(1.0, value // float(str(settings.get("data_parallel", 1)))))
    return most if math.isfinite(most) else None


def thinned(steps: Sequence[MeasuredStep]) -> list[MeasuredStep]:
    """Steps of one system; of very many some, which lie as all of them do."""
    ordered, each = sorted(steps, key=lambda step: step.log_ratio), -(-len(steps) // MOST_OWN)
    return ordered[(each - 1) // 2 :: each]


def devices_of(problem: Problem, configuration: Configuration, told: Mapping[str, object]) -> int:
    """The devices of a case: as it states them, else those that its layout takes up."""
    for name in _COUNTS:
        value = configuration.get(name)
        if isinstance(value, int) and value >= 1:
            return value
    if problem.hardware.count:
        return problem.hardware.count
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel")
    return max(1, math.prod(size for name in names if isinstance(size := told.get(name), int)))


def framework_id(name: str) -> str:
    """The id of the framework of a published name: ``"dynamo-trt"`` is TensorRT-LLM behind a router."""
    last = name.strip().lower().removeprefix("dynamo-").removeprefix("mori-")
    return FRAMEWORKS.get(last, last)
