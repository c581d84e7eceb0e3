"""Weights of the experts whose opinions order a list of configurations: learned, and drawn to plain copying.

    score[c] = nearest[c] + sum over experts e of weight[e] * opinion[e, c]

With all weights 0 the nearest case is copied in its own order. Each :class:`EvidenceClass` has weights of its
own for the first, the second and the later places of a list. ``tools/fitting/fit_ranking.py`` learns them;
the file holds beside them those learned without each device, so that a backtest never asks weights that saw
what it asks about.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import data
from kg.errors import WorkspaceError
from kg.nouns.values import digest
from kg.triples.hardware_tree import Distance

EXPERTS = ("popular", "modelled", "untried")
"""Besides the nearest case: seldom among the best elsewhere, what the response model expects, seldom
tried."""

PLACES = 3
"""Places of a list with weights of their own; later ones have those of the last."""

FILE = "retrieval/mixture.json"
AGAIN = "python -m tools.fitting.fit_ranking CASES --write"


@dataclass(frozen=True, slots=True)
class EvidenceClass:
    """Class of evidence, which decides how far copying is to be trusted.

    Attributes:
        distance: How far the nearest hardware with times is.
        dense: The sources have timed most of the same configurations, so what one lacks tells nothing.
    """

    distance: Distance
    dense: bool

    def __str__(self) -> str:
        return f"{self.distance.name.lower()}, {'dense' if self.dense else 'sparse'}"


SITUATIONS = tuple(EvidenceClass(distance, dense) for distance in Distance for dense in (False, True))

Weights = tuple[tuple[float, ...], ...]
"""One row a place, one number an expert."""

COPYING: Weights = ((0.0,) * len(EXPERTS),) * PLACES


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertMixture:
    """The weights of the experts.

    Attributes:
        weights: By situation; one that is missing copies.
        without: The same where a device was left out, by its id.
        opinions: What the opinions are made with (:func:`program`).
        origin: Where they come from.
    """

    weights: Mapping[EvidenceClass, Weights]
    opinions: str
    origin: str
    without: Mapping[str, Mapping[EvidenceClass, Weights]] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Identifier of the weights and of what the opinions are made with."""
        return digest(json.dumps(_by_name(self.weights), sort_keys=True), self.opinions)[:12]

    def left_out(self, device: str) -> Mapping[EvidenceClass, Weights]:
        """Return the weights that never saw a device."""
        return self.without.get(device, self.weights)

    @classmethod
    def shipped(cls, opinions: str) -> Self:
        """Return the weights of the package.

        Args:
            opinions: What the opinions are made with now.

        Raises:
            WorkspaceError: They were learned for opinions that are made otherwise, or are damaged.
        """
        try:
            return cls.from_json(json.loads(data.text(FILE)), opinions)
        except (TypeError, ValueError) as error:
            raise WorkspaceError(str(error), hint=AGAIN) from error

    @classmethod
    def from_json(cls, content: Mapping[str, object], opinions: str) -> Self:
        """Return the weights that :meth:`to_json` gave.

        Raises:
            TypeError: A part is not what it should be.
            ValueError: They were learned for opinions that are made otherwise, or their hash is not theirs.
        """
        weights, without = content.get("weights"), content.get("without")
        if not isinstance(weights, dict) or not isinstance(without, dict):
            raise TypeError(f"{FILE}: weights and without are objects")
        mixture = cls(
            weights=_by_situation(weights),
            without={name: _by_situation(part) for name, part in without.items()},
            opinions=str(content.get("opinions")),
            origin=str(content.get("origin")),
        )
        if mixture.opinions != opinions:
            raise ValueError(f"{FILE} is of opinions {mixture.opinions}, the program's are {opinions}")
        if content.get("hash") != mixture.hash:
            raise ValueError(f"{FILE} says hash {content.get('hash')}, its weights have {mixture.hash}")
        return mixture

    def to_json(self) -> dict[str, object]:
        """Return the weights as a JSON object."""
        return {
            "origin": self.origin,
            "opinions": self.opinions,
            "hash": self.hash,
            "experts": list(EXPERTS),
            "weights": _by_name(self.weights),
            "without": {name: _by_name(part) for name, part in sorted(self.without.items())},
        }


def asks_model(weights: Weights) -> bool:
    """True if a list uses the response model at any place; otherwise nobody needs to ask it."""
    return any(row[EXPERTS.index("modelled")] > 0 for row in weights)


def listed(costs: NDArray[np.floating[Any]], weights: Weights, k: int) -> list[int]:
    """Return the k candidates to try, best first; the earlier candidate of equals.

    Args:
        costs: The nearest case's opinion and then the experts', shape (1 + E, n).
        weights: Of the experts, by place.
        k: How many; fewer if there are fewer candidates.
    """
    scores = costs[0] + np.array(weights) @ costs[1:]
    taken: list[int] = []
    for place in range(min(k, costs.shape[1])):
        row = scores[min(place, PLACES - 1)]
        best = int(np.argmin(row))
        taken.append(best)
        scores[:, best] = np.inf
    return taken


def _by_name(weights: Mapping[EvidenceClass, Weights]) -> dict[str, list[list[float]]]:
    return {
        str(situation): [list(row) for row in weights[situation]]
        for situation in SITUATIONS
        if weights.get(situation, COPYING) != COPYING
    }


def _by_situation(content: object) -> dict[EvidenceClass, Weights]:
    known = {str(situation): situation for situation in SITUATIONS}
    if not isinstance(content, dict) or not set(content) <= set(known):
        raise TypeError(f"{FILE}: weights are by situation, one of {', '.join(known)}")
    made: dict[EvidenceClass, Weights] = {}
    for name, rows in content.items():
        table = np.array(rows, float)
        if table.shape != (PLACES, len(EXPERTS)) or not np.isfinite(table).all() or (table < 0).any():
            raise TypeError(f"{FILE}: weights of {name}: {PLACES} rows of {len(EXPERTS)} numbers from 0")
        made[known[name]] = tuple(tuple(row) for row in table.tolist())
    return made
