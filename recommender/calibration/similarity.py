"""Similarity of problems: weights of blocks, and the past cost of copying over a distance.

    apart(target, source)^2 = sum over blocks b of (weight[b] * difference in b)^2

The vectors of a workspace hold the shipped weights; a workspace's own are applied to the nearest that were
found with those, so learning them moves no vector. The cost of a distance is the transfer regret that copying
the best of a problem so far away had, measured on the pairs that the weights were learned from.
"""

import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

import data
from embeddings.weights import BlockWeights
from kg.triples.hardware_tree import Distance
from recommender.calibration.monotone import MonotoneModel

logger = logging.getLogger(__name__)

PAIR = ("distance", "another task", *(f"{d.name.lower()} or farther" for d in Distance if d))
"""Features that predict the cost of a pair of problems."""

PARTS = 5
"""Parts that devices are dealt to by name: weights are learned without each, for questions about it."""

FARTHEST = 3.0
"""Distance beyond which farther costs no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """The distance between problems, and the cost of copying over it.

    Attributes:
        weights: One a block of features.
        cost: Expected log regret of copying, by :data:`PAIR`.
        origin: Where it comes from.
        without: Weights learned without a part of the devices, or without a collection, by its name.
    """

    weights: BlockWeights
    cost: MonotoneModel
    origin: str
    without: Mapping[str, BlockWeights] = field(default_factory=dict)

    def left_out(self, name: str) -> BlockWeights:
        """Return the weights that never saw a part of the devices, or a collection."""
        return self.without.get(name, self.weights)

    def scales(self, encoded: BlockWeights) -> NDArray[np.float64]:
        """Return factors from squared block distances under the weights ``encoded`` to ours, shape (B,)."""
        ours, theirs = np.array(list(self.weights.as_dict().values())), list(encoded.as_dict().values())
        given = np.array(theirs)
        return np.where(given > 0, ours / np.where(given > 0, given, 1.0), 0.0) ** 2

    @classmethod
    def shipped(cls) -> Self:
        """Return the similarity of the package."""
        return cls.from_json(json.loads(data.text("retrieval/weights.json")))

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Self:
        """Return the similarity that :meth:`to_json` gave.

        Raises:
            KeyError: A part is missing.
            TypeError: A part is not what it should be.
            ValueError: A weight is below zero.
        """
        weights, cost, without = content["weights"], content["cost"], content.get("without", {})
        if not isinstance(weights, dict) or not isinstance(cost, dict) or not isinstance(without, dict):
            raise TypeError("similarity: weights, cost and without are objects")
        return cls(
            weights=_weights(weights),
            cost=MonotoneModel.from_json(cost, PAIR),
            origin=str(content["made_by"]),
            without={name: _weights(part) for name, part in without.items()},
        )

    def to_json(self) -> dict[str, object]:
        """Return the similarity as a JSON object."""
        content: dict[str, object] = {
            "made_by": self.origin,
            "weights": {name: round(weight, 3) for name, weight in self.weights.as_dict().items()},
            "cost": self.cost.to_json(),
        }
        if self.without:
            content["without"] = {name: part.as_dict() for name, part in self.without.items()}
        return content


def part_of(device: str) -> str:
    """Return the name of the part of the devices that a device is dealt to."""
    return f"devices {zlib.crc32(device.encode()) % PARTS}"


def _weights(content: Mapping[str, float]) -> BlockWeights:
    return BlockWeights(**{name: float(weight) for name, weight in content.items()})


def pair_row(apart: float, device: Distance, *, same_task: bool) -> NDArray[np.float64]:
    """Describe a pair of problems in the columns of :data:`PAIR`."""
    steps = (float(device >= step) for step in Distance if step)
    return np.array([min(apart, FARTHEST), float(not same_task), *steps])
