"""From a search file and what is known to a search that does not start from nothing.

What the file names is looked up (problem, facts for the cost model), and the tables of similar problems
become the sources of the search. Everything found goes into the log, so that the search needs no workspace
to go on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ingest.door.writing import to_record
from ingest.questions.problems import KnownOperator, Resolver, problem_from
from kg.errors import InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.entities import Case, Measurement, Problem, Source, Status, WorkloadKind
from kg.nouns.knowledge import Model
from kg.nouns.values import Settings
from kg.triples.names import Names, Resolved
from kg.triples.serialisation import from_graph
from recommender.measuring.environment import capture
from recommender.measuring.masking import masked_environment, masked_words
from recommender.search.evaluations import SourceTable
from recommender.search.log.study import SearchLog
from recommender.search.run.assembly import (
    KINDS,
    SearchPlace,
    evaluator_of,
    source_of_numbers,
    sources_to_json,
)
from recommender.search.run.compatibility import MADE_BY, made_by
from recommender.search.run.memory_tally import fit_notes
from recommender.search.run.task import Task
from recommender.space.made.memory_rule import MARGIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from recommender.retrieval.neighbours import Neighbour, Retriever
    from recommender.space.space import SearchSpace

THIS_MACHINE, THIS_PROCESSOR = "this machine", "this processor"
"""What a file says for hardware where a search is about what it runs on."""
FOLD = 4.0
"""Distance in the learned feature space over which a source is trusted e times less before anything is
measured; a choice, which the search corrects from its own results. Sizes of one kernel are 1 to 2 apart."""
LEAST_ROWS = 3
MOST_ROWS = 512
BEST_ROWS = 128
"""Of a long table the best rows are taken, and of the others every so many; choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A search that is ready to begin.

    Attributes:
        task: What is searched.
        whole: What of its cases is not configuration and outcome.
        sources: What it starts from.
        notes: What was assumed, in words.
        folder: Where its commands run.
        seed: Of its randomness.
        environment: What it runs on.
        allow_unmeasured_accuracy: Whether settings of unknown accuracy may be proposed.
    """

    task: Task
    whole: Mapping[str, object]
    sources: Sequence[SourceTable]
    notes: tuple[str, ...]
    folder: Path
    seed: int
    environment: Mapping[str, object]
    allow_unmeasured_accuracy: bool

    def begin(self, storage: str) -> SearchLog:
        """Begin its log, which keeps no secrets: workers take those from their own environment.

        Raises:
            InputError: There is such a search already.
        """
        raw = dict(self.task.raw)
        if isinstance(raw.get("environment"), dict):
            raw["environment"] = masked_environment(raw["environment"])
        return SearchLog.create(
            storage,
            name=self.task.name,
            objectives=self.task.objectives,
            about={
                "task": raw,
                "digest": self.task.digest,
                "seed": self.seed,
                "folder": str(self.folder),
                MADE_BY: made_by(self.task.raw, self.folder),
                "environment": dict(self.environment),
                "allow_unmeasured_accuracy": self.allow_unmeasured_accuracy,
                "notes": list(self.notes),
            },
            whole=self.whole,
            sources=sources_to_json(self.sources),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuner:
    """What is looked up for a search.

    Attributes:
        graph: Knows models.
        names: Resolves names.
        hardware: Knows devices.
        trials: Has the tables.
        retriever: Finds similar problems; called when first needed.
        operator: What the cases know of an operator.
    """

    graph: GraphStore
    names: Names
    hardware: HardwareTree
    trials: TrialStore
    retriever: Callable[[], Retriever]
    operator: Callable[[str], KnownOperator]
    _notes: list[str] = field(default_factory=list)

    def prepare(
        self,
        raw: Mapping[str, object],
        *,
        name: str,
        folder: Path,
        base: Mapping[str, str],
        seed: int = 0,
        cold: bool = False,
        allow_unmeasured_accuracy: bool = False,
    ) -> Prepared:
        """Look up what a search file names, and what is known of similar problems.

        Args:
            raw: Content of the file.
            name: What to call the search where the file does not say.
            folder: Where commands run and paths start.
            base: Environment of commands.
            seed: Of the search's randomness.
            cold: Start from nothing.
            allow_unmeasured_accuracy: Also propose settings whose loss of accuracy is unknown.

        Raises:
            InputError: The file is wrong.
            InfeasibleError: Nothing satisfies the constraints.
            MissingFactError: The cost model lacks a fact.
        """
        self._notes.clear()
        content = dict(raw)
        if source_of_numbers(content) == "cost_model":
            content["cost_model"] = self._with_facts(content, "cost_model")
        if content.get("modelled_memory"):
            content["modelled_memory"] = self._memory(content)
        task = Task.of(content, name=name, allow_unmeasured_accuracy=allow_unmeasured_accuracy)
        self._notes.extend(fit_notes(task))
        _refuse_secrets(content.get("command"))
        evaluator_of(task, SearchPlace(folder=folder, base=base))
        versions = content.get("versions") or {}
        if not isinstance(versions, dict) or not all(isinstance(item, list) for item in versions.values()):
            raise InputError(
                "versions: expected for each name a command as a list, such as gcc: [cc, -dumpversion]"
            )
        environment = capture({str(key): list(map(str, item)) for key, item in versions.items()})
        problem = self._problem(content, task, environment)
        sources = [] if cold or problem is None else self.sources(problem, task.space)
        if problem is not None and not cold and not sources:
            self._notes.append(
                f"nothing similar to {problem.workload.operator} is known: the search starts cold"
            )
        return Prepared(
            task=task,
            whole=whole_of(task, problem, environment),
            sources=sources,
            notes=tuple(dict.fromkeys(self._notes)),
            folder=folder,
            seed=seed,
            environment=environment,
            allow_unmeasured_accuracy=allow_unmeasured_accuracy,
        )

    def sources(self, problem: Problem, space: SearchSpace) -> list[SourceTable]:
        """The tables of similar problems whose configurations have parameters of a space, nearest first."""
        try:
            found = self.retriever().find(problem)
        except NoEvidenceError:
            return []
        tables = (self._source(item, space) for item in found)
        return sorted((item for item in tables if item is not None), key=lambda item: -item.similarity)

    def _source(self, neighbour: Neighbour, space: SearchSpace) -> SourceTable | None:
        row = neighbour.problem
        table = self.trials.table(row.key)
        timed = np.flatnonzero(~np.isnan(table.costs))
        if np.isfinite(table.costs[timed]).sum() < LEAST_ROWS:
            return None
        kept = _thinned(timed)
        known = self.trials.configurations(table.configuration_ids[kept].tolist())
        varied = {
            name
            for name in space.names
            if len({known[int(key)].get(name) for key in table.configuration_ids[kept]}) > 1
        }
        if not varied:
            return None
        where = f"{row.count} x {row.hardware}" if row.count else row.hardware
        return SourceTable(
            name=f"{row.operator} on {where}",
            similarity=float(np.exp(-neighbour.apart / FOLD)),
            configurations=[known[int(key)] for key in table.configuration_ids[kept]],
            costs=table.costs[kept],
            problem_id=row.id,
        )

    def _problem(
        self, raw: Mapping[str, object], task: Task, environment: Mapping[str, object]
    ) -> Problem | None:
        told = raw.get("problem")
        if told is None:
            return None
        if not isinstance(told, dict):
            raise InputError("problem: expected what a problem file says", hint="op, shape, hardware ...")
        objective = task.objectives[0]

        def known(name: str) -> KnownOperator:
            try:
                return self.operator(name)
            except UnknownEntityError:
                self._notes.append(f"no case of an operator named {name!r} is known yet")
                kind = WorkloadKind.KERNEL if told.get("phase") == "kernel" else WorkloadKind.OPERATOR
                return KnownOperator(name=name, kind=kind, metric=objective.metric, better=objective.better)

        question = {key: item for key, item in told.items() if key not in {"objective", "limits"}}
        question["objective"] = objective.metric
        names: Resolver = self.names
        if (found := here(str(told.get("hardware") or THIS_MACHINE), environment)) is not None:
            question["hardware"], counted = found
            question.setdefault("count", counted)
            names = _KnownOrNot(self.names)
        problem, notes = problem_from(question, names, known)
        self._notes.extend(notes)
        return Problem(
            workload=problem.workload,
            hardware=problem.hardware,
            objective=objective,
            software=problem.software,
        )

    def _memory(self, raw: Mapping[str, object]) -> dict[str, object]:
        """The section that asks for the modelled memory of what is measured; without facts if turned off."""
        told = raw["modelled_memory"]
        if raw.get("cost_model"):
            raise InputError(
                "modelled_memory is for what is measured", hint="the cost model asks for its memory anyway"
            )
        margin = told.get("margin", MARGIN) if isinstance(told, dict) else None
        if margin is False:  # YAML reads off as false
            return {"margin": margin}
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < math.inf:
            raise InputError(f"modelled_memory: margin: {margin!r}", hint="a share such as 0.1, or off")
        return self._with_facts(raw, "modelled_memory") | {"margin": float(margin)}

    def _with_facts(self, raw: Mapping[str, object], key: str) -> dict[str, object]:
        """The section of the cost model with the facts it needs; what is unknown may be assumed."""
        told = raw[key]
        section: dict[str, Any] = dict(told) if isinstance(told, dict) else {}
        problem = cast("dict[str, Any]", raw.get("problem") or {})
        for name in ("model", "hardware", "count"):
            section.setdefault(name, problem.get(name))
        if not section.get("model") or not section.get("hardware"):
            raise InputError(
                f"{key}: which model on which hardware?", hint="model: bert-large, hardware: ..."
            )
        section["count"] = section["count"] or 1
        model_name = self.names.model(str(section["model"]))
        model = from_graph(self.graph, Model, model_name.id)
        device = self.names.hardware(str(section["hardware"]))
        self._notes.extend(item.note for item in (model_name, device) if item.note)
        assumed = self._assumed(section.get("assume"))
        facts = {**assumed, **self.hardware.facts(device.id)}
        server: dict[str, object] | None = None
        if section.get("server"):
            found = self.names.hardware(str(section["server"]))
            held = {k: v for k, v in self.hardware.facts(found.id).items() if k not in assumed}
            server = {"id": found.id, "facts": held}
        sizes = {f.name: f.value for f in model.facts if isinstance(f.value, int | float | str)}
        section["facts"] = {
            "model": {"id": model.id, "architecture": model.architecture, "facts": sizes},
            "device": {"id": device.id, "facts": facts},
            "server": server,
        }
        return section

    def _assumed(self, told: object) -> dict[str, float | str]:
        """What a file assumes of a device, each told as a note."""
        if told is None:
            return {}
        if not isinstance(told, dict):
            raise InputError("assume: expected facts and their values")
        found: dict[str, float | str] = {}
        for name, item in told.items():
            value, why = (item.get("value"), item.get("because")) if isinstance(item, dict) else (item, "")
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise InputError(f"assume: {name}: {value!r} is no value")
            found[str(name)] = value
            shown = f"{value:g}" if isinstance(value, int | float) else value
            self._notes.append(f"assumed: {name} = {shown}" + (f" ({why})" if why else ""))
        return found


@dataclass(frozen=True, slots=True)
class _KnownOrNot:
    """Names under which hardware that the tree does not have keeps the name that it reports."""

    names: Names

    def hardware(self, text: str) -> Resolved:
        """The node, or a slug with a note."""
        found, is_known = self.names.hardware_or_slug(text)
        return Resolved(id=found, note="" if is_known else f"hardware {text!r} is not in the knowledge")

    def model(self, text: str) -> Resolved:
        """A model."""
        return self.names.model(text)

    def models_of_size(self, sizes: Mapping[str, object]) -> tuple[str, ...]:
        """Models that have these sizes."""
        return self.names.models_of_size(sizes)

    def bottleneck(self, text: str) -> Resolved:
        """A bottleneck."""
        return self.names.bottleneck(text)


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


def here(asked: str, environment: Mapping[str, object]) -> tuple[str, int] | None:
    """Name and count of what a search runs on, where it is asked for; None where hardware is named.

    Args:
        asked: ``THIS_MACHINE``: its accelerators, else its processor; or ``THIS_PROCESSOR``.
        environment: What the machine tells.
    """
    if asked not in {THIS_MACHINE, THIS_PROCESSOR}:
        return None
    devices = environment.get("accelerators")
    if asked == THIS_MACHINE and isinstance(devices, list) and devices:
        return str(devices[0]), len(devices)
    return str(environment.get("processor", "unknown processor")), 1


def _thinned(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most ``MOST_ROWS`` of rows that stand best first: the best, and of the others every so many."""
    if len(rows) <= MOST_ROWS:
        return rows
    rest = np.linspace(BEST_ROWS, len(rows) - 1, MOST_ROWS - BEST_ROWS).astype(np.int64)
    kept: NDArray[np.int64] = rows[np.concatenate([np.arange(BEST_ROWS), rest])]
    return kept


