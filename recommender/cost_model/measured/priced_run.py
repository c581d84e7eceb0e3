"""A measured run beside its price: where it lies, and how far off the price was."""

from dataclasses import dataclass

from kg.nouns.codec import JsonNoun
from recommender.cost_model.measured.step_place import StepPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedRun(JsonNoun):
    """A measured run, as a correction needs to know it.

    Attributes:
        place: Its work, machine, layout and load.
        group: Id of its problem: what is counted, and how it was timed, is alike there.
        log_ratio: Natural log of its measured time over its modelled one.
    """

    place: StepPlace
    group: str
    log_ratio: float
