"""The reader of the sections of a search file that evaluate configurations: command, cost model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InfeasibleError, InputError
from kg.nouns.values import Settings
from recommender.measuring.process import Bounds
from recommender.search.engine.candidates import LOOKED_AT
from recommender.search.run.task import TaskCommand, TaskModel
from recommender.search.run.task_file import TaskFile, number
from recommender.space.made.memory_rule import RULES, SOURCE, MemoryRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Limit
    from recommender.search.objectives.modelled import CostModel
    from recommender.search.run.task import NumberSource, Task
    from recommender.space.constraint import Constraint
    from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTally:
    """Counts of the configurations that the memory rule checked and left out.

    Attributes:
        checked: Configurations that were checked.
        complete: True where those are all.
        removed: How many of them each rule of ``RULES`` forbids.
        least_bytes: Least memory that one of them needs; infinite where no layout can be.
    """

    checked: int
    complete: bool
    removed: Mapping[str, int]
    least_bytes: float

    @property
    def remaining(self) -> int:
        """Configurations of those checked that remain."""
        return self.checked - sum(self.removed.values())

    def __str__(self) -> str:
        how = "configurations" if self.complete else "configurations drawn at random"
        parts = [f"{count:,} by {rule}" for rule, count in self.removed.items() if count]
        told = ", ".join(parts) or "none"
        return f"{SOURCE} leaves out {told}, of {self.checked:,} {how} that the other rules allow"


def fit_tally(space: SearchSpace, *, most: int, sample: int = 2048, seed: int = 0) -> FitTally | None:
    """Count what the memory rule leaves out of a space; None if the space has no such rule.

    Args:
        space: With its rule.
        most: Configurations up to which all are counted.
        sample: How many are drawn of a larger space.
        seed: Of the draw.

    Raises:
        InfeasibleError: Nothing satisfies the other constraints.
    """
    fit = next((c.holds for c in space.constraints if isinstance(c.holds, MemoryRule)), None)
    if fit is None:
        return None
    declared = space.declared
    complete = declared.size(most) is not None
    drawn = () if complete else (declared.sample_coordinates(np.random.default_rng(seed), sample),)
    counts, least = np.zeros(len(RULES) + 1, np.int64), math.inf
    for block in declared.blocks() if complete else drawn:
        codes, needed = fit.codes(space.parameters, block)
        counts += np.bincount(codes, minlength=len(counts))
        least = float(np.nanmin(needed, initial=least))
    return FitTally(
        checked=int(counts.sum()),
        complete=complete,
        removed={rule: int(count) for rule, count in zip(RULES, counts[1:], strict=True)},
        least_bytes=least,
    )


def fit_notes(task: Task) -> list[str]:
    """Notes on what the modelled memory leaves out of a search.

    Raises:
        InfeasibleError: It leaves nothing.
    """
    if task.memory_unchecked:
        return [f"rule skipped: {task.memory_unchecked}"]
    tally = fit_tally(task.space, most=LOOKED_AT)
    if tally is None:
        return []
    if tally.complete and not tally.remaining:
        raise InfeasibleError(f"nothing is left: {tally}", hint=_remedy(tally))
    off = (
        ""
        if task.is_modelled
        else "; it is modelled, not measured: modelled_memory: {margin: off} tries them all"
    )
    notes = [f"{tally}{off}"] if tally.remaining < tally.checked else []
    if task.default is not None and task.space.violated(task.default) is not None:
        notes.append("the default is among them: it is not tried, and no gain over it is told")
    return notes


def _remedy(tally: FitTally) -> str:
    """A hint at what would leave something in the space."""
    if tally.removed["memory"]:
        return f"at least {tally.least_bytes / 1e9:.1f} GB of a device are needed"
    if tally.removed["precision"]:
        return "the device computes in none of the precisions"
    return "no layout of it can be"


_SOURCES = ("command", "cost_model")
"""Keys that name where the numbers come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A fact of a device that a search file assumes, because nobody published it.

    Attributes:
        name: Of the fact.
        value: What is assumed.
        reason: Why; empty if the file gives none.
    """

    name: str
    value: float | str
    reason: str = ""

    def __str__(self) -> str:
        shown = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"assumed: {self.name} = {shown}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The section of a search file that asks the cost model, with names still to be looked up.

    Attributes:
        key: Of the section in the file.
        section: Its content, completed from the problem; the facts are still missing.
        model: Name of the model.
        hardware: Name of the device.
        server: Name of the server; empty if none is named.
        assumptions: Facts of the device that are assumed.
    """

    key: str
    section: Mapping[str, object]
    model: str
    hardware: str
    server: str
    assumptions: tuple[Assumption, ...]