def whole_of(task: Task, problem: Problem | None, environment: Mapping[str, object]) -> dict[str, object]:
    """What of the cases of a search is not their configuration and outcome, as parts of a record.

    Args:
        task: What is searched.
        problem: What it is about; None where only the machine is known.
        environment: What it runs on.
    """
    metrics = [*task.objectives]
    units = {item.metric: item.objective for item in task.readings}
    outcomes = [
        {"metric": item.metric, "unit": item.unit or "1", "better": item.better.value} for item in metrics
    ]
    for limit in task.limits:
        better = units[limit.metric].better.value if limit.metric in units else "lower"
        outcomes.append({"metric": limit.metric, "unit": limit.unit, "better": better})
    kind = KINDS[source_of_numbers(task.raw)] if source_of_numbers(task.raw) else KINDS["command"]
    devices = environment.get("accelerators")
    hardware = (
        {"name": devices[0], "count": len(devices)}
        if isinstance(devices, list) and devices
        else {"name": environment.get("processor", "unknown processor"), "count": 1}
    )
    about: dict[str, object] = {"task": {"kind": "kernel", "op": task.name}, "hardware": hardware}
    if problem is not None:
        case = Case(
            problem=problem,
            configuration=Settings(),
            measurement=Measurement(metric=problem.objective.metric, status=Status.UNKNOWN),
            kind=kind,
            source=Source(title="a search"),
        )
        record = to_record(case)
        about = {key: record[key] for key in ("task", "hardware", "problem") if key in record}
    about |= {
        "kind": kind.value,
        "outcomes": outcomes,
        "source": {"title": f"tunegraph search {task.name}", "note": _note(environment)},
    }
    if software := environment.get("software"):
        about["software"] = software
    return about


def _note(environment: Mapping[str, object]) -> str:
    told = (environment.get(key) for key in ("processor", "cores", "system"))
    return "; ".join(str(item) for item in told if item)
