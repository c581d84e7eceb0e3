"""The parts of a running search, put together from its log: task, evaluator, search and runner."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import data
from kg.errors import InputError
from kg.nouns.values import digest
from recommender.measuring.command import CommandObjective
from recommender.measuring.masking import has_mask
from recommender.search.engine.search import Search
from recommender.search.run.runner import Runner
from recommender.search.run.task import TaskCommand, TaskModel
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recommender.measuring.outcome import Evaluator
    from recommender.search.evaluations import SourceTable
    from recommender.search.log.study import SearchLog
    from recommender.search.objectives.modelled import CostModel
    from recommender.search.run.runner import Progress
    from recommender.search.run.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """The folder and the environment in which a search runs.

    Attributes:
        folder: Commands run here, and paths in the file start here.
        base: Environment of commands.
        mark: Marks the processes of this search.
    """

    folder: Path
    base: Mapping[str, str]
    mark: str = "tunegraph"


def evaluator_of(task: Task, place: SearchPlace) -> tuple[Evaluator | None, float | None]:
    """The evaluator of a task, and the longest time an evaluation may take; None where people evaluate.

    Raises:
        InputError: The command or the section of the cost model is wrong.
    """
    match task.number_source:
        case TaskCommand() as source:
            command = command_of(source, task, place)
            command.check(task.space.names)
            _check_program(command)
            runs = (command.warmup + command.repeats) * len(command.inputs)
            return command, command.bounds.timeout_s * runs
        case TaskModel():
            return model_of_task(task), 60.0
        case None:
            return None, None


def command_of(source: TaskCommand, task: Task, place: SearchPlace) -> CommandObjective:
    """The command of a task as an objective.

    Raises:
        InputError: Nothing is read from its output, or it is never to run.
    """
    return CommandObjective(
        command=source.words,
        readings=task.readings,
        inputs=source.inputs,
        repeats=source.repeats,
        warmup=source.warmup,
        bounds=source.bounds,
        folder=place.folder,
        environment={name: _unmasked(name, item, place.base) for name, item in source.environment.items()},
        base=place.base,
        kernels=str(Path(str(data.resource("kernels/matmul.c"))).parent),
        mark=place.mark,
    )


def _unmasked(name: str, value: str, base: Mapping[str, str]) -> str:
    """A variable of a file; where its log masked it, the one of the environment here.

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


def model_of_task(task: Task) -> CostModel:
    """The cost model that gives the numbers of a task.

    Raises:
        InputError: The facts were not looked up: the file was not prepared by a workspace.
    """
    if not isinstance(task.number_source, TaskModel) or task.number_source.cost_model is None:
        raise InputError(
            "cost_model: the facts of model and device are not there", hint="search with a workspace"
        )
    return task.number_source.cost_model


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
    """The task of a search, read from its log."""
    allow = log.metadata.allow_unmeasured_accuracy
    return read_task(TaskFile(log.metadata.file, name=log.name), allow_unmeasured_accuracy=allow)


def runner_of(
    log: SearchLog,
    *,
    base: Mapping[str, str],
    on_progress: Callable[[Progress], None] = lambda _: None,
    more: Mapping[str, object] | None = None,
    folder: Path | None = None,
) -> Runner:
    """The runner that goes on with a search from its log alone.

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
        log.amend(file={**log.metadata.file, **more})
    task = task_of(log)
    folder = folder or Path(log.metadata.folder)
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
        search=search_of(task, seed=log.metadata.seed, sources=log.sources),
        evaluator=evaluator,
        timeout_s=timeout_s,
        mark=place.mark,
        on_progress=on_progress,
    )
