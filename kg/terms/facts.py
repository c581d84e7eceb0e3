"""The vocabulary of facts that decide where a strategy applies.

A condition (:mod:`kg.terms.conditions`) may read these facts and no others, so that a misspelt one is a
fault of the file and never an unknown of every question.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from data import text


class FactType(StrEnum):
    """The type of a fact's value."""

    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"
    NAMES = "names"
    VERSION = "version"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFact:
    """A fact that a question may state.

    Attributes:
        name: How conditions and ``--trait`` call it.
        type: Of its value. ``names`` is a set of names that the thing goes by, such as a device and all
            that is above it in the hardware tree.
        label: What it is, in words that finish "if ...", without a verb.
        label_zh: The same in Chinese.
        unit: SI symbol of a number; empty for a count, a share or another type.
        keyed: Whether it is a family of facts by key, such as ``setting["--max-num-seqs"]``.
    """

    name: str
    type: FactType
    label: str
    label_zh: str
    unit: str = ""
    keyed: bool = False


OBSERVATIONS = frozenset({"bottleneck", "setting"})
"""Facts that somebody saw: a bottleneck or a setting that a question does not state was not seen there."""

FILE = "conditions/facts.csv"
"""Every fact in a row; a name that ends in ``[]`` is keyed."""


def _fact(row: Mapping[str, str]) -> QuestionFact:
    return QuestionFact(
        name=row["name"].removesuffix("[]"),
        type=FactType(row["type"]),
        label=row["label"],
        label_zh=row["label_zh"],
        unit=row["unit"],
        keyed=row["name"].endswith("[]"),
    )


FACTS: dict[str, QuestionFact] = {
    fact.name: fact for fact in map(_fact, csv.DictReader(text(FILE).splitlines()))
}
"""Every fact by its name."""


def nearest_facts(name: str) -> list[str]:
    """Names of facts that are spelt like ``name``, nearest first."""
    return get_close_matches(name, FACTS, n=3, cutoff=0.5)
