"""A change worth a test, the evidence it rests on, and what is not for a question."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg.nouns.codec import OR_NULL, JsonNoun, in_json, plain
from kg.nouns.entities import Trust
from kg.nouns.gain import rounded_factor
from kg.nouns.values import Settings, digest
from recommender.ranking.paste import change_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Configuration, Problem
    from kg.nouns.gain import Gain
    from recommender.ranking.plan_setting import PlanSetting

ID_LENGTH = 12
"""Hexadecimal digits of a change's id: what a person copies."""
LEAST_LOG_GAIN = 0.03
"""Modelled change below which the cost model has nothing to say: something else hides it. A choice."""
LEAST_SHOWN = 0.005
"""Log gain below which a change wins nothing: it is printed as 1.00x."""
MEASURED = "measured here"
"""Tier of a configuration that was measured on the very question."""
OF_ACCURACY = "accuracy"
"""Kind of what says how accurate a model is in the format of a change."""
BASELINE = "the same without it"
"""Baseline of a gain where no other is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support(JsonNoun):
    """One thing that a change rests on.

    Attributes:
        kind: How it is known: measured, published, winner, documented and so on.
        says: What it says, in a line.
        weight: Its share of the expectation, 0 to 1; None where it has none.
        problem: Id of the known problem; empty if it is not a case.
        source: Title and address.
    """

    kind: str
    says: str
    weight: float | None = field(default=None, metadata=in_json(digits=4))
    problem: str = field(default="", metadata=OR_NULL)
    source: str = field(default="", metadata=OR_NULL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInfluence(JsonNoun):
    """Influence of one source on an expected gain.

    Attributes:
        source: Title and address.
        moved: By how much the source moves the expected gain, in nats.
        gain: The gain to expect without all that the source speaks for.
    """

    source: str
    moved: float = field(metadata=in_json("moves_expected_log", digits=6))
    gain: Gain = field(metadata=in_json("gain_without"))

    def __str__(self) -> str:
        return f"without {self.source} it would be {self.gain} ({math.expm1(self.moved):+.1%} by that source)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change to test: a strategy, settings of recipes, another layout, a configuration of cases, a start.

    Attributes:
        id: From problem, configuration and knowledge version, for outcomes and ``explain``; may be empty.
        title: What it is, in a few words.
        strategy: Id of the strategy; empty for a configuration of past cases or of recipes.
        how: What one does, in a sentence; empty if the configuration says it.
        configuration: What to set; only what differs from the current configuration.
        flags: The same, ready to paste.
        settings: What to set in a plan, each where it is set.
        gain: Expected log gain with a 90 % interval; None if nothing can be said.
        probability: That it helps at all, where that was checked on cases; see :attr:`helps`.
        against: Baseline of the gain that the start may not run; empty for the same without the change.
        basis: What the gain rests on, in words.
        tier: How it is known.
        provided: Condition, in words, that the question does not settle; empty if it applies.
        distance_class: How far the nearest evidence is; empty if there is none.
        bottleneck: Observed bottleneck that it is for; empty if none was told.
        ceiling: Log gain that cannot be exceeded; None if unknown.
        parts: The numbers behind the rank, by name.
        evidence: What it rests on, the weightiest first.
        conflicts: Ids of strategies that it excludes.
        conditions: What must hold, and what to check before.
        accuracy: Effect on accuracy: unchanged, may-change or unknown.
        trust: How far the most trusted source of this configuration is trusted.
        influence: The source without which the expected gain would change most; None where it rests on none.
        recipes: Ids of the recipes that a start configuration rests on.
        layout: Its parallel sizes; empty unless it is a start.
        order: Its place among the changes of a plan: the smaller comes first.
    """

    id: str = ""
    title: str = ""
    strategy: str = ""
    how: str = ""
    configuration: Configuration = field(default_factory=Settings)
    flags: tuple[str, ...] = ()
    settings: tuple[PlanSetting, ...] = ()
    gain: Gain | None = None
    probability: float | None = None
    against: str = ""
    basis: str = ""
    tier: str = "documented"
    provided: str = ""
    distance_class: str = ""
    bottleneck: str = ""
    ceiling: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    evidence: tuple[Support, ...] = ()
    conflicts: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    accuracy: str = "unchanged"
    trust: Trust = Trust.MEDIUM
    influence: SourceInfluence | None = None
    recipes: tuple[str, ...] = ()
    layout: Settings = field(default_factory=Settings)
    order: tuple[object, ...] = field(default=(), compare=False)

    @property
    def helps(self) -> float | None:
        """Probability that it helps at all; None if nothing can be said."""
        if self.probability is not None or self.gain is None:
            return self.probability
        return self.gain.probability_of_gain

    @property
    def baseline(self) -> str:
        """The baseline of the gain."""
        return self.against or BASELINE

    @property
    def wins(self) -> bool:
        """True if its expected gain is large enough to show."""
        return self.gain is not None and self.gain.expected >= LEAST_SHOWN

    @property
    def known_accuracy(self) -> str:
        """The published accuracy that it leads to, in words; empty where none is known."""
        return next((one.says for one in self.evidence if one.kind == OF_ACCURACY), "")

    @property
    def words(self) -> list[str]:
        """Settings of the change, each as it is written."""
        return change_words(self.settings)

    def to_json(self) -> dict[str, Any]:
        """Plain content as a recommendation of its own; the unknown is null."""
        gain = None if self.gain is None else {**self.gain.to_json(), "against": self.baseline}
        return {
            **self._heading(),
            "configuration": self.configuration.to_json(),
            "flags": list(self.flags),
            "gain": gain,
            "probability_of_gain": plain(self.helps, 3),
            "basis": self.basis,
            "distance_class": self.distance_class or None,
            "bottleneck": self.bottleneck or None,
            "ceiling_factor": rounded_factor(self.ceiling),
            "parts": plain(self.parts, 6),
            "evidence": plain(self.evidence),
            "conflicts": list(self.conflicts),
            "conditions": list(self.conditions),
            "accuracy": self.accuracy,
            "most_influential_source": plain(self.influence),
        }

    def plan_json(self) -> dict[str, Any]:
        """Plain content as a change of a plan's start."""
        gain = self.gain
        return {
            **self._heading(),
            "settings": plain(self.settings),
            "gain": None
            if gain is None
            else {
                **gain.to_json(),
                "chance": round(gain.probability_of_gain, 3),
                "against": self.against or "the start",
            },
            "tier": self.tier,
            "if": self.provided or None,
            "accuracy": self.accuracy,
            "conflicts": list(self.conflicts),
            "evidence": plain(self.evidence),
        }

    def _heading(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "strategy": self.strategy or None,
            "how": self.how or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHere(JsonNoun):
    """A strategy or setting that is not for a question.

    Attributes:
        strategy: Its name, or the setting.
        because: Why, in words.
        fact: The fact or rule that decided.
        source: Who says so; empty for a rule of arithmetic.
    """

    strategy: str
    because: str
    fact: str = field(default="", metadata=OR_NULL)
    source: str = field(default="", metadata=OR_NULL)


def recommendation_id(
    problem: Problem, configuration: Configuration, version: str, strategy: str = ""
) -> str:
    """Return the id of a change, a digest of question, configuration and knowledge version."""
    return digest(problem.id, configuration.to_json(), strategy, version)[:ID_LENGTH]


def changes(configuration: Configuration, current: Configuration | None) -> Settings:
    """Return the settings that differ from the current configuration; all of them if there is none."""
    return configuration if current is None else configuration.changed_from(current)
