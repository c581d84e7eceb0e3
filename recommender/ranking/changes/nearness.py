"""Distance of the circumstances of effects from those of a question, as a share of common places.

x[i]: log2 of a size (a length, a batch, a parallel size) of place i; l: octaves over which a gain fades by e.

    r[i, j] = prod over sizes exp(-|x[i] - x[j]| / l) x (share where the frameworks differ)

A size that a place does not state counts as the asked one: unknown says nothing against it, and r stays
positive definite. A size that the question does not state sets nothing apart.
``tools/fitting/fit_context_distance.py`` fits l and the share;
releases of one framework showed no distance of their own, so none is kept.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import data
from kg.nouns.values import Settings
from kg.terms.circumstances import SIZE_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDistance:
    """The scales over which a gain fades.

    Attributes:
        octaves: Doublings of a size over which it fades by e, by the size's fact.
        other_framework: Share that is left in another framework, 0 to 1.
    """

    octaves: Mapping[str, float]
    other_framework: float


@cache
def context_distance() -> ContextDistance:
    """The shipped scales."""
    raw = json.loads(data.text("retrieval/context_distance.json"))
    octaves = {name: raw["octaves"][kind] for kind, names in SIZE_KINDS.items() for name in names}
    return ContextDistance(octaves=octaves, other_framework=raw["other_framework"])


def nearness(asked: Settings, places: Sequence[Settings], frameworks: Sequence[str]) -> NDArray[np.float64]:
    """The share that circumstances leave of what each two places have in common; shape (1 + n, 1 + n).

    Args:
        asked: Circumstances of the question, which comes first.
        places: Those of each effect.
        frameworks: Of each effect; empty where it is the question's or unknown.
    """
    scales = context_distance()
    distance = np.zeros((1 + len(places), 1 + len(places)))
    for name, octaves in scales.octaves.items():
        mine = _size(asked.get(name))
        if mine is not None:
            at = np.array([mine, *(mine if (x := _size(place.get(name))) is None else x for place in places)])
            distance += np.abs(at[:, None] - at[None, :]) / octaves
    names = np.array(["", *frameworks])
    return np.exp(-distance) * np.where(names[:, None] == names[None, :], 1.0, scales.other_framework)


def _size(value: object) -> float | None:
    return math.log2(value) if isinstance(value, int | float) and value > 0 else None
