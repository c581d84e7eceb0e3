"""The task of a search: its space, objectives and limits, where the numbers come from, and when it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kg.nouns.entities import Kind
from kg.nouns.values import Settings, digest
from recommender.measuring.process import Bounds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Limit, Objective
    from recommender.measuring.readings import OutputReading
    from recommender.search.objectives.modelled import CostModel
    from recommender.search.run.estimate import CostEstimate
    from recommender.search.run.objective import Accuracy
    from recommender.space.parts import SearchPart
    from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Bounds that end a search.

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
class TaskCommand:
    """The command that measures a configuration.

    Attributes:
        words: Program and arguments; or one text, which a shell runs.
        inputs: Values of further placeholders; each configuration runs on all of them.
        repeats: Runs on each input that count.
        warmup: Runs on each input before those.
        bounds: Time and disk that a run may take.
        environment: Variables; values may hold placeholders.
    """

    words: tuple[str, ...] | str
    inputs: tuple[Settings, ...] = (Settings(),)
    repeats: int = 1
    warmup: int = 0
    bounds: Bounds = field(default_factory=Bounds)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskModel:
    """The cost model that estimates a configuration.

    Attributes:
        cost_model: Of the model and the machine; None before their facts were looked up.
    """

    cost_model: CostModel | None


NumberSource: TypeAlias = TaskCommand | TaskModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A search file, read.

    Attributes:
        name: What to call the search.
        space: What may be proposed.
        objectives: What decides; several give a Pareto front.
        limits: Bounds on other metrics.
        readings: Where a command prints its metrics; empty without a command.
        default: Proposed first, and the baseline of gains; None if there is none.
        accuracy: Published losses of accuracy by setting.
        stop: When it ends.
        number_source: What evaluates a configuration; None where people do.
        problem: The question that the search answers, as a problem file states it; None without one.
        versions: Commands that print the version of a program, by its name.
        memory_unchecked: Why the modelled memory is not checked; empty if it is, or does not apply.
        jobs: Evaluations at the same time.
        finalists: How many of the best are measured again at the end.
        parts: What the objective is the sum of; empty where it is one thing.
        estimate: What its author expects each configuration to cost; None where the file does not say.
    """

    name: str
    space: SearchSpace
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    readings: tuple[OutputReading, ...]
    default: Settings | None
    accuracy: Accuracy
    stop: Stop
    number_source: NumberSource | None = None
    problem: Mapping[str, object] | None = None
    versions: Mapping[str, list[str]] = field(default_factory=dict)
    memory_unchecked: str = ""
    jobs: int = 1
    finalists: int = 0
    parts: tuple[SearchPart, ...] = ()
    estimate: CostEstimate | None = None

    @property
    def is_modelled(self) -> bool:
        """True where the cost model gives the numbers."""
        return isinstance(self.number_source, TaskModel)

    @property
    def kind(self) -> Kind:
        """Measured or modelled."""
        return Kind.MODELLED if self.is_modelled else Kind.MEASURED

    @property
    def digest(self) -> str:
        """Identifier of what a resumed search must find unchanged: space, objectives and limits."""
        decides = [[item.metric, item.better, item.unit] for item in self.objectives]
        return digest(self.space.digest, decides, [[x.metric, x.maximum] for x in self.limits])
