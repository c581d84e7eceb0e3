"""Gains of changes by paired simulation: the same problem with and without the change, on the cost model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import InputError, MissingFactError
from recommender.cost_model.change import modelled_change, modelled_gain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.gain import Gain
    from kg.nouns.values import Value
    from recommender.cost_model.question import Question

LEAST_LOG_GAIN = 0.03
"""Modelled change below which the cost model has nothing to say: it has no mechanism for it, or another part
of the step hides it. A choice."""


NOT_TRUSTED = frozenset({"overlap_tensor_parallel"})
"""Settings whose modelled gain is not used: the cost model takes this overlap for free up to 0.7 of the
time of the products, which is five to fifteen times what was published of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChange:
    """What the cost model says of a change.

    Attributes:
        gain: Log gain in what is asked for, with its interval; None where the cost model has nothing to say.
        fits: Whether the memory suffices with it.
    """

    gain: Gain | None = None
    fits: bool = True


UNSAID = SimulatedChange()


def simulated(
    question: Question | None, configuration: Mapping[str, Value], result: str = "throughput"
) -> SimulatedChange:
    """A change simulated on a problem.

    Args:
        question: The start as the cost model was asked about it; None if it has no price.
        configuration: What the change sets, by the names of a framework.
        result: What is asked for: ``"throughput"``, ``"tpot"`` or ``"ttft"``.
    """
    if question is None:
        return UNSAID
    try:
        change = modelled_change(question, configuration)
    except (InputError, MissingFactError):
        return UNSAID
    if change is None or change.settings.keys() <= NOT_TRUSTED:
        return UNSAID
    fits = change.after.fits is not False or change.before.fits is False
    gained = change.log_gain_in(result)
    if gained is None or abs(gained) < LEAST_LOG_GAIN:
        return SimulatedChange(fits=fits)
    return SimulatedChange(gain=modelled_gain(gained), fits=fits)
