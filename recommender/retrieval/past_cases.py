"""Past cases in which something was done about a bottleneck, those most like the present one first."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kg.nouns.entities import Kind
from kg.rows.gains import RowGain
from kg.triples.hardware_tree import Distance, HardwareTree

MOST = 3
_UNATS = 1e6
_TRUSTED = {Kind.MEASURED: 0, Kind.PUBLISHED: 1, Kind.CLAIMED: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCase:
    """A strategy tried against a bottleneck on a known problem.

    Attributes:
        gain: What it brought, where.
        device: How far its hardware is; None if the present one is not told.
        same_model: It is the same model; false if either is not told.
        same_family: Its model is of the same family; false if either is not told.
    """

    gain: RowGain
    device: Distance | None
    same_model: bool
    same_family: bool

    @property
    def factor(self) -> float:
        """Gain as a factor, above 1 where the metric became better."""
        return math.exp(self.gain.unats / _UNATS)

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "problem": self.gain.problem,
            "bottleneck": self.gain.bottleneck,
            "strategy": self.gain.strategy,
            "hardware": self.gain.hardware,
            "model": self.gain.model or None,
            "distance_class": None if self.device is None else self.device.name.lower(),
            "same_model": self.same_model,
            "same_family": self.same_family,
            "metric": self.gain.metric,
            "factor": round(self.factor, 4),
            "kind": str(self.gain.kind),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """The question that past cases are compared with.

    Attributes:
        hardware: Id in the hardware tree; empty if not told.
        model: Id of the model; empty if not told.
        tree: Knows how far hardware is apart.
        family_of: Family of a model by id, empty if unknown.
    """

    tree: HardwareTree
    hardware: str = ""
    model: str = ""
    family_of: Callable[[str], str] = field(default=lambda _: "")

    def past(self, gain: RowGain) -> PastCase:
        """Compare one gain with the question."""
        family = self.family_of(self.model) if self.model else ""
        return PastCase(
            gain=gain,
            device=self.tree.distance(self.hardware, gain.hardware) if self.hardware else None,
            same_model=bool(self.model) and gain.model == self.model,
            same_family=bool(family) and bool(gain.model) and self.family_of(gain.model) == family,
        )


def past_cases(
    gains: Iterable[RowGain], bottlenecks: Sequence[str], present: Present, most: int = MOST
) -> list[PastCase]:
    """Find the cases of strategies against any of some bottlenecks.

    Args:
        gains: All that are known.
        bottlenecks: Ids, the most wanted first: a case against an earlier one comes first.
        present: What runs, and where.
        most: How many at most.
    """
    place = {name: at for at, name in reversed(list(enumerate(bottlenecks)))}
    cases = [present.past(gain) for gain in gains if gain.bottleneck in place]

    def order(item: PastCase) -> tuple[object, ...]:
        gain = item.gain
        return (
            place[gain.bottleneck],
            not item.same_model,
            not item.same_family,
            0 if item.device is None else int(item.device),
            _TRUSTED.get(gain.kind, 2),
            -gain.unats,
            (gain.problem, gain.strategy, gain.metric, gain.configuration),
        )

    return sorted(cases, key=order)[:most]
