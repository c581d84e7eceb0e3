"""What is searched: space, objectives, limits, and where numbers come from.

The log keeps the content of the file with everything resolved (facts of the cost model, the problem as a
record), so that a search goes on without the file and without the workspace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Self

from ingest.questions.problems import parse_limit
from kg.errors import InputError
from kg.nouns.entities import Better, Objective, WorkloadKind
from kg.nouns.values import Settings, digest
from kg.terms.metrics import METRICS, MODELLED_UNITS, canonical_metric
from kg.terms.units import unit
from recommender.measuring.readings import OutputReading
from recommender.search.run.objective import Accuracy
from recommender.space.parts_file import read_parts
from recommender.space.space import Constraint, SearchSpace
from recommender.space.space_file import read_space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Limit
    from recommender.space.parts import SearchPart

SPACE_KEYS = ("parameters", "constraints")
KEYS = (
    *("name", *SPACE_KEYS, "default", "problem", "metrics", "objectives", "limits", "accuracy", "stop"),
    *("command", "inputs", "repeats", "warmup", "timeout_s", "file_bytes", "disk_bytes", "environment"),
    *("versions", "parts", "cost_model", "modelled_memory", "table", "jobs", "finalists"),
)
"""What a file of a search may say."""
STOP_KEYS = ("evaluations", "time_s", "cost", "price_per_hour", "patience", "minimum_gain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """When a search ends.

    Attributes:
        evaluations: Evaluations at most; None without bound.
        time_s: Wall-clock time at most, all sessions together; None without bound.
        cost: Cost at most: hours of evaluation times ``price_per_hour``; None without bound.
        price_per_hour: Of an hour of evaluation; 1 counts hours.
        patience: Evaluations in a row without gain; None for never.
        minimum_gain: Expected gain (log; 0.01 is 1 %) below which it ends; 0 for never.
    """

    evaluations: int | None = None
    time_s: float | None = None
    cost: float | None = None
    price_per_hour: float = 1.0
    patience: int | None = None
    minimum_gain: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is searched.

    Attributes:
        raw: All of it as JSON.
        name: What to call it.
        space: What may be proposed.
        objectives: What decides; several give a Pareto front.
        limits: Bounds on other metrics.
        readings: Where a command prints its metrics; empty without a command.
        default: Proposed first and what gains are told against; None if there is none.
        accuracy: What is known of the accuracy that settings cost.
        stop: When it ends.
        unasked: Why the modelled memory was not asked; empty if it was, or is no matter here.
        jobs: Evaluations at the same time.
        finalists: How many of the best are measured again at the end.
        parts: What the objective is the sum of; empty where it is one thing.
    """

    raw: Mapping[str, object]
    name: str
    space: SearchSpace
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    readings: tuple[OutputReading, ...]
    default: Settings | None
    accuracy: Accuracy
    stop: Stop
    unasked: str = ""
    jobs: int = 1
    finalists: int = 0
    parts: tuple[SearchPart, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, object], *, name: str, allow_unmeasured_accuracy: bool = False) -> Self:
        """The search that a file describes.

        Args:
            raw: Content of the file, ``KEYS``.
            name: What to call it where the file does not say.
            allow_unmeasured_accuracy: Also propose settings whose loss of accuracy is unknown.

        Raises:
            InputError: A key or value is wrong; the message names it.
        """
        reader = _Reader(raw)
        reader.known(KEYS, raw, "")
        readings = reader.readings()
        objectives = reader.objectives(readings)
        limits = reader.limits(readings)
        accuracy = reader.accuracy()
        space = read_space({key: raw[key] for key in SPACE_KEYS if key in raw})
        if not allow_unmeasured_accuracy and all(item.metric != "accuracy_loss" for item in readings):
            space = _without(space, accuracy)
        default = reader.settings("default")
        if default is not None and (broken := space.violated(default)) is not None:
            raise InputError(f"the default breaks a constraint: {broken}")
        fits, unasked = _fits(raw, limits)
        if fits is not None:
            space = replace(space, constraints=(*space.constraints, fits))
        parts = reader.parts(space, objectives, readings)
        jobs, finalists = reader.count("jobs", 1, least=1), reader.count("finalists", 0, least=0)
        return cls(
            raw=raw,
            name=str(raw.get("name") or name),
            space=space,
            objectives=objectives,
            limits=limits,
            readings=readings,
            default=default,
            accuracy=accuracy,
            stop=reader.stop(),
            unasked=unasked,
            jobs=jobs,
            finalists=finalists,
            parts=parts,
        )

    @property
    def digest(self) -> str:
        """Identifier of what a resumed search must find unchanged: space, objectives and limits."""
        decides = [[item.metric, item.better, item.unit] for item in self.objectives]
        return digest(self.space.digest, decides, [[x.metric, x.maximum] for x in self.limits])


