"""Tunes: what is tried by what is known, the run, and what the graph learns of it."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InputError, TuningError, WorkspaceError
from kg.nouns.entities import Baseline, Case, Kind, Measurement, Objective, Problem, Source, Status
from recommender.answers.answer import Answer
from recommender.experiment.journal import Logged, claim_name, path_of
from recommender.experiment.metadata import ExperimentSubject
from recommender.measuring.outcome import CancelledError
from recommender.ranking.change import Change
from recommender.ranking.plan.planner import TESTS
from recommender.report.document import ReportDocument
from recommender.tune.candidates import (
    TuneChange,
    configuration_of,
    named_changes,
    plan_changes,
    script_changes,
)
from recommender.tune.launch_script import LaunchScript
from recommender.tune.load import LoadKind
from recommender.tune.request import TuneRequest, mark_of
from recommender.tune.starts.machines import GoneEvaluator, RemoteEvaluator, TuneMachine, machine_name
from recommender.tune.tune_journal import TuneJournal, folder_of, read_events
from recommender.tune.tune_result import TuneOutcome
from recommender.tune.tuner import TuneLoop, TuneWatch
from recommender.workspace.desk import Desk
from recommender.workspace.launches import LaunchDesk
from recommender.workspace.questions import QuestionDesk

__all__ = ["CancelledError", "PreparedTune", "TuneDesk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTune:
    """A tune that can run.

    Attributes:
        request: What is asked.
        script: The user's.
        candidates: What is tried, in this order.
        problem: What it is measured on; None where that cannot be told.
        notes: Why there is no plan, and what else is to be known.
    """

    request: TuneRequest
    script: LaunchScript
    candidates: tuple[TuneChange, ...]
    problem: Problem | None
    notes: tuple[str, ...] = field(default=())


class TuneDesk(Desk):
    """Tunes of a workspace."""

    __slots__ = ()

    @property
    def folder(self) -> Path:
        """The folder of all tunes."""
        return self.workspace.layout.tunes

    def find_request(self, name: str = "") -> tuple[str, TuneRequest]:
        """A tune that was begun, the newest without a name.

        Raises:
            UnknownEntityError: There is none.
            WorkspaceError: Its journal is damaged.
        """
        folder = folder_of(self.folder, name)
        return folder.name, TuneRequest.from_json(read_events(folder)[0]["about"])

    def prepare(self, request: TuneRequest) -> PreparedTune:
        """Read the script and say what is tried on it.

        Raises:
            InputError: The script, its load or a change cannot be read, or there is nothing to try.
        """
        script = request.read_script()
        load = request.load_of()
        request.load_client(script)
        problem, answer, notes = self._plan(request, script)
        planned = [] if answer is None else list(plan_changes(answer, script))
        own = list(script_changes(script, load.value if load.kind is LoadKind.CONCURRENCY else math.inf))
        counted = request.line or script.program or script.is_server
        if batch := next((text for text in request.changes if "batch" in text and not counted), ""):
            raise InputError(
                f"--change {batch!r}: a step of another batch is not the same work",
                hint=r"--line 'samples/s: (\S+)' --better higher tells what counts",
            )
        named = list(named_changes(request.changes, script, planned)) if request.changes else []
        found: dict[str, TuneChange] = {}
        left: list[str] = []
        for item in named or [*planned, *own]:
            _, unwritten = script.with_edits(item.edits)
            if item.provided and not named:
                unwritten = (f"it holds if {item.provided}; --change with its name tries it",)
            left += [f"left out: {item.name}: {reason}" for reason in unwritten]
            if not unwritten:
                found.setdefault(item.digest, item)
        if not found:
            reasons = f": {'; '.join(left)}" if left else ""
            hint = "--max-num-seqs=64,128" if script.is_server else "--num-workers=2,4"
            raise InputError(f"there is nothing to try on {script.path}{reasons}", hint=f"--change '{hint}'")
        return PreparedTune(
            request=request,
            script=script,
            candidates=tuple(found.values()),
            problem=problem,
            notes=(*notes, *left),
        )

    def _plan(
        self, request: TuneRequest, script: LaunchScript
    ) -> tuple[Problem | None, Answer | None, tuple[str, ...]]:
        """The problem of a script and the plan for it; without one, why."""
        if not script.program:
            return None, None, ()
        problem: Problem | None = None
        try:
            problem, notes = QuestionDesk(self.workspace).problem(request.question)
            answer = LaunchDesk(self.workspace).recommend(problem, script.settings, TESTS + 1, notes=notes)
            if answer.abstention is None:
                return problem, answer, ()
            reason = answer.abstention.reason
        except TuningError as fault:
            reason = str(fault)
        return problem, None, (f"no plan, the script's own settings are tried: {reason}",)

    def run(
        self, prepared: PreparedTune, cancel: Event, watch: TuneWatch, name: str = ""
    ) -> tuple[str, TuneOutcome]:
        """Run a tune, or go on with one; its name and how it ended.

        Args:
            prepared: The tune.
            cancel: Ends it when set; it can go on.
            watch: Is told how it goes.
            name: Of one that was begun; empty for a new one.

        Raises:
            CancelledError: ``cancel`` was set.
            TuningError: As :meth:`TuneLoop.run`.
        """
        request, script = prepared.request, prepared.script
        name = name or claim_name(self.workspace.layout.experiments, "tune")
        folder = self.folder / name
        with TuneJournal(folder, request.about()) as journal, ExitStack() as ends:
            script.end_all(mark_of(folder))  # of a session that was killed
            noted = journal.last("planned")
            if noted is None:
                journal.note("planned", candidates=[item.to_json() for item in prepared.candidates])
                candidates: Sequence[TuneChange] = prepared.candidates
            else:
                candidates = [TuneChange.from_json(item) for item in noted["candidates"]]
            others = request.machines
            machines = [_machine(text, prepared, journal, ends, is_new=noted is None) for text in others]
            tuner = TuneLoop(
                evaluator=request.evaluator(script, journal),
                candidates=candidates,
                budget=request.budget,
                journal=journal,
                experiment=path_of(self.workspace.layout.experiments, name),
                settings_of=lambda edits: configuration_of(edits, script),
                subject=lambda changes: None if prepared.problem is None else _subject(request, changes),
                alpha=request.alpha,
                margin=request.margin,
                seed=request.seed,
                watch=watch,
                machines=machines,
            )
            try:
                return name, tuner.run(cancel)
            except WorkspaceError as fault:
                logs = sorted((folder / "runs").glob("*/*.log"))
                if tuner.steps or not logs or fault.hint:
                    raise
                raise WorkspaceError(str(fault), hint=self._cure(logs[-1])) from None

    def _cure(self, log: Path) -> str:
        """A known fault in the log of a start that died, and the command that shows its cure."""
        from recommender.answers.log_answer import answer_log

        try:
            faults = answer_log(self.graph, log).reading.faults
        except TuningError:
            faults = ()
        known = f"{faults[0].fault.label}: " if faults else ""
        return f"{known}tunegraph diagnose {log}"

    def tell(self, prepared: PreparedTune, name: str, outcome: TuneOutcome) -> int:
        """Teach the graph what was measured; the rows that are new.

        Raises:
            WorkspaceError: Another process is writing.
        """
        if prepared.problem is None:
            return 0
        cases = _cases(prepared, prepared.problem, name, outcome)
        with self.workspace.edit(command="tune") as editor:
            rows = editor.add_cases(cases).rows if cases else 0
        self.workspace.refresh()
        return rows


def _machine(
    text: str, prepared: PreparedTune, journal: TuneJournal, ends: ExitStack, *, is_new: bool
) -> TuneMachine:
    """A machine that measures too until the tune ends; of one that is gone by now, what it measured counts.

    Raises:
        InputError: It is not there, and never was.
    """
    request, script, name = prepared.request, prepared.script, machine_name(text)
    objective = request.objective(script)
    try:
        evaluator = RemoteEvaluator.begin(text, request.to_json(), objective, script, journal)
    except InputError:
        if is_new:
            raise
        return TuneMachine(name=name, evaluator=GoneEvaluator(objective))
    ends.callback(evaluator.close)
    return TuneMachine(name=name, evaluator=evaluator)


def page_of(
    prepared: PreparedTune, name: str, outcome: TuneOutcome, lines: Sequence[str], test: Logged | None
) -> ReportDocument:
    """The page of a tune: what each start of its search gave, what each change is worth, its confirmation."""
    from recommender.answers.report_parts import document_of, part_of
    from recommender.report.document import ReportPart, finite
    from recommender.search.evaluations import Evaluation
    from recommender.search.report.history import History
    from recommender.search.report.search_report import CourseReport
    from recommender.workspace.pages import PROGRAM

    script, told = prepared.script, prepared.request.objective(prepared.script)
    before = configuration_of(ScriptEdits(), script)
    evaluations: list[Evaluation] = []
    gains: list[dict[str, object]] = []
    for step, tried in outcome.tried():
        result, settings = step.result, configuration_of(tried, script)
        evaluations.append(
            Evaluation(
                configuration=settings,
                values=(result.value if result.is_ok else None,),
                status=Status.OK if result.is_ok else Status.FAILED,
                reason=result.reason,
                cost_s=result.cost_s,
            )
        )
        if step.is_accepted and step.change is not None:
            keys = [key for key in {**before, **settings} if before.get(key) != settings.get(key)]
            both = {"before": [before.get(key) for key in keys], "after": [settings.get(key) for key in keys]}
            worth = {"factor": step.gain, "log_gain": math.log(step.gain or 1.0), "evaluated": True}
            gains.append({"parameters": keys, **both, **worth})
            before = settings
    objective = Objective(metric=told.metric, better=told.better, unit=told.unit)
    course = CourseReport(History(objective=objective, evaluations=tuple(evaluations))).page_content()
    content = finite({**course, "contributions": gains, "notes": list(lines)})
    parts = [ReportPart(kind="search", source=name, content=content)]
    parts += [] if test is None else [part_of(test, name)]
    title = f"tune of {script.path.name}"
    return document_of(parts, program=PROGRAM, now=datetime.now(UTC), title=title, lists_missing=False)


def _subject(request: TuneRequest, changes: tuple[TuneChange, ...]) -> ExperimentSubject:
    """The subject of a winner's test: its problem and its change."""
    only = changes[0] if len(changes) == 1 else None
    single = Change() if only is None else Change(id=only.recommendation, strategy=only.strategy)
    return ExperimentSubject(question=dict(request.question), single=single)


def _cases(prepared: PreparedTune, problem: Problem, name: str, outcome: TuneOutcome) -> list[Case]:
    script = prepared.script
    objective = prepared.request.objective(script)
    asked = replace(
        problem,
        objective=Objective(metric=objective.metric, better=objective.better, unit=objective.unit),
    )
    first = outcome.steps[0].result
    cases: list[Case] = []
    for step, tried in outcome.tried():
        result = step.result
        if result.is_dropped or (result.is_ok and step.change is None):
            continue
        baseline: Baseline | None = None
        measurement = Measurement(metric=objective.metric, status=Status.FAILED, reason=result.reason[:300])
        if result.is_ok:
            measurement = Measurement(metric=objective.metric, unit=objective.unit, value=result.value)
            if first.value is not None:
                baseline = Baseline(value=first.value, configuration=configuration_of(ScriptEdits(), script))
        cases.append(
            Case(
                problem=asked,
                configuration=configuration_of(tried, script),
                measurement=measurement,
                kind=Kind.MEASURED,
                source=Source(title=f"tune {name}"),
                baseline=baseline,
                strategy="" if step.change is None else step.change.strategy,
            )
        )
    return cases
