"""An objective that is the cost model: throughput, step time, peak memory and energy of a step.

What does not fit the device's memory fails as out of memory, where the capacity is known; a layout that
cannot be fails with its rule. Numbers are modelled, and say so.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from kg.errors import InputError
from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from recommender.cost_model.measured.correction import RunCorrection, SiteLevel
from recommender.cost_model.measured.step_place import PricedRun
from recommender.cost_model.operators.kinds import Operators
from recommender.cost_model.priced_step import price
from recommender.cost_model.question import Question, QuestionFacts, engine_of
from recommender.measuring.outcome import RunOutcome

_METRICS = {
    "throughput": "throughput",
    "step_time": "time_s",
    "latency": "time_s",
    "peak_memory": "memory_total_bytes",
    "energy": "energy_j",
    "power": "power_w",
    "ttft": "ttft_s",
    "tpot": "tpot_s",
}
"""Metrics and where the estimate has them; energy is that of one step over all devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """The cost model as an objective.

    Attributes:
        question: Model, machine, phase, and the settings that are not searched.
        operators: Calibrated operators; the shipped ones if None.
    """

    question: Question
    operators: Operators | None = None

    @property
    def kind(self) -> Kind:
        """Kind of its values: modelled."""
        return Kind.MODELLED

    def evaluate(self, configuration: Settings, cancel: Event) -> RunOutcome:  # noqa: ARG002  takes milliseconds
        """Estimate one configuration.

        Raises:
            MissingFactError: A fact that the estimate needs is unknown.
        """
        started = time.monotonic()
        try:
            record = self.records([configuration])[0]
        except InputError as fault:
            return RunOutcome(status=Status.FAILED, reason=str(fault), cost_s=time.monotonic() - started)
        if record["fits"] is False:
            total, capacity = record["memory_total_bytes"], record["memory_capacity_bytes"]
            reason = f"out of memory: {_gigabytes(total)} of {_gigabytes(capacity)}"
            return RunOutcome(status=Status.FAILED, reason=reason, cost_s=time.monotonic() - started)
        values = {
            name: float(value)
            for name, key in _METRICS.items()
            if isinstance(value := record.get(key), int | float)
        }
        return RunOutcome(values=values, cost_s=time.monotonic() - started)

    def records(self, configurations: Sequence[Settings]) -> list[dict[str, object]]:
        """Full estimates, with the split of the time.

        Raises:
            InputError: A layout that cannot be.
            MissingFactError: A fact that the estimate needs is unknown.
        """
        return [step.to_json() for step in price(self.question, configurations, self.operators)]


def question_of_section(section: object) -> Question:
    """The question of a search file's section on the cost model, with the facts that a log keeps.

    Raises:
        MissingFactError: A size of the model is unknown.
        InputError: The facts were not looked up: the file was not prepared by a workspace.
    """
    if not isinstance(section, dict) or "facts" not in section:
        raise InputError(
            "cost_model: the facts of model and device are not there", hint="search with a workspace"
        )
    count, fixed = section.get("count", 1), section.get("fixed") or {}
    if isinstance(count, bool) or not isinstance(count, int):
        raise InputError(f"cost_model: {count!r} is no number of devices")
    if not isinstance(fixed, dict):
        raise InputError("cost_model: fixed: expected settings and their values", hint="{seq_len: 4096}")
    facts = QuestionFacts.from_json(section["facts"])
    engine, version = engine_of(section.get("software") or {})
    return Question(
        model=facts.model_sizes(),
        machine=facts.machine(count),
        phase=str(section.get("phase", "training")),
        settings=dict(fixed),
        engine=engine,
        version=version,
        measured=RunCorrection(
            runs=tuple(PricedRun.from_json(run) for run in section.get("measured", ())),
            level=SiteLevel.from_json(section["level"]) if "level" in section else None,
        ),
    )


def _gigabytes(value: object) -> str:
    return f"{value / 1e9:.1f} GB" if isinstance(value, int | float) else "?"
