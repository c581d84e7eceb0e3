"""The options of a question, for all commands that ask one, and the problem that they make."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import get_type_hints

from cli.options import (
    BottleneckOption,
    CommandOption,
    ConfigOption,
    CountOption,
    CurrentOption,
    HardwareOption,
    LimitOption,
    ModelOption,
    ObjectiveOption,
    OperatorOption,
    PhaseOption,
    PrecisionOption,
    ProblemFile,
    ServerOption,
    ShapeOption,
    SmiOption,
    SoftwareOption,
    TraceOption,
    TraitOption,
    command_text,
    facts_at_hand,
)
from cli.values import limits, pairs
from kg.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemOptions:
    """The question of a user: a file, texts that are at hand, and options; the options win."""

    file: ProblemFile = None
    model: ModelOption = None
    operator: OperatorOption = None
    phase: PhaseOption = None
    shape: ShapeOption = None
    precision: PrecisionOption = None
    trait: TraitOption = None
    hardware: HardwareOption = None
    count: CountOption = None
    objective: ObjectiveOption = None
    limit: LimitOption = None
    bottleneck: BottleneckOption = None
    current: CurrentOption = None
    software: SoftwareOption = None
    from_command: CommandOption = None
    server: ServerOption = None
    config_json: ConfigOption = None
    smi: SmiOption = None
    trace: TraceOption = None

    def raw(self) -> dict[str, object]:
        """The problem as the user put it: texts at hand, a problem file over them, options over all.

        Raises:
            InputError: A file cannot be read, or an option has the wrong form.
        """
        from ingest.questions.launches.launch_facts import LaunchFacts, merge_facts
        from ingest.questions.problem_file import read_problem_file
        from kg.nouns.situation import FactOrigin

        parts = facts_at_hand(
            from_command=self.from_command, config_json=self.config_json, smi=self.smi, server=self.server
        )
        if self.trace is not None:
            from ingest.questions.trace import read_trace

            parts.append(read_trace(self.trace))
        if self.file:
            parts.append(LaunchFacts(question=read_problem_file(self.file), origin=FactOrigin.FILE))
        raw = merge_facts(parts)
        plain = {
            "model": self.model,
            "op": self.operator,
            "phase": self.phase,
            "precision": self.precision,
            "hardware": self.hardware,
            "count": self.count,
            "objective": self.objective,
        }
        is_other = self.model is not None and not _is_alike(str(raw.get("model") or self.model), self.model)
        if is_other and self.config_json is None and raw.pop("sizes", None):
            said = raw.get("notes")
            note = f"the sizes of the text are not those of {self.model}: they are left out"
            raw["notes"] = [*(said if isinstance(said, list) else ()), note]
        told: dict[str, object] = {name: value for name, value in plain.items() if value is not None}
        tables: dict[str, dict[str, object]] = {
            "shape": pairs("--shape", self.shape),
            "traits": pairs("--trait", self.trait),
            "bottlenecks": pairs("--bottleneck", self.bottleneck, bare=True),
            "current": pairs("--current", self.current),
            "software": pairs("--software", self.software, bare=True, as_text=True),
        }
        for name, table in tables.items():
            if table:
                raw[name], told[name] = _table(name, raw.get(name)), table
        if self.limit:
            told["limits"] = [*limits(raw.pop("limits", None)), *self.limit]
        return merge_facts([LaunchFacts(question=told, origin=FactOrigin.TOLD)], onto=raw)


def asks(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a problem in the place of its parameter ``question``.

    Args:
        left_out: Fields of :class:`ProblemOptions` that the command does not take.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        types = get_type_hints(ProblemOptions, include_extras=True)
        names = [item.name for item in fields(ProblemOptions) if item.name not in left_out]
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=types[name])
            for name in names
        ]
        own = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            as_keyword = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += options if parameter.name == "question" else [as_keyword]

        @wraps(command)
        def asking(**given: object) -> None:
            question = ProblemOptions(**{name: given.pop(name) for name in names})  # type: ignore[arg-type]
            if question.file is not None and question.from_command is None and _is_launch(question.file):
                question = replace(question, file=None, from_command=str(question.file))
            # a type of servers in these commands, and a number where a script has several launches
            if isinstance(place := given.get("server"), str) and place.isdecimal():
                question, given["server"] = replace(question, server=int(place)), None
            command(question=question, **given)

        asking.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        asking.__annotations__ = {item.name: item.annotation for item in parameters}
        del asking.__wrapped__
        return asking

    return decorate


def _is_launch(file: Path) -> bool:
    """True if a file is a launch and not that of a question; what cannot be read is told as one of those."""
    from ingest.questions.launches.configurations import is_launch

    try:
        return is_launch(command_text(str(file)), file.name)
    except InputError:
        return False


def _is_alike(one: str, other: str) -> bool:
    """True if two names are of one model, whoever published it and in whatever format."""
    from kg.terms.model_name import Part, read_name

    return read_name(one).without(Part.FORMAT) == read_name(other).without(Part.FORMAT)


def _table(name: str, before: object) -> dict[str, object]:
    """The names and values of a file that options add to; bottlenecks may be names alone."""
    if isinstance(before, list) and name == "bottlenecks":
        return dict.fromkeys(map(str, before))
    if before is None:
        return {}
    if not isinstance(before, dict):
        raise InputError(f"{name}: expected names and values, not {before!r}")
    return dict(before)
