"""Convolutions as implicit matrix products, and networks as lists of them.

A convolution of a batch B, C channels in, D out, kernel r x r and output h x w is a product with
m = B h w, n = D / groups, k = C r r / groups, once per group; on DaVinci cores the channels are
padded to 16. Depthwise layers leave the matrix unit nearly empty: their cost is the padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.cost_model.facts.physics import PHYSICS

Floats = NDArray[np.float64]


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


def _bottlenecks(blocks: Sequence[int], width: int = 1, groups: int = 1, base: int = 64) -> list[Convolution]:
    """The 50-layer kind: 1x1, 3x3, 1x1 (He et al. 2016; ResNeXt: Xie et al. 2017)."""
    layers = [Convolution(3, 64, 7, 112)]
    channels = 64
    for stage, count in enumerate(blocks):
        side, out = 56 // 2**stage, 256 * 2**stage
        inner = base * width * 2**stage
        first = side if stage == 0 else side * 2
        layers += [
            Convolution(channels, inner, 1, first),
            Convolution(inner, inner, 3, side, groups=groups),
            Convolution(inner, out, 1, side),
            Convolution(channels, out, 1, side),
        ]
        if count > 1:
            layers += [
                Convolution(out, inner, 1, side, repeats=count - 1),
                Convolution(inner, inner, 3, side, groups=groups, repeats=count - 1),
                Convolution(inner, out, 1, side, repeats=count - 1),
            ]
        channels = out
    return [*layers, Convolution(2048, 1000, 1, 1)]


def _basic(blocks: Sequence[int]) -> list[Convolution]:
    """The 18 and 34-layer kind: two 3x3 (He et al. 2016)."""
    layers = [Convolution(3, 64, 7, 112)]
    channels = 64
    for stage, count in enumerate(blocks):
        side, out = 56 // 2**stage, 64 * 2**stage
        layers.append(Convolution(channels, out, 3, side))
        layers.append(Convolution(out, out, 3, side, repeats=2 * count - 1))
        if stage:
            layers.append(Convolution(channels, out, 1, side))
        channels = out
    return [*layers, Convolution(512, 1000, 1, 1)]


def _vgg16() -> list[Convolution]:
    """Simonyan and Zisserman 2015, configuration D."""
    widths = ((64, 224, 2), (128, 112, 2), (256, 56, 3), (512, 28, 3), (512, 14, 3))
    layers, channels = [], 3
    for filters, side, count in widths:
        layers.append(Convolution(channels, filters, 3, side))
        layers.append(Convolution(filters, filters, 3, side, repeats=count - 1))
        channels = filters
    dense = [Convolution(25088, 4096, 1, 1), Convolution(4096, 4096, 1, 1), Convolution(4096, 1000, 1, 1)]
    return [*layers, *dense]


def _mobilenet_v2() -> list[Convolution]:
    """Sandler et al. 2018, table 2."""
    layers = [Convolution(3, 32, 3, 112)]
    channels, side = 32, 112
    rows = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expand, filters, count, stride in rows:
        for place in range(count):
            wide = channels * expand
            if expand > 1:
                layers.append(Convolution(channels, wide, 1, side))
            side //= stride if place == 0 else 1
            layers.append(Convolution(wide, wide, 3, side, groups=wide))
            layers.append(Convolution(wide, filters, 1, side))
            channels = filters
    return [*layers, Convolution(320, 1280, 1, 7), Convolution(1280, 1000, 1, 1)]


def operator_list(model: str) -> list[Convolution]:
    """Layers of a network at 224 x 224; empty where its list is not written down here."""
    lists = {
        "resnet18": lambda: _basic((2, 2, 2, 2)),
        "resnet34": lambda: _basic((3, 4, 6, 3)),
        "resnet50": lambda: _bottlenecks((3, 4, 6, 3)),
        "resnet101": lambda: _bottlenecks((3, 4, 23, 3)),
        "resnet152": lambda: _bottlenecks((3, 8, 36, 3)),
        "wideresnet502": lambda: _bottlenecks((3, 4, 6, 3), width=2),
        "wideresnet1012": lambda: _bottlenecks((3, 4, 23, 3), width=2),
        "resnext10132x8d": lambda: _bottlenecks((3, 4, 23, 3), width=4, groups=32),
        "vgg16": _vgg16,
        "mobilenetv2": _mobilenet_v2,
    }
    name = "".join(letter for letter in model.lower() if letter.isalnum())
    return lists[name]() if name in lists else []
