"""A situation: what is known of a case, each fact with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kg.nouns.values import Value

STAYS = "stays"
"""Place of a setting that stands before the program's own options, or in a JSON file that they name."""
RECIPE = "RECIPE"
"""Stands among places of settings for the recipe that a command names by a word alone."""


class FactOrigin(StrEnum):
    """The origin of a fact, the one that wins first."""

    TOLD = "told"
    SCRIPT = "script"
    FILE = "file"
    MEASURED = "measured"
    DERIVED = "derived"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """One fact of a case.

    Attributes:
        name: Such as ``"precision"``, ``"shape.input_len"`` or ``"current.max_num_seqs"``.
        value: Its value.
        origin: Where it comes from.
        words: What is assumed, as people say it; empty where nothing is.
        otherwise: The option that says otherwise, for what is assumed; empty if there is none.
    """

    name: str
    value: Value
    origin: FactOrigin
    words: str = ""
    otherwise: str = ""

    def to_json(self) -> dict[str, Value]:
        """Plain content."""
        said: dict[str, Value] = {"words": self.words, "otherwise": self.otherwise} if self.words else {}
        return {"name": self.name, "value": self.value, "origin": str(self.origin), **said}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The facts of a case by name; of two of one name that with the stronger origin holds.

    Attributes:
        facts: By name.
    """

    facts: Mapping[str, StatedFact] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Iterable[StatedFact]) -> Situation:
        """The facts, of each name the one whose origin is strongest; of equals the first."""
        strength = list(FactOrigin).index
        kept: dict[str, StatedFact] = {}
        for fact in facts:
            before = kept.get(fact.name)
            if before is None or strength(fact.origin) < strength(before.origin):
                kept[fact.name] = fact
        return cls(facts=kept)

    def __iter__(self) -> Iterator[StatedFact]:
        return iter(self.facts.values())

    @property
    def checkpoint(self) -> str:
        """The model as a hub or a folder has it, where it is named so; else empty."""
        fact = self.facts.get("checkpoint")
        return "" if fact is None else str(fact.value)

    @property
    def model_name(self) -> str:
        """The model as the question names it, where that says more than which network it is; else empty."""
        fact = self.facts.get("named")
        return self.checkpoint if fact is None else str(fact.value)

    @property
    def has_script(self) -> bool:
        """True if a launch script states the current settings: then it states all of them."""
        return any(fact.origin is FactOrigin.SCRIPT and fact.name.startswith("current.") for fact in self)

    def to_json(self) -> dict[str, dict[str, Value]]:
        """Plain content: value and origin by name."""
        return {
            fact.name: {name: item for name, item in fact.to_json().items() if name != "name"}
            for fact in self
        }


def assumption_line(facts: Iterable[StatedFact], *, with_options: bool = True) -> str:
    """All that is assumed, in one line; empty where nothing is.

    Args:
        facts: What an answer rests on.
        with_options: Say the options that say otherwise, too.
    """
    assumed = [fact for fact in facts if fact.words]
    if not assumed:
        return ""
    words = f"Assumed: {'; '.join(fact.words for fact in assumed)}"
    if not with_options:
        return words
    options: dict[str, list[str]] = {}
    for fact in assumed:
        option, _, value = fact.otherwise.partition(" ")
        if value not in options.setdefault(option, []):
            options[option].append(value)
    said = ", ".join(f"{option} {','.join(values)}".strip() for option, values in options.items())
    verb = "says" if len(options) == 1 else "say"
    return f"{words} ({said} {verb} otherwise)"
