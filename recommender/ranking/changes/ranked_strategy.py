"""A strategy ranked for one question, with the effects that were seen of it elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from kg.nouns.effects import Effect
from kg.nouns.entities import Source
from kg.nouns.gain import Gain, rounded_factor
from kg.nouns.knowledge import Strategy
from kg.triples.hardware_tree import Distance
from recommender.ranking.change import SourceInfluence
from recommender.ranking.changes.bottlenecks import Match
from recommender.ranking.changes.prior import Prior


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEffect:
    """An effect and how far it is trusted here.

    Attributes:
        effect: What was seen.
        trust: How far its sources and its kind are trusted, 0 to 1.
        distance: How far its hardware is.
        sources: The documents that state it.
        weight: How much the expected gain moves with it, 0 to 1.
        drift: When and how it changed, in words; empty if it did not.
        runs_baseline: Whether the question is known to run what it was measured against.
    """

    effect: Effect
    trust: float
    distance: Distance
    sources: tuple[Source, ...] = ()
    weight: float = 0.0
    drift: str = ""
    runs_baseline: bool = True

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            **self.effect.context.to_json(),
            "metric": self.effect.metric,
            "kind": str(self.effect.kind),
            "n": self.effect.n,
            "mean_factor": rounded_factor(self.effect.mean),
            "distance_class": self.distance.name.lower(),
            "trust": round(self.trust, 4),
            "weight": round(self.weight, 4),
            "last_evidence": None
            if self.effect.last_evidence is None
            else self.effect.last_evidence.isoformat(timespec="seconds"),
            "drift": self.drift or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedStrategy:
    """A strategy for one question.

    Attributes:
        strategy: What.
        gain: What to expect, within its ceiling; None for what frees memory and was never timed.
        match: Which observed bottleneck it is for.
        effects: What was seen of it elsewhere; empty if its gain rests on the prior alone.
        distance: Of the nearest effect; None without any.
        prior: What is expected of any strategy.
        conflicts: Ids of strategies that it excludes.
        influence: The source without which the expected gain would change most; None without any.
        provided: Condition, in words, under which it applies; empty if the question settles that it does.
    """

    strategy: Strategy
    gain: Gain | None
    match: Match
    effects: tuple[SeenEffect, ...]
    distance: Distance | None
    prior: Prior
    conflicts: tuple[str, ...]
    influence: SourceInfluence | None = None
    provided: str = ""

    @property
    def against(self) -> str:
        """The baseline of the weightiest effect, where the question may not run it; empty otherwise."""
        weightiest = max(self.effects, key=lambda seen: abs(seen.weight), default=None)
        if weightiest is None or weightiest.runs_baseline:
            return ""
        return weightiest.effect.context.baseline_text

    @property
    def score(self) -> float:
        """Expected gain, less for what is for a more distant bottleneck."""
        expected = min(self.prior.mean, self.match.ceiling) if self.gain is None else self.gain.expected
        return expected * self.match.closeness


def kinds_of(ranked: Sequence[RankedStrategy]) -> dict[str, str]:
    """The bottleneck that each strategy fixes by the graph; fixes of one bottleneck overlap."""
    targets = {item.strategy.id: [link.target for link in item.strategy.mitigates] for item in ranked}
    return {strategy: min(found) for strategy, found in targets.items() if any(found)}