def _fits(raw: Mapping[str, object], limits: tuple[Limit, ...]) -> tuple[Constraint | None, str]:
    """What the cost model knows to fail: where it gives the numbers, or where a file asks for its memory."""
    told = raw.get("cost_model") or raw.get("modelled_memory")
    if not isinstance(told, dict) or "facts" not in told:
        return None, ""
    from recommender.search.objectives.modelled import CostModel
    from recommender.space.made.memory_rule import fit_constraint

    measured = not raw.get("cost_model")
    margin = float(told["margin"]) if measured else 0.0
    return fit_constraint(CostModel.of_section(told), limits, margin=margin, measured=measured)


def _without(space: SearchSpace, accuracy: Accuracy) -> SearchSpace:
    """The space without settings whose loss of accuracy is unknown."""
    more = []
    parameters = {parameter.name: parameter for parameter in space.parameters}
    for name, value in accuracy.unknown():
        if name in parameters and value in parameters[name].values:
            more.append(
                Constraint(
                    expression=f"{name} != {value!r}",
                    reason="its loss of accuracy is unknown; --allow-unmeasured-accuracy proposes it",
                )
            )
    if not more:
        return space
    return replace(space, constraints=(*space.constraints, *more))


class _Reader:
    """Reads the content of a file."""

    def __init__(self, raw: Mapping[str, object]) -> None:
        self.raw = raw

    def known(self, keys: tuple[str, ...], found: Mapping[str, object], where: str) -> None:
        """Refuse keys that nothing reads."""
        for key in found:
            if key not in keys:
                near = get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
                raise InputError(f"a search file has no key {where}{key!r}", hint=hint)

    def table(self, key: str) -> dict[str, object]:
        """A mapping, empty if it is not there."""
        found = self.raw.get(key)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise InputError(f"{key}: expected names and values, not {str(found)[:60]!r}")
        return {str(name): item for name, item in found.items()}

    def number(self, key: str, found: object, *, least: float = 0.0) -> float:
        """A number that is not below ``least``."""
        if isinstance(found, bool) or not isinstance(found, int | float) or not found >= least:
            raise InputError(f"{key}: {str(found)[:40]} is no number of at least {least:g}")
        return float(found)

    def count(self, key: str, default: int, *, least: int) -> int:
        """A whole number."""
        found = self.number(key, self.raw.get(key, default), least=least)
        if found % 1:
            raise InputError(f"{key}: {found:g} is not whole")
        return int(found)

    def settings(self, key: str) -> Settings | None:
        """A configuration; None if it is not there."""
        if self.raw.get(key) is None:
            return None
        try:
            return Settings(self.table(key))
        except ValueError as fault:
            raise InputError(f"{key}: {fault}") from None

    def readings(self) -> tuple[OutputReading, ...]:
        """Where a command prints its metrics."""
        found = []
        for name, item in self.table("metrics").items():
            told = {"path": item} if isinstance(item, str) else item
            if not isinstance(told, dict):
                raise InputError(f"metrics: {name}: expected path or pattern, not {str(item)[:60]!r}")
            self.known(("path", "pattern", "unit", "better"), told, f"metrics.{name}.")
            metric = canonical_metric(name, WorkloadKind.OPERATOR)
            symbol = told.get("unit")
            found.append(
                OutputReading(
                    metric=metric,
                    better=_better(metric, told.get("better")),
                    unit=None if symbol is None else str(symbol),
                    path=str(told.get("path") or ""),
                    pattern=str(told.get("pattern") or ""),
                )
            )
        return tuple(found)

    def objectives(self, readings: tuple[OutputReading, ...]) -> tuple[Objective, ...]:
        """What decides: as listed, else the first metric."""
        listed = self.raw.get("objectives")
        if listed is None:
            listed = [readings[0].metric] if readings else []
        if isinstance(listed, str):
            listed = [listed]
        if not isinstance(listed, list) or not listed:
            raise InputError("objectives: list at least one metric", hint="objectives: [throughput]")
        by_metric = {item.metric: item.objective for item in readings}
        found = []
        for item in listed:
            told = item if isinstance(item, dict) else {"metric": item}
            self.known(("metric", "unit", "better"), told, "objectives.")
            metric = canonical_metric(str(told.get("metric") or ""), WorkloadKind.OPERATOR)
            if metric in by_metric and "unit" not in told and "better" not in told:
                found.append(by_metric[metric])
                continue
            if readings:
                known = ", ".join(by_metric)
                raise InputError(f"objectives: {metric} is not among the metrics", hint=f"metrics: {known}")
            if "cost_model" in self.raw and metric not in MODELLED_UNITS:
                hint = f"known: {', '.join(MODELLED_UNITS)}"
                raise InputError(f"objectives: the cost model has no {metric}", hint=hint)
            symbol = told.get("unit", MODELLED_UNITS.get(metric) if "cost_model" in self.raw else None)
            found.append(
                Objective(metric=metric, better=_better(metric, told.get("better")), unit=_symbol(symbol))
            )
        if len({item.metric for item in found}) < len(found):
            raise InputError("objectives: a metric is listed twice")
        return tuple(found)

    def parts(
        self, space: SearchSpace, objectives: tuple[Objective, ...], readings: tuple[OutputReading, ...]
    ) -> tuple[SearchPart, ...]:
        """What the objective is the sum of."""
        if self.raw.get("parts") is None:
            return ()
        if len(objectives) > 1:
            raise InputError("parts add up to one objective", hint="leave out the parts, or all but one")
        if self.raw.get("cost_model"):
            raise InputError("parts: the cost model tells no times of parts", hint="search the whole")
        measured = {item.metric: item.objective for item in readings}
        return read_parts(self.raw["parts"], space, measured if self.raw.get("command") else None)

    def limits(self, readings: tuple[OutputReading, ...]) -> tuple[Limit, ...]:
        """Bounds; each on something that is measured, modelled or published."""
        listed = self.raw.get("limits") or []
        if isinstance(listed, dict):
            listed = [f"{name}<={value}" for name, value in listed.items()]
        if not isinstance(listed, list):
            raise InputError("limits: expected a list such as ['peak_memory<=32GB']")
        found = tuple(parse_limit(str(item)) for item in listed)
        for item in found:
            if readings and item.metric not in {*(reading.metric for reading in readings), "accuracy_loss"}:
                raise InputError(f"limits: nothing measures {item.metric}", hint="add it to metrics")
        return found

    def accuracy(self) -> Accuracy:
        """What settings cost in accuracy, each with its source, or unknown."""
        losses: dict[str, dict[object, tuple[float, str] | None]] = {}
        for name, item in self.table("accuracy").items():
            if not isinstance(item, dict):
                raise InputError(f"accuracy: {name}: expected a loss for each value")
            for value, told in item.items():
                losses.setdefault(name, {})[value] = self._loss(f"accuracy: {name}={value}", told)
        return Accuracy(losses=losses)

    def _loss(self, where: str, told: object) -> tuple[float, str] | None:
        if told == "unknown" or told is None:
            return None
        if isinstance(told, dict):
            self.known(("loss", "source"), told, "accuracy.")
            loss, source = self.number(where, told.get("loss")), str(told.get("source") or "")
        else:
            loss, source = self.number(where, told), ""
        if loss and not source:
            raise InputError(f"{where}: a loss needs a source", hint="or say: unknown")
        return loss, source

    def stop(self) -> Stop:
        """When it ends."""
        told = self.table("stop")
        self.known(STOP_KEYS, told, "stop.")
        given = {
            key: self.number(f"stop.{key}", item, least=0) for key, item in told.items() if item is not None
        }
        for key in ("evaluations", "patience"):
            if given.get(key, 1) < 1 or given.get(key, 1) % 1:
                raise InputError(f"stop.{key}: {given[key]:g} is no number of evaluations")
        whole = {key: int(given[key]) for key in ("evaluations", "patience") if key in given}
        rest = {key: item for key, item in given.items() if key not in whole}
        return Stop(**rest, **whole)  # type: ignore[arg-type]  # STOP_KEYS are its fields


def _better(metric: str, told: object) -> Better:
    if told is not None:
        try:
            return Better(str(told).lower())
        except ValueError:
            raise InputError(f"{metric}: better is lower or higher, not {told!r}") from None
    if metric in METRICS:
        return METRICS[metric].better
    raise InputError(f"{metric}: say which way is better", hint="better: lower, or better: higher")


def _symbol(text: object) -> str | None:
    if text is None:
        return None
    try:
        return unit(str(text)).symbol
    except ValueError as fault:
        raise InputError(str(fault)) from None
