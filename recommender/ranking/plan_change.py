"""A change worth testing on a start configuration, and what is not for a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg.nouns.codec import OR_NULL, JsonNoun
from recommender.ranking.paste import change_words

if TYPE_CHECKING:
    from kg.nouns.gain import Gain
    from recommender.ranking.plan_setting import PlanSetting
    from recommender.ranking.recommendation import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """One change to test on the start configuration.

    Attributes:
        id: What an outcome or ``explain`` refers to.
        title: What it is, in a few words.
        strategy: Id of the strategy; empty for settings that recipes have.
        how: What one does, in a sentence.
        settings: What to set.
        gain: Expected log gain against the start, with its interval; None where nothing of its own says so.
        against: Baseline of a published gain that the start may not run; empty for the start itself.
        tier: How it is known.
        provided: Condition, in words, that the question does not settle; empty if it applies.
        accuracy: Effect on accuracy: unchanged, may-change or unknown.
        conflicts: Ids of strategies that it excludes.
        evidence: What it rests on, weightiest first.
    """

    id: str
    title: str
    strategy: str = ""
    how: str = ""
    settings: tuple[PlanSetting, ...] = ()
    gain: Gain | None = None
    against: str = ""
    tier: str = "documented"
    provided: str = ""
    accuracy: str = "unchanged"
    conflicts: tuple[str, ...] = ()
    evidence: tuple[Support, ...] = ()

    @property
    def words(self) -> list[str]:
        """What to set, each setting as it is written."""
        return change_words(self.settings)

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        gain = self.gain
        return {
            "id": self.id,
            "title": self.title,
            "strategy": self.strategy or None,
            "how": self.how or None,
            "settings": [item.to_json() for item in self.settings],
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
            "evidence": [item.to_json() for item in self.evidence],
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
