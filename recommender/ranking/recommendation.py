"""Recommendations and the evidence they rest on."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kg.nouns.codec import OR_NULL, JsonNoun, in_json
from kg.nouns.entities import Trust
from kg.nouns.gain import rounded_factor
from kg.nouns.values import Settings, digest, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Configuration, Problem
    from kg.nouns.gain import Gain

ID_LENGTH = 12
"""Hexadecimal digits of a recommendation's id: what a person copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support(JsonNoun):
    """One thing that a recommendation rests on.

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
    """What one source does to an expected gain.

    Attributes:
        source: Title and address.
        gain: The gain to expect without all that the source speaks for.
        moved: By how much the source moves the expected gain, in nats.
    """

    source: str
    moved: float = field(metadata=in_json("moves_expected_log", digits=6))
    gain: Gain = field(metadata=in_json("gain_without"))

    def __str__(self) -> str:
        return f"without {self.source} it would be {self.gain} ({math.expm1(self.moved):+.1%} by that source)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A configuration to try.

    Attributes:
        id: From problem, configuration and knowledge version; an outcome refers to it.
        title: What it is, in a few words.
        how: What one does, in a sentence; empty if the configuration says it.
        configuration: What to set; only what differs from the current configuration.
        flags: The same, ready to paste.
        gain: Expected log gain with a 90 % interval; None if nothing can be said.
        probability: That it helps at all, where that was checked on cases; see :attr:`helps`.
        against: What the gain is against.
        basis: What the gain rests on, in words.
        distance_class: How far the nearest evidence is; empty if there is none.
        bottleneck: Observed bottleneck that it is for; empty if none was told.
        ceiling: Log gain that cannot be exceeded; None if unknown.
        parts: The numbers behind the rank, by name.
        evidence: What it rests on, the weightiest first.
        conflicts: What it cannot be combined with.
        conditions: What must hold, and what to check before.
        accuracy: Effect on accuracy: unchanged, may-change or unknown.
        strategy: Id of the strategy; empty for a configuration of past cases.
        trust: How far the most trusted source of this configuration is trusted.
        influence: The source without which the expected gain would change most; None where it rests on none.
    """

    id: str
    title: str
    configuration: Configuration
    flags: tuple[str, ...]
    gain: Gain | None
    against: str
    basis: str
    distance_class: str = ""
    bottleneck: str = ""
    ceiling: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    evidence: tuple[Support, ...] = ()
    conflicts: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    accuracy: str = "unchanged"
    strategy: str = ""
    how: str = ""
    probability: float | None = None
    trust: Trust = Trust.MEDIUM
    influence: SourceInfluence | None = None

    @property
    def helps(self) -> float | None:
        """Probability that it helps at all; None if nothing can be said."""
        if self.probability is not None or self.gain is None:
            return self.probability
        return self.gain.probability_of_gain

    def to_json(self) -> dict[str, Any]:
        """Return the content as JSON-ready values; the unknown is null."""
        return {
            "id": self.id,
            "title": self.title,
            "strategy": self.strategy or None,
            "how": self.how or None,
            "configuration": self.configuration.to_json(),
            "flags": list(self.flags),
            "gain": None if self.gain is None else {**self.gain.to_json(), "against": self.against},
            "probability_of_gain": None if self.helps is None else round(self.helps, 3),
            "basis": self.basis,
            "distance_class": self.distance_class or None,
            "bottleneck": self.bottleneck or None,
            "ceiling_factor": rounded_factor(self.ceiling),
            "parts": {name: round(value, 6) for name, value in self.parts.items()},
            "evidence": [item.to_json() for item in self.evidence],
            "conflicts": list(self.conflicts),
            "conditions": list(self.conditions),
            "accuracy": self.accuracy,
            "most_influential_source": None if self.influence is None else self.influence.to_json(),
        }


def recommendation_id(
    problem: Problem, configuration: Configuration, version: str, strategy: str = ""
) -> str:
    """Return the id of a recommendation, a digest of question, configuration and knowledge version."""
    return digest(problem.id, configuration.to_json(), strategy, version)[:ID_LENGTH]


def factor_text(gain: Gain | None) -> str:
    """Format a gain for people: ``1.25x (0.98 to 1.60)``."""
    if gain is None:
        return "unknown"
    return str(gain)


def plain_flags(configuration: Configuration) -> tuple[str, ...]:
    """Settings that have no better spelling, as ``name=value``."""
    return tuple(f"{shell_word(name)}={shell_word(show(value))}" for name, value in configuration.items())


def shell_word(text: str) -> str:
    """A text as people paste it into a shell: quoted where the shell would take it for more than text."""
    return shlex.quote(text) if text else ""


def changes(configuration: Configuration, current: Configuration | None) -> Settings:
    """Return the settings that differ from the current configuration; all of them if there is none."""
    return configuration if current is None else configuration.changed_from(current)
