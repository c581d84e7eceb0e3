"""A search put together: from what its log says to what runs it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import data
from kg.errors import InputError
from kg.nouns.entities import Kind
from kg.nouns.values import Settings, digest
from recommender.measuring.command import CommandObjective
from recommender.measuring.masking import has_mask
from recommender.measuring.process import Bounds
from recommender.search.engine.search import Search
from recommender.search.evaluations import SourceTable
from recommender.search.objectives.modelled import CostModel
from recommender.search.objectives.recorded_table import RecordedTable, read_cases
from recommender.search.run.runner import Runner
from recommender.search.run.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from recommender.measuring.outcome import Evaluator
    from recommender.search.log.study import SearchLog
    from recommender.search.run.runner import Progress

KINDS = {"command": Kind.MEASURED, "cost_model": Kind.MODELLED, "table": Kind.MEASURED}
"""Where numbers may come from, as a file says it, and how they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """Where a search runs.

    Attributes:
        folder: Commands run here, and paths in the file start here.
        base: Environment of commands.
        mark: Marks the processes of this search.
    """

    folder: Path
    base: Mapping[str, str]
    mark: str = "tunegraph"


def source_of_numbers(raw: Mapping[str, object]) -> str:
    """Whether a file names a command, the cost model or a table; empty if none.

    Raises:
        InputError: It names several.
    """
    named = [key for key in KINDS if raw.get(key)]
    if len(named) > 1:
        raise InputError(f"numbers come from one place, not from {' and '.join(named)}")
    return named[0] if named else ""


def evaluator_of(task: Task, place: SearchPlace) -> tuple[Evaluator | None, float | None]:
    """What gives the numbers, and how long an evaluation may take; None where a person does.

    Raises:
        InputError: The file is wrong about it.
    """
    match source_of_numbers(task.raw):
        case "command":
            command = command_of(task, place)
            command.check(task.space.names)
            _check_program(command)
            runs = (command.warmup + command.repeats) * len(command.inputs)
            return command, command.bounds.timeout_s * runs
        case "cost_model":
            return model_of_task(task.raw), 60.0
        case "table":
            path = place.folder / str(task.raw["table"])
            return RecordedTable.of(read_cases(path)), 60.0
        case _:
            return None, None


def command_of(task: Task, place: SearchPlace) -> CommandObjective:
    """The command of a file.

    Raises:
        InputError: A key is wrong.
    """
    raw = task.raw
    words = raw["command"]
    if not isinstance(words, str | list) or not words:
        raise InputError("command: a list of program and arguments, or one text for the shell")
    bounds = Bounds()
    inputs = raw.get("inputs") or [{}]
    if not isinstance(inputs, list) or not all(isinstance(item, dict) for item in inputs):
        raise InputError("inputs: a list of names and values")
    environment = raw.get("environment") or {}
    if not isinstance(environment, dict):
        raise InputError("environment: names and values")
    return CommandObjective(
        command=words if isinstance(words, str) else tuple(map(str, words)),
        readings=task.readings,
        inputs=tuple(Settings(item) for item in inputs),
        repeats=int(_number(raw, "repeats", 1)),
        warmup=int(_number(raw, "warmup", 0)),
        bounds=Bounds(
            timeout_s=_number(raw, "timeout_s", bounds.timeout_s),
            file_bytes=int(_number(raw, "file_bytes", bounds.file_bytes)),
            disk_bytes=int(_number(raw, "disk_bytes", bounds.disk_bytes)),
        ),
        folder=place.folder,
        environment={
            str(name): _unmasked(str(name), str(item), place.base) for name, item in environment.items()
        },
        base=place.base,
        kernels=str(Path(str(data.resource("kernels/matmul.c"))).parent),
        mark=place.mark,
    )


def _unmasked(name: str, value: str, base: Mapping[str, str]) -> str:
    """A variable of a file; where its log masked it, what the environment here has.

    Raises:
        InputError: The environment does not have it.
    """
    if not has_mask(value):
        return value
    if name not in base:
        raise InputError(f"the log keeps no secrets, and {name} is not set here", hint=f"export {name}=...")
    return base[name]


