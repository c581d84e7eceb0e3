"""The preparation of a search: a search file and the knowledge of a workspace give a search ready to begin.

The names in the file are looked up (problem, facts for the cost model), and the tables of similar problems
become the sources of the search. The log keeps all of it, so that the search needs no workspace to go on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Required, TypedDict, Unpack

import numpy as np

from ingest.door.writing import to_record
from ingest.questions.aims import KnownOperator
from ingest.questions.problems import Resolver, problem_from
from kg.errors import InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.entities import Case, Measurement, Problem, Source, Status, WorkloadKind
from kg.nouns.knowledge import Model
from kg.nouns.values import Settings
from kg.rows.trials import TrialStore
from kg.terms.metrics import TIMES_OF_A_KERNEL
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import facts_of
from kg.triples.names import Names, ResolvedModel, ResolvedName
from kg.triples.serialisation import from_graph
from recommender.cost_model.measured.step_place import PricedRun
from recommender.cost_model.question import Question, QuestionFacts
from recommender.measuring.environment import THIS_MACHINE, capture, this_machine
from recommender.measuring.masking import masked_environment, masked_words
from recommender.retrieval.neighbours import Neighbour, Retriever
from recommender.search.evaluations import SourceTable
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.objectives.modelled import question_of_section
from recommender.search.run.assembly import SearchPlace, evaluator_of
from recommender.search.run.compatibility import program_stamp
from recommender.search.run.estimate import with_estimate
from recommender.search.run.number_sources import ModelRequest, fit_notes, model_request
from recommender.search.run.source_tables import thinned
from recommender.search.run.task import Task
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task
from recommender.space.space import SearchSpace

FOLD = 4.0
"""Distance in the learned feature space over which a source is trusted e times less before anything is
measured; a choice, which the search corrects from its own results. Sizes of one kernel are 1 to 2 apart."""
LEAST_ROWS = 3


class SearchOptions(TypedDict, total=False):
    """Options with which a search begins, of ``Workspace.search`` and ``Workspace.prepare_search``.

    Attributes:
        base: Environment of its commands.
        seed: Of its randomness; 0 if not given.
        cold: Start from nothing, rather than from the tables of similar problems.
        allow_unmeasured_accuracy: Also propose settings whose loss of accuracy is unknown.
    """

    base: Required[Mapping[str, str]]
    seed: int
    cold: bool
    allow_unmeasured_accuracy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A search that is ready to begin.

    Attributes:
        task: What is searched.
        metadata: What its log keeps of it.
        record: The part that the records of all its cases share.
        sources: Tables of similar problems that it starts from, nearest first.
    """

    task: Task
    metadata: SearchMetadata
    record: Mapping[str, object]
    sources: Sequence[SourceTable]

    def begin(self, storage: str) -> SearchLog:
        """Begin its log, which keeps no secrets: workers take those from their own environment.

        Raises:
            InputError: There is such a search already.
        """
        return SearchLog.create(
            storage,
            name=self.task.name,
            objectives=self.task.objectives,
            metadata=replace(self.metadata, file=_without_secrets(self.metadata.file)),
            record=self.record,
            sources=self.sources,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuner:
    """Prepares searches with the knowledge of a workspace.

    Attributes:
        graph: Holds the models.
        names: Resolves names.
        hardware: Holds the devices and their facts.
        trials: Holds the measured tables.
        retriever: Finds similar problems; called when first needed.
        operator: Looks an operator up among the cases.
        about: Gives a question for the cost model what measured runs near by make of its prices.
    """

    graph: GraphStore
    names: Names
    hardware: HardwareTree
    trials: TrialStore
    retriever: Callable[[], Retriever]
    operator: Callable[[str], KnownOperator]
    about: Callable[[Question], Question]

    def prepare(self, file: TaskFile, **options: Unpack[SearchOptions]) -> Prepared:
        """Look up what a search file names, and the tables of similar problems.

        Args:
            file: As it was read.
            options: See ``SearchOptions``.

        Raises:
            InputError: The file is wrong.
            InfeasibleError: Nothing satisfies the constraints.
            MissingFactError: The cost model lacks a fact.
        """
        notes: list[str] = []
        if (request := model_request(file)) is not None:
            section, notes = look_up_facts(request, self.graph, self.names, self.hardware)
            file = file.having(**{request.key: with_measured_runs(section, self.about)})
        allow = options.get("allow_unmeasured_accuracy", False)
        task = read_task(file, allow_unmeasured_accuracy=allow)
        notes += fit_notes(task)
        _refuse_secrets(file.raw.get("command"))
        evaluator_of(task, SearchPlace(folder=file.folder, base=options["base"]))
        environment = capture(task.versions)
        problem = self._problem(task, environment, notes)
        cold = options.get("cold", False)
        sources = [] if cold or problem is None else self.sources(problem, task.space)
        if task.estimate is not None and not cold:
            sources = with_estimate(sources, task.estimate.source(task.space, _drawing(options)))
        elif problem is not None and not cold and not sources:
            notes.append(f"nothing similar to {problem.workload.operator} is known: the search starts cold")
        return Prepared(
            task=task,
            metadata=SearchMetadata(
                file=file.raw,
                digest=task.digest,
                seed=options.get("seed", 0),
                folder=str(file.folder),
                program=program_stamp(task.number_source, file.folder),
                environment=environment,
                allow_unmeasured_accuracy=allow,
                notes=tuple(dict.fromkeys(notes)),
            ),
            record=case_record(task, problem, environment),
            sources=sources,
        )

    def sources(self, problem: Problem, space: SearchSpace) -> list[SourceTable]:
        """The tables of similar problems whose configurations have parameters of a space, nearest first."""
        metric = problem.objective.metric
        called = TIMES_OF_A_KERNEL if metric in TIMES_OF_A_KERNEL else frozenset({metric})
        found: list[SourceTable] = []
        for one in sorted(called, key=lambda name: name != metric):
            asked = replace(problem, objective=replace(problem.objective, metric=one))
            try:
                neighbours = self.retriever().find(asked)
            except NoEvidenceError:
                continue
            found += filter(None, (self._source(item, space) for item in neighbours))
        return by_similarity(found)

    def _source(self, neighbour: Neighbour, space: SearchSpace) -> SourceTable | None:
        row = neighbour.problem
        table = self.trials.table(row.key)
        timed = np.flatnonzero(~np.isnan(table.costs))
        if np.isfinite(table.costs[timed]).sum() < LEAST_ROWS:
            return None
        kept = thinned(timed)
        keys = table.configuration_ids[kept].tolist()
        by_key = self.trials.configurations(keys)
        configurations = [by_key[key] for key in keys]
        if not any(len({item.get(name) for item in configurations}) > 1 for name in space.names):
            return None
        where = f"{row.count} x {row.hardware}" if row.count else row.hardware
        return SourceTable(
            name=f"{row.operator} on {where}",
            similarity=float(np.exp(-neighbour.apart / FOLD)),
            configurations=configurations,
            costs=table.costs[kept],
            problem_id=row.id,
        )

    def _problem(self, task: Task, environment: Mapping[str, object], notes: list[str]) -> Problem | None:
        """The problem that the file states, on what it runs on; None where it states none."""
        if task.problem is None:
            return None
        objective, is_kernel = task.objectives[0], task.problem.get("phase") == "kernel"

        def operator(name: str) -> KnownOperator:
            try:
                return self.operator(name)
            except UnknownEntityError:
                notes.append(f"no case of an operator named {name!r} is known yet")
                kind = WorkloadKind.KERNEL if is_kernel else WorkloadKind.OPERATOR
                return KnownOperator(name=name, kind=kind, metric=objective.metric, better=objective.better)

        question = {key: item for key, item in task.problem.items() if key not in {"objective", "limits"}}
        question["objective"] = objective.metric
        names: Resolver = self.names
        machine = this_machine(str(task.problem.get("hardware") or THIS_MACHINE), environment)
        if machine is not None:
            question["hardware"], count = machine
            question.setdefault("count", count)
            names = LenientNames(self.names)
        problem, more = problem_from(question, names, operator)
        notes.extend(more)
        return Problem(
            workload=problem.workload,
            hardware=problem.hardware,
            objective=objective,
            software=problem.software,
        )


@dataclass(frozen=True, slots=True)
class LenientNames:
    """Names under which hardware that the tree does not have keeps the name that it reports."""

    names: Names

    def hardware(self, text: str, count: int | None = None) -> ResolvedName:  # noqa: ARG002  of the protocol
        """The node, or a slug with a note."""
        node, is_known = self.names.hardware_or_slug(text)
        return ResolvedName(id=node, note="" if is_known else f"hardware {text!r} is not in the knowledge")

    def model(self, text: str) -> ResolvedModel:
        """Resolve the name of a model."""
        return self.names.model(text)

    def models_of_size(self, sizes: Mapping[str, object]) -> tuple[str, ...]:
        """Models that have these sizes."""
        return self.names.models_of_size(sizes)

    def bottleneck(self, text: str) -> ResolvedName:
        """A bottleneck."""
        return self.names.bottleneck(text)

    def phases_of(self, program: str) -> tuple[str, ...]:
        """Scopes of phases that a program serves."""
        return self.names.phases_of(program)


def _without_secrets(file: Mapping[str, object]) -> dict[str, object]:
    environment = file.get("environment")
    masked = {"environment": masked_environment(environment)} if isinstance(environment, dict) else {}
    return {**file, **masked}


def _refuse_secrets(command: object) -> None:
    """Refuse a command that holds a secret: all workers read it in the log, which has no place to hide it.

    Raises:
        InputError: It does.
    """
    words = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    texts = [str(word) for word in words]
    if masked_words(texts) != texts:
        raise InputError(
            "the command holds a secret, and the log of a search is read by others",
            hint="name it as a variable ($API_KEY) and set that, or give it in the file's environment: block",
        )


def by_similarity(tables: Sequence[SourceTable]) -> list[SourceTable]:
    """Tables, nearest first."""
    return sorted(tables, key=lambda item: -item.similarity)


def _drawing(options: SearchOptions) -> np.random.Generator:
    return np.random.default_rng([options.get("seed", 0), 3])


def case_record(task: Task, problem: Problem | None, environment: Mapping[str, object]) -> dict[str, object]:
    """The part that the records of all cases of a search share: everything but configuration and outcome.

    Args:
        task: What is searched.
        problem: What it is about; None where only the machine is known.
        environment: Of the machine that it runs on.
    """
    units = {item.metric: item.objective for item in task.readings}
    outcomes = [
        {"metric": item.metric, "unit": item.unit or "1", "better": item.better.value}
        for item in task.objectives
    ]
    for limit in task.limits:
        better = units[limit.metric].better.value if limit.metric in units else "lower"
        outcomes.append({"metric": limit.metric, "unit": limit.unit, "better": better})
    if problem is None:
        name, count = this_machine(THIS_MACHINE, environment) or ("", 1)
        record: dict[str, object] = {
            "task": {"kind": "kernel", "op": task.name},
            "hardware": {"name": name, "count": count},
        }
    else:
        case = Case(
            problem=problem,
            configuration=Settings(),
            measurement=Measurement(metric=problem.objective.metric, status=Status.UNKNOWN),
            kind=task.kind,
            source=Source(title="a search"),
        )
        full = to_record(case)
        record = {key: full[key] for key in ("task", "hardware", "problem") if key in full}
    record |= {
        "kind": task.kind.value,
        "outcomes": outcomes,
        "source": {"title": f"tunegraph search {task.name}", "note": _note(environment)},
    }
    if software := environment.get("software"):
        record["software"] = software
    return record


def _note(environment: Mapping[str, object]) -> str:
    parts = (environment.get(key) for key in ("processor", "cores", "system"))
    return "; ".join(str(item) for item in parts if item)


def look_up_facts(
    request: ModelRequest, graph: GraphStore, names: Names, hardware: HardwareTree
) -> tuple[dict[str, object], list[str]]:
    """The section of a search file with the facts of what it names; a fact that is unknown may be assumed.

    Returns:
        The section, and notes on what the names were taken for and what was assumed.

    Raises:
        UnknownEntityError: No such model, device or server.
    """
    model_name, device = names.model(request.model), names.hardware(request.hardware)
    sizes = facts_of(from_graph(graph, Model, model_name.id))
    assumed = {item.name: item.value for item in request.assumptions}
    server = names.server(request.server).id if request.server else ""
    facts = QuestionFacts.look_up(model_name.id, sizes, hardware, device.id, server, assumed=assumed)
    notes = [item.note for item in (model_name, device) if item.note] + list(map(str, request.assumptions))
    return {**request.section, "facts": facts.to_json()}, notes


def with_measured_runs(
    section: Mapping[str, object], about: Callable[[Question], Question]
) -> dict[str, object]:
    """A section with the measured runs near by, which correct its prices.

    Raises:
        MissingFactError: A size of the model is unknown.
    """
    found = about(question_of_section(section)).measured
    kept = [PricedRun(place=run.place, group=run.group, log_ratio=run.log_ratio) for run in found.runs]
    level = {} if found.level is None else {"level": found.level.to_json()}
    return {**section, **level, "measured": [run.to_json() for run in kept]} if kept else {**section, **level}
