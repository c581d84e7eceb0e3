"""The situation of a question: what recipes are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kg.nouns.entities import Configuration, Problem
from kg.nouns.layout import ParallelLayout
from kg.nouns.recipe import Role
from kg.nouns.situation import STAYS
from kg.terms.conditions import FactValue
from kg.terms.dialects import statement
from kg.terms.purposes import plain_key
from kg.terms.tasks import task_of
from recommender.applicability.framework import RunningFramework
from recommender.ranking.model_traits import ModelTraits

_CURRENT = "current."
ROLES = {
    "training": frozenset({Role.TRAIN, Role.FINETUNE}),
    "prefill": frozenset({Role.PREFILL}),
    "decode": frozenset({Role.DECODE}),
}
"""Roles of recipes by phase of the question; any other phase is served in one piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSituation:
    """The situation that a start configuration is for.

    Attributes:
        problem: The question.
        framework: What is launched.
        model: What of the model decides.
        hardware: The device and what is above it in the tree.
        devices: Devices of this role; None if the question does not say.
        facts: All facts of the question, by the names of conditions.
    """

    problem: Problem
    framework: RunningFramework
    model: ModelTraits
    hardware: tuple[str, ...]
    devices: int | None = None
    facts: Mapping[str, FactValue] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """Training, serving, prefill or decode."""
        stated = str(self.facts.get("role", ""))
        return stated if stated in ROLES else str(self.facts.get("phase", ""))

    @property
    def roles(self) -> frozenset[Role]:
        """Roles of the recipes that can be compared."""
        return ROLES.get(self.phase, frozenset({Role.SERVE}))

    @property
    def task(self) -> str:
        """The task that the name of the checkpoint or of the model states; empty where neither does."""
        return task_of(self.problem.situation.model_name) or task_of(self.model.id)

    @property
    def is_training(self) -> bool:
        """True if the model is trained."""
        return self.phase == "training"

    @property
    def taken_away(self) -> frozenset[str]:
        """Plain keys of what the launch sets and was found only to cost: no measured run brings it back."""
        stated = (fact.name for fact in self.problem.situation if fact.name.startswith(_CURRENT))
        kept = {plain_key(name) for name in self.problem.current or {}}
        return frozenset(plain_key(name.removeprefix(_CURRENT)) for name in stated) - kept

    @property
    def at_once(self) -> float | None:
        """Requests at once that the question states, also as the batch of a server; None if it does not."""
        load = self.number("concurrency")
        return self.number("batch") if load is None and not self.is_training else load

    @property
    def current(self) -> Configuration | None:
        """The settings that run now."""
        return self.problem.current

    def splits_attention(self, *, anew: bool) -> bool:
        """True if replicas copy attention alone, as some engines do with experts, unless the launch differs.

        Args:
            anew: Whether another layout than the one that runs is meant.
        """
        now = statement(self.current or {}, self.framework.id).facts
        copies = not anew and "dp_attention" not in now and bool({"tp", "dp"} & set(now))
        splits = self.framework.id in {"sglang", "tensorrt-llm"}
        return splits and bool(self.model.is_mixture) and not copies

    def divided(self, layout: ParallelLayout | None) -> StartSituation:
        """The same with the sizes of a layout among its facts."""
        if layout is None:
            return self
        sizes = {name: size for name, size in layout.to_json().items() if name != "devices"}
        return replace(self, facts={**sizes, **self.facts})

    def script_key(self, name: str) -> str:
        """The script's spelling of a setting where its name does not show it: a flag, or a field's path."""
        stated = self.problem.situation.facts.get(f"places.{name}")
        return "" if stated is None or stated.value == STAYS else str(stated.value)

    def stays(self, name: str) -> bool:
        """True if a setting is passed to the launcher or stands in a file, and stays there."""
        stated = self.problem.situation.facts.get(f"places.{name}")
        return stated is not None and stated.value == STAYS

    def number(self, fact: str) -> float | None:
        """A fact as a number; None if it is unknown or none."""
        value = self.facts.get(fact)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
