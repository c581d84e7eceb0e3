"""Tables of ``data/cost_model`` that no calibration writes.

``physics.csv`` has the constants of the physics, each with its source.
"""

import csv
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

import data

Floats = NDArray[np.float64]
"""Numbers, one a configuration or one a row."""


def rows_of(table: str) -> list[dict[str, str]]:
    """Rows of a table of the cost model that people keep."""
    return list(csv.DictReader(data.text(f"cost_model/{table}.csv").splitlines()))


def number_or_word(text: str) -> float | str:
    """A cell as the number that it is, or as its word."""
    if text.isdecimal():
        return int(text)
    return float(text) if text[:1].isdecimal() else text


PHYSICS: Mapping[str, float] = MappingProxyType(
    {row["name"]: float(row["value"]) for row in rows_of("physics")}
)
"""Every constant by its name."""


@cache
def physics_of(group: str) -> Mapping[str, float]:
    """The constants of a group, such as one for each vendor, by the rest of their names."""
    start = f"{group}."
    return MappingProxyType(
        {name.removeprefix(start): value for name, value in PHYSICS.items() if name.startswith(start)}
    )


def physics_by_place(group: str, places: Floats) -> Floats:
    """The constants of a group for choices that are numbered as its rows are."""
    return np.array([*physics_of(group).values()])[places.astype(np.int64)]