def _check_program(command: CommandObjective) -> None:
    """See that the program exists, before anything is logged.

    Raises:
        InputError: It does not.
    """
    if isinstance(command.command, str) or "{" in command.command[0]:
        return
    program = command.command[0]
    beside = command.folder / program
    if not (shutil.which(program, path=command.base.get("PATH")) or ("/" in program and beside.is_file())):
        raise InputError(f"cannot run {program!r}: no such program", hint="it runs in the folder of the file")


def _number(raw: Mapping[str, object], key: str, default: float) -> float:
    found = raw.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not found >= 0:
        raise InputError(f"{key}: {str(found)[:40]} is no number")
    return float(found)


def model_of_task(raw: Mapping[str, object]) -> CostModel:
    """The cost model with the facts that a log keeps; see ``recommender.search.run.preparation`` for how they get there.

    Raises:
        MissingFactError: A size of the model is unknown.
        InputError: The facts were not looked up: the file was not prepared by a workspace.
    """
    return CostModel.of_section(cast("dict[str, Any]", raw["cost_model"]))


def search_of(task: Task, *, seed: int, sources: Sequence[SourceTable] = ()) -> Search:
    """A new search over a task."""
    return Search(
        space=task.space,
        objectives=task.objectives,
        limits=task.limits,
        sources=sources,
        default=task.default,
        seed=seed,
        patience=task.stop.patience,
        minimum_gain=task.stop.minimum_gain,
        parts=task.parts,
    )


def task_of(log: SearchLog) -> Task:
    """What a log searches."""
    return Task.of(
        log.about["task"],
        name=log.name,
        allow_unmeasured_accuracy=bool(log.about.get("allow_unmeasured_accuracy")),
    )


def runner_of(
    log: SearchLog,
    *,
    base: Mapping[str, str],
    on_progress: Callable[[Progress], None] = lambda _: None,
    more: Mapping[str, object] | None = None,
    folder: Path | None = None,
) -> Runner:
    """What goes on with a search from its log alone.

    Args:
        log: Of the search.
        base: Environment of commands.
        on_progress: Told after each evaluation.
        more: Keys that replace those of the file: a larger budget, other jobs.
        folder: Where commands run here; None for where the search was begun.

    Raises:
        InputError: The log is of a search without a source of numbers: those are told by people.
    """
    if more:
        log.note("task", {**log.about["task"], **more})
    task = task_of(log)
    folder = folder or Path(str(log.about.get("folder") or "."))
    place = SearchPlace(folder=folder, base=base, mark=digest(log.storage, log.name))
    evaluator, timeout_s = evaluator_of(task, place)
    if evaluator is None:
        raise InputError(
            "this search has nothing that gives it numbers",
            hint="tunegraph search ask and tell, or add a command to its file",
        )
    return Runner(
        log=log,
        task=task,
        search=search_of(task, seed=int(log.about["seed"]), sources=sources_of(log.sources)),
        evaluator=evaluator,
        timeout_s=timeout_s,
        mark=place.mark,
        on_progress=on_progress,
    )


def sources_of(raw: Iterable[Mapping[str, Any]]) -> list[SourceTable]:
    """The sources that a log keeps."""
    return [
        SourceTable(
            name=item["name"],
            similarity=item["similarity"],
            configurations=[Settings(one) for one in item["configurations"]],
            costs=np.array([np.inf if cost is None else cost for cost in item["costs"]], np.float64),
            problem_id=item["problem_id"],
        )
        for item in raw
    ]


def sources_to_json(sources: Iterable[SourceTable]) -> list[dict[str, object]]:
    """The same, to be kept; a failure is null."""
    return [
        {
            "name": item.name,
            "similarity": item.similarity,
            "problem_id": item.problem_id,
            "configurations": [one.to_json() for one in item.configurations],
            "costs": [float(cost) if np.isfinite(cost) else None for cost in item.costs],
        }
        for item in sources
    ]
