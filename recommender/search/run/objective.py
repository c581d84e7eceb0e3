"""Evaluations from measurements, and the published loss of accuracy where nobody measures it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg.nouns.entities import Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Evaluation
from recommender.space.parts import SearchPart


def evaluation_of(
    outcome: RunOutcome,
    configuration: Settings,
    objectives: Sequence[Objective],
    limits: Sequence[Limit],
    parts: Sequence[SearchPart] = (),
) -> Evaluation:
    """A measurement for a search: a value an objective, then one a limit; what cannot be compared failed."""
    if outcome.status is not Status.OK:
        return _failed(outcome, configuration, outcome.reason or "failed", objectives, limits)
    for objective in objectives:
        value = outcome.values.get(objective.metric)
        if value is None:
            return _failed(outcome, configuration, f"no value of {objective.metric}", objectives, limits)
        if not value > 0:
            reason = f"{objective.metric} is {value:g}: ratios need values above zero"
            return _failed(outcome, configuration, reason, objectives, limits)
    names = [*(item.metric for item in objectives), *(item.metric for item in limits)]
    return Evaluation(
        configuration=configuration,
        values=tuple(outcome.values.get(name) for name in names),
        stdev=tuple(outcome.stdev.get(name) for name in names),
        repeats=outcome.repeats,
        cost_s=outcome.cost_s,
        parts=_costs(outcome, parts),
    )


def _costs(outcome: RunOutcome, parts: Sequence[SearchPart]) -> tuple[float, ...]:
    """The cost of each part; empty where one is unknown or not above zero."""
    costs = [sum(outcome.values.get(metric, math.nan) for metric in part.metrics) for part in parts]
    return tuple(costs) if all(cost > 0 for cost in costs) else ()


def _failed(
    outcome: RunOutcome,
    configuration: Settings,
    reason: str,
    objectives: Sequence[Objective],
    limits: Sequence[Limit],
) -> Evaluation:
    return Evaluation(
        configuration=configuration,
        values=(None,) * (len(objectives) + len(limits)),
        status=Status.FAILED if outcome.status is Status.OK else outcome.status,
        reason=reason,
        repeats=outcome.repeats,
        cost_s=outcome.cost_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Published losses of accuracy by setting, where the evaluation does not measure it.

    Attributes:
        losses: By parameter and value: the loss as a share with its source, or None where it is unknown.
            Values that are not listed cost nothing.
    """

    losses: Mapping[str, Mapping[object, tuple[float, str] | None]] = field(default_factory=dict)

    def loss(self, configuration: Settings) -> tuple[float | None, str]:
        """Sum of the losses of a configuration, and what it rests on; None if any is unknown."""
        total, basis = 0.0, []
        for name, by_value in self.losses.items():
            if name not in configuration or configuration[name] not in by_value:
                continue
            known = by_value[configuration[name]]
            if known is None:
                return None, f"{name}={configuration[name]}: unknown"
            total += known[0]
            if known[1]:
                basis.append(f"{name}={configuration[name]}: {known[1]}")
        return total, "; ".join(basis)

    def unknown(self) -> list[tuple[str, object]]:
        """Settings whose loss nobody published."""
        return [
            (name, value)
            for name, by_value in self.losses.items()
            for value, known in by_value.items()
            if known is None
        ]
