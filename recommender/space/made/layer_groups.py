"""Precision by layer group in a space of layouts: what a ranking lets go down, within a budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recommender.cost_model.facts.device import ELEMENT_BYTES
from recommender.cost_model.settings.plans import GROUPS
from recommender.space.made.generated import ExcludedValue, rule

HIGH_BYTES = 2
"""Bytes of an element from which a precision counts as high: groups go down from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGroups:
    """Layer groups that may take a low precision, as ``recommender.answers.sensitivity.space`` ranks them.

    Attributes:
        written: Its parameters, constraints and losses.
        budget: Loss of accuracy that may be spent; None for any.
        source: Where the losses are from.
    """

    written: Mapping[str, Any]
    budget: float | None
    source: str

    @property
    def priced(self) -> tuple[str, ...]:
        """The groups whose precision the cost model knows."""
        return tuple(name for name in self.written["parameters"] if name in GROUPS)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Parameters it does not know; they stay as the rest."""
        return tuple(name for name in self.written["parameters"] if name not in GROUPS)

    def add(
        self,
        parameters: dict[str, list[object]],
        constraints: list[dict[str, str]],
        excluded: list[ExcludedValue],
    ) -> None:
        """Lay the groups into a space; the rest of the model stays in a high precision."""
        for name in self.priced:
            parameters[name] = list(self.written["parameters"][name])
        known = {*self.priced}
        constraints += [
            dict(item)
            for item in self.written["constraints"]
            if not any(other in item["expression"] for other in self.unpriced)
        ]
        why = "groups go down by the ranking, the rest does not"
        for value in list(parameters.get("precision", ())):
            if ELEMENT_BYTES[str(value)] < HIGH_BYTES:
                parameters["precision"].remove(value)
                excluded.append(ExcludedValue(what=f"precision={value}", why=why, source=self.source))
        losses = {
            (name, value): loss["loss"]
            for name, values in self.written["accuracy"].items()
            for value, loss in values.items()
            if name in known and isinstance(loss, dict)
        }
        if self.budget is not None and losses:
            spent = " + ".join(f"{loss!r} * ({name} == {value!r})" for (name, value), loss in losses.items())
            reason = f"the losses add up to at most {self.budget:.6g}"
            constraints.append(rule(f"{spent} <= {self.budget!r}", reason, self.source))

    @property
    def sections(self) -> dict[str, object]:
        """The sections of a search file that state the losses."""
        accuracy = {name: self.written["accuracy"][name] for name in self.priced}
        limits = {} if self.budget is None else {"limits": list(self.written["limits"])}
        return {"accuracy": accuracy, **limits}
