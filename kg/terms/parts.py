"""The part that a setting configures: of a model, a chip or the work, by ``data/settings/parts.yaml``."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from kg.nouns.values import Value
from kg.terms.conditions import Condition, Facts, Truth
from kg.terms.meanings import table
from kg.terms.purposes import any_of, plain_key
from kg.terms.setting_registry import registry, softwares


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPart:
    """A part that settings configure.

    Attributes:
        name: What people call it.
        when: What holds where it is there.
        is_built: Whether the model or the chip has it; else the work is divided so.
        is_split: Whether it is there where a model is divided so, and not where it is known not to be.
        places: Files of programs that define settings of this part alone.
        keys: Keys of its settings.
        values: Keys with a value that needs it.
        has_flags: Whether its fields are flags too, of the same names.
    """

    name: str
    when: Condition
    is_built: bool
    is_split: bool
    places: re.Pattern[str]
    keys: re.Pattern[str]
    values: re.Pattern[str]
    has_flags: bool

    def lacking(self, facts: Facts) -> str:
        """The missing part, in words, if a question has none; empty where it has, or may have."""
        return f"no {self.name}" if self.when.judge(facts).truth is Truth.FAILS else ""

    def is_in(self, facts: Facts) -> bool:
        """True if a question is known to have it."""
        return self.when.judge(facts).truth is Truth.HOLDS


@lru_cache(maxsize=8192)
def part_of(key: str, value: Value = None, software: str = "") -> SettingPart | None:
    """The part that a setting configures; None where it is for any model on any chip.

    The file that defines it says so, or that of the field that its flag is made of; else its key.

    Args:
        key: In any spelling; of a field its path, carrier first.
        value: What it is set to: ``method=mtp`` needs layers that draft.
        software: The program that reads it; empty where that is not known.
    """
    plain = plain_key(key)
    written = plain if value is None else f"{plain}={str(value).lower()}"
    for part in parts():
        if part.values.fullmatch(written):
            return part
    known = _by_place(software).get(plain) if software in softwares() else None
    names = dict.fromkeys((plain, plain.rpartition(".")[2]))  # a field of a trainer's file as its flag
    return known or next((part for name in names for part in parts() if part.keys.fullmatch(name)), None)


@cache
def parts() -> tuple[SettingPart, ...]:
    """All parts, in the order in which they are asked."""
    return tuple(
        SettingPart(
            name=item["part"],
            when=Condition(item["when"]),
            is_built=item.get("of", "model") == "model",
            is_split=item.get("of") == "layout",
            places=any_of(item.get("places", ())),
            keys=any_of(key for key in item["keys"] if "=" not in key),
            values=any_of(key for key in item["keys"] if "=" in key),
            has_flags=item.get("flags", False),
        )
        for item in table("parts")
    )


@cache
def _by_place(software: str) -> dict[str, SettingPart]:
    """Parts of the settings of a program and those beneath it, by the files that define them."""
    found: dict[str, SettingPart] = {}
    flags: dict[str, SettingPart] = {}
    own = registry(software)
    for name in (*sorted(own.beneath.keys() & set(softwares())), software):
        for key, place in registry(name).places():
            part = next((item for item in parts() if item.places.fullmatch(place)), None)
            if part is not None:
                found[plain_key(key)] = part
                if part.has_flags:
                    flags[plain_key(key).rpartition(".")[2]] = part
    return flags | found
