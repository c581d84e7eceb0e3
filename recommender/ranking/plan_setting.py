"""A setting of a plan: what to set, where it is written, and what says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.codec import NOT_IN_JSON, OR_NULL, Empty, JsonNoun, in_json
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value

FIELDS = frozenset({SettingPlace.YAML, SettingPlace.CODE})
"""Places of the fields of files and programs: a registry may know them as flags."""


class Origin(StrEnum):
    """Origins of a setting of a start configuration."""

    COST_MODEL = "cost model"
    RECIPE = "recipe"
    CASE = "case"
    CURRENT = "current"
    KNOWLEDGE = "knowledge"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSetting(JsonNoun):
    """One setting of a plan, as it is written.

    Attributes:
        where: The place it is written in.
        key: As it is written there: a flag, a variable, or the path of a field with dots.
        value: What it is set to; None for a flag without a value.
        origin: What it comes from.
        source: Where that can be read; empty for the cost model.
        agreement: Share of the recipes for problems like this one that set it; None where none was asked.
        file: File that a field is written in; empty for a flag, a variable, or a field of a flag's object.
        negation: Flag that switches it off, where it is a switch that has one; else empty.
        removed: It is taken away: a switch that nothing else switches off.
    """

    where: SettingPlace
    key: str
    file: str = field(default="", metadata=in_json(empty=Empty.OMITTED))
    value: Value
    origin: Origin = field(metadata=in_json("from"))
    source: str = field(default="", metadata=OR_NULL)
    agreement: float | None = field(default=None, metadata=in_json(digits=3))
    negation: str = field(default="", metadata=NOT_IN_JSON)
    removed: bool = field(default=False, metadata=in_json(empty=Empty.OMITTED))

    @property
    def name(self) -> str:
        """Its name as a setting: a flag without dashes, a field with the object that it is in."""
        if self.where is SettingPlace.ENV:
            return self.key
        return self.key.lstrip("-").replace("-", "_")


def settings_by_key(
    values: Mapping[str, Value],
    origin: Origin = Origin.COST_MODEL,
    source: str = "",
    place: SettingPlace = SettingPlace.YAML,
    file: str = "",
) -> list[PlanSetting]:
    """Settings of a plan by key: with dashes a flag, else at the place that is told."""
    return [
        PlanSetting(
            where=SettingPlace.FLAG if key.startswith("-") else place,
            key=key,
            value=value,
            origin=origin,
            source=source,
            file=file,
        )
        for key, value in values.items()
    ]
