"""A measured run beside its price: where it lies, and how far off the price was."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from recommender.cost_model.measured.step_place import StepPlace

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedRun:
    """What a correction needs to know of a measured run.

    Attributes:
        place: Its work, machine, layout and load.
        group: Id of its problem: what is counted, and how it was timed, is alike there.
        log_ratio: Natural log of its measured time over its modelled one.
    """

    place: StepPlace
    group: str
    log_ratio: float

    def to_json(self) -> dict[str, object]:
        """The run as JSON."""
        return {"place": asdict(self.place), "group": self.group, "log_ratio": self.log_ratio}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            KeyError, TypeError: It is none.
        """
        place: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in content["place"].items()
        }
        return cls(
            place=StepPlace(**place), group=str(content["group"]), log_ratio=float(content["log_ratio"])
        )
