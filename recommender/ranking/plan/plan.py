"""The plan that answers a question about a model: where to start, what to test, what not to do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kg.nouns.codec import JsonNoun, in_json
from recommender.ranking.change import Change, NotHere
from recommender.ranking.plan.missed_limits import MissedLimit
from recommender.ranking.start import StartConfiguration


def _further(changes: Iterable[Change]) -> list[dict[str, object]]:
    return [{"title": item.title, "strategy": item.strategy or None} for item in changes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(JsonNoun):
    """A start configuration, alternatives, and changes in the order to test them.

    Attributes:
        understood: Facts of the question by name, as conditions read them.
        start: The configuration to begin with; with ``fits`` false the smallest that would fit.
        alternatives: Configurations of another kind.
        changes: What to test on the start, best first.
        further: Changes beyond those asked for.
        not_here: What is not for this question, with the fact that decides.
        missed: Limits that the start misses, though it comes nearest to them.
    """

    understood: Mapping[str, object] = field(default_factory=dict)
    start: StartConfiguration
    alternatives: tuple[StartConfiguration, ...] = ()
    changes: tuple[Change, ...] = field(
        default=(), metadata=in_json(write=lambda changes: [item.plan_json() for item in changes])
    )
    further: tuple[Change, ...] = field(default=(), metadata=in_json(write=_further))
    not_here: tuple[NotHere, ...] = ()
    missed: tuple[MissedLimit, ...] = field(default=(), metadata=in_json("missed_limits"))

    @property
    def keeps_limits(self) -> bool:
        """True if all limits that can be judged are kept, or may be within the error of the model."""
        return all(item.within_reach for item in self.missed)

    @property
    def fits(self) -> bool:
        """True if there is a configuration that fits, or if that is unknown."""
        return self.start.fits is not False