def source_of_numbers(raw: Mapping[str, object]) -> str:
    """The key of a search file that gives the numbers: command or cost_model; empty if none does.

    Raises:
        InputError: Several do.
    """
    named = [key for key in _SOURCES if raw.get(key)]
    if len(named) > 1:
        raise InputError(f"numbers come from one place, not from {' and '.join(named)}")
    return named[0] if named else ""


def read_number_source(content: TaskFile) -> NumberSource | None:
    """The source of the numbers that a file names; None where people evaluate."""
    match source_of_numbers(content.raw):
        case "command":
            return _command(content)
        case "cost_model":
            return TaskModel(cost_model=_cost_model(content, "cost_model"))
        case _:
            return None


def _command(content: TaskFile) -> TaskCommand:
    words, bounds = content.raw["command"], Bounds()
    if not isinstance(words, str | list):
        raise InputError("command: a list of program and arguments, or one text for the shell")
    inputs = content.raw.get("inputs") or [{}]
    if not isinstance(inputs, list) or not all(isinstance(item, dict) for item in inputs):
        raise InputError("inputs: a list of names and values")
    return TaskCommand(
        words=words if isinstance(words, str) else tuple(map(str, words)),
        inputs=tuple(Settings(item) for item in inputs),
        repeats=int(content.number("repeats", 1)),
        warmup=int(content.number("warmup", 0)),
        bounds=Bounds(
            timeout_s=content.number("timeout_s", bounds.timeout_s),
            file_bytes=int(content.number("file_bytes", bounds.file_bytes)),
            disk_bytes=int(content.number("disk_bytes", bounds.disk_bytes)),
        ),
        environment={name: str(item) for name, item in content.table("environment").items()},
    )


def _cost_model(content: TaskFile, key: str) -> CostModel | None:
    """The cost model of a section; None before its facts were looked up."""
    section = content.raw.get(key)
    if not isinstance(section, dict) or "facts" not in section:
        return None
    from recommender.search.objectives.modelled import CostModel, question_of_section

    return CostModel(question=question_of_section(section))


def read_memory_rule(
    content: TaskFile, source: NumberSource | None, limits: tuple[Limit, ...]
) -> tuple[Constraint | None, str]:
    """The constraint that leaves out what the cost model knows to fail, and why it is not checked."""
    margin = 0.0
    if isinstance(source, TaskModel):
        if content.raw.get("modelled_memory"):
            raise InputError(
                "modelled_memory is for what is measured",
                hint="the cost model asks for its memory anyway",
            )
        cost_model: CostModel | None = source.cost_model
    elif (cost_model := _cost_model(content, "modelled_memory")) is not None:
        margin = number("modelled_memory: margin", content.table("modelled_memory").get("margin"))
    if cost_model is None:
        return None, ""
    from recommender.space.made.memory_rule import fit_constraint

    return fit_constraint(
        cost_model.question, limits, margin=margin, measured=not isinstance(source, TaskModel)
    )


def model_request(file: TaskFile) -> ModelRequest | None:
    """The section of a search file that asks the cost model; None where nothing does.

    Raises:
        InputError: The section is wrong, or names no model or no device.
    """
    if source_of_numbers(file.raw) == "cost_model":
        return _model_request(file, "cost_model")
    section = file.raw.get("modelled_memory")
    if not section:
        return None
    from recommender.space.made.memory_rule import MARGIN

    share = section.get("margin", MARGIN) if isinstance(section, dict) else None
    if share is False:  # YAML reads off as false
        return None
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < math.inf:
        raise InputError(f"modelled_memory: margin: {share!r}", hint="a share such as 0.1, or off")
    request = _model_request(file, "modelled_memory")
    return replace(request, section={**request.section, "margin": float(share)})


def _model_request(file: TaskFile, key: str) -> ModelRequest:
    problem, content = file.problem() or {}, file.raw[key]
    section: dict[str, object] = dict(content) if isinstance(content, dict) else {}
    for name in ("model", "hardware", "count", "software"):
        if problem.get(name):
            section.setdefault(name, problem[name])
    if not section.get("model") or not section.get("hardware"):
        raise InputError(f"{key}: which model on which hardware?", hint="model: bert-large, hardware: ...")
    section["count"] = section.get("count") or 1
    return ModelRequest(
        key=key,
        section=section,
        model=str(section["model"]),
        hardware=str(section["hardware"]),
        server=str(section.get("server") or ""),
        assumptions=_assumptions(section.get("assume")),
    )


def _assumptions(content: object) -> tuple[Assumption, ...]:
    if content is None:
        return ()
    if not isinstance(content, dict):
        raise InputError("assume: expected facts and their values")
    assumptions = []
    for name, item in content.items():
        value, reason = (item.get("value"), item.get("because")) if isinstance(item, dict) else (item, "")
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InputError(f"assume: {name}: {value!r} is no value")
        assumptions.append(Assumption(name=str(name), value=value, reason=str(reason or "")))
    return tuple(assumptions)
