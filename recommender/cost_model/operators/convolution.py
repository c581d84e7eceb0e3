"""Convolutions as implicit matrix products, and networks as lists of them.

A convolution of a batch B, C channels in, D out, kernel r x r and output h x w is a product with
m = B h w, n = D / groups, k = C r r / groups, once per group; on DaVinci cores the channels are
padded to 16. Depthwise layers leave the matrix unit nearly empty: their cost is the padding.
"""

from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.physics import PHYSICS, rows_of


@dataclass(frozen=True, slots=True)
class Convolution:
    """One layer.

    Attributes:
        channels: In.
        filters: Out.
        kernel: Side of the window.
        size: Side of the output.
        groups: Channel groups; as many as channels when depthwise.
        repeats: How often this layer occurs.
    """

    channels: int
    filters: int
    kernel: int
    size: int
    groups: int = 1
    repeats: int = 1

    def __post_init__(self) -> None:
        """Refuse sizes that no layer has."""
        sizes = (self.channels, self.filters, self.kernel, self.size, self.groups, self.repeats)
        if min(sizes) < 1 or self.channels % self.groups or self.filters % self.groups:
            raise InputError(f"convolution: sizes of at least 1, groups that divide the channels: {self}")

    @property
    def flops(self) -> float:
        """Forward operations of one sample, all repeats."""
        window = self.kernel**2 * self.channels / self.groups
        return 2.0 * self.repeats * self.size**2 * self.filters * window

    @property
    def parameters(self) -> float:
        """Weights, all repeats."""
        return float(self.repeats * self.kernel**2 * self.channels * self.filters // self.groups)

    @property
    def activation(self) -> float:
        """Elements written per sample, all repeats."""
        return float(self.repeats * self.size**2 * self.filters)

    def product(self, batch: float) -> tuple[float, float, float, float]:
        """m, n, k of one of its products, and their number."""

        def pad(channels: float) -> float:
            return float(np.ceil(channels / PHYSICS["channel_block"]) * PHYSICS["channel_block"])

        # groups narrower than a channel block share one padded product
        together = max(
            1, min(self.groups, int(PHYSICS["channel_block"] // max(self.channels // self.groups, 1)))
        )
        count = self.groups / together * self.repeats
        wide = pad(self.filters / self.groups * together)
        deep = pad(self.channels / self.groups * together) * self.kernel**2
        return batch * self.size**2, wide, deep, count


@cache
def operator_list(model: str) -> tuple[Convolution, ...]:
    """Layers of a network at 224 x 224; empty where ``data/cost_model/convolutions.csv`` has none of it."""
    name = "".join(letter for letter in model.lower() if letter.isalnum())
    sizes = [field.name for field in fields(Convolution)]
    rows = (row for row in rows_of("convolutions") if row["network"] == name)
    return tuple(Convolution(**{size: int(row[size]) for size in sizes}) for row in rows)
