"""The tower that reads the pictures of a prompt: a vision transformer in 16 bit, divided over tensor ranks.

Its patches become tokens of the language model by neighbours, ``merge`` in height and in width together.
Sizes are those of ``data/cost_model/towers.csv``, by the longest beginning of a model's id.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import MissingFactError
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.facts.physics import Floats, rows_of
from recommender.cost_model.operators.network import collective_us
from recommender.cost_model.settings.plans import PRECISIONS
from recommender.cost_model.workloads.block import PassSizes, forward

if TYPE_CHECKING:
    from recommender.cost_model.operators.network import Target
    from recommender.cost_model.settings.plans import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTower:
    """A tower.

    Attributes:
        blocks: Sizes of its transformer.
        patch: Side of a patch in pixels.
        merge: Patches, in height and in width, that make one token.
    """

    blocks: ModelSizes
    patch: float
    merge: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Pictures of one prompt.

    Attributes:
        number: How many.
        height: Pixels.
        width: Pixels.
    """

    number: float
    height: float
    width: float

    def patches(self, tower: VisionTower) -> float:
        """Patches of one picture, whose sides are made multiples of a token's."""
        cell = tower.patch * tower.merge
        return math.ceil(self.height / cell) * math.ceil(self.width / cell) * tower.merge**2

    def tokens(self, tower: VisionTower) -> float:
        """Tokens that all of them are to the language model."""
        return self.number * self.patches(tower) / tower.merge**2


@cache
def tower_of(model: str) -> VisionTower:
    """The tower of a model.

    Raises:
        MissingFactError: Its sizes are not known.
    """
    rows = [row for row in rows_of("towers") if model.startswith(row["model"])]
    if not rows:
        raise MissingFactError(f"{model}: vision_config is not known")
    row = max(rows, key=lambda one: len(one["model"]))
    facts = {
        "layers": float(row["layers"]), "hidden_size": float(row["hidden"]),
        "intermediate_size": float(row["inner"]), "attention_heads": float(row["heads"]),
    }  # fmt: skip
    return VisionTower(
        blocks=model_of(model, "vision", facts), patch=float(row["patch"]), merge=float(row["merge"])
    )


def tower_us(on: Target, tower: VisionTower, pictures: Pictures, s: Columns, sequences: float) -> Floats:
    """Time of the tower for the pictures of so many prompts of an engine, whose tensor ranks share it."""
    plain = {name: np.full_like(s[name], PRECISIONS.index(on.device.sixteen_bit))
             for name in s if name in {"precision", "precision_attention", "precision_mlp"}}  # fmt: skip
    split = np.minimum(s["tensor_parallel"], tower.blocks.heads)
    number, length = (
        np.full_like(split, value) for value in (sequences * pictures.number, pictures.patches(tower))
    )
    sizes = PassSizes(tokens=number * length, sequences=number, length=length)
    work = forward(on, tower.blocks, {**s, **plain, "tensor_parallel": split}, sizes)
    size = number * length * tower.blocks.hidden * 2
    one = np.ones_like(split)
    shared = 2 * collective_us(on.network, on.operators, "all_reduce", size, split, one, one < 0)
    return np.asarray(tower.blocks.layers * (work.device_us + shared))
