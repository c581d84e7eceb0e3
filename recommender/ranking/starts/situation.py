"""The situation of a question: what recipes are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.nouns.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Configuration, Problem
    from kg.terms.conditions import FactValue
    from recommender.applicability.framework import RunningFramework
    from recommender.ranking.model_traits import ModelTraits

ROLES = {
    "training": frozenset({Role.TRAIN, Role.FINETUNE}),
    "prefill": frozenset({Role.PREFILL}),
    "decode": frozenset({Role.DECODE}),
}
"""Roles of recipes by phase of the question; any other phase is served in one piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSituation:
    """What a start configuration is for.

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
    def is_training(self) -> bool:
        """Whether the model is trained."""
        return self.phase == "training"

    @property
    def at_once(self) -> float | None:
        """Requests at once that the question states, also as the batch of a server; None if it does not."""
        load = self.number("concurrency")
        return self.number("batch") if load is None and not self.is_training else load

    @property
    def current(self) -> Configuration | None:
        """The settings that run now."""
        return self.problem.current

    def number(self, fact: str) -> float | None:
        """A fact as a number; None if it is unknown or none."""
        value = self.facts.get(fact)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
