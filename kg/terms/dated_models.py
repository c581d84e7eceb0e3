"""The tokens that a later checkpoint of a model takes, by the date or the length in its name."""

from __future__ import annotations

import csv
import re
from functools import cache
from typing import TYPE_CHECKING

import data
from kg.terms.model_name import Part, read_name

if TYPE_CHECKING:
    from collections.abc import Collection

_LENGTH = re.compile(r"(\d+)([km])")
_UNITS = {"k": 1000, "m": 1_000_000}


@cache
def _table() -> dict[tuple[str, str], int]:
    """Positions by model and date, from the cards and configurations of ``data/models/dated.csv``."""
    rows = csv.DictReader(data.text("models/dated.csv").splitlines())
    return {(row["model"], row["date"]): int(row["max_positions"]) for row in rows}


def positions_of(checkpoint: str, model: str, names: Collection[str], most: int | None) -> int | None:
    """The most tokens of a checkpoint; None where it is of a date whose configuration is not known.

    Args:
        checkpoint: Its name, as a hub has it.
        model: Id of the model that it is taken as.
        names: Names of that model: a date among them is its own.
        most: The most tokens of the model.
    """
    words = read_name(checkpoint).words
    sizes = [word.text for word in words if word.part is Part.SIZE]
    lengths = [word.text for word in words if word.part is Part.RUN] + sizes[1:]
    for found in filter(None, map(_LENGTH.fullmatch, lengths)):
        count = int(found[1])
        is_binary = found[2] == "k" and not count & (count - 1)
        return max(count * (1024 if is_binary else _UNITS[found[2]]), most or 0)
    own = " ".join(names)
    for date in (word.text for word in words if word.part is Part.DATE):
        if date not in own:
            return _table().get((model, date))
    return most
