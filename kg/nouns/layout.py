"""A layout: how the work of a model is divided over devices."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Self

DEGREES = {
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "dp": "data_parallel",
    "ep": "expert_parallel",
    "cp": "context_parallel",
}
"""Long names of the sizes of a layout, by the short ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelLayout:
    """Division of the work over devices.

    Attributes:
        tp: Devices that share one matrix product.
        pp: Stages of the pipeline.
        dp: Replicas, each with requests or samples of its own.
        ep: Devices that the experts are spread over; 1 without expert parallelism.
        cp: Devices that share one sequence.
        dp_attention: Replicas are of the attention alone and inside ``tp``, as SGLang counts them.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    cp: int = 1
    dp_attention: bool = False

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        degrees = {name: int(content.get(name, 1)) for name in DEGREES}
        return cls(**degrees, dp_attention=bool(content.get("dp_attention")))

    @classmethod
    def of_degrees(cls, degrees: Mapping[str, float]) -> Self:
        """The inverse of :meth:`degrees`; what is not named is 1."""
        sizes = {short: int(degrees.get(name, 1)) for short, name in DEGREES.items()}
        return cls(**sizes, dp_attention=False)

    @property
    def split(self) -> tuple[int, ...]:
        """Sizes of tensors, stages, replicas, experts and sequences, alike however an engine counts them."""
        return self.tensors, self.pp, self.dp, self.ep, self.cp

    @property
    def tensors(self) -> int:
        """Devices of one replica of the attention that share one matrix product."""
        return max(self.tp // self.dp, 1) if self.dp_attention else self.tp

    def degrees(self, names: Container[str] = tuple(DEGREES.values())) -> dict[str, int]:
        """Its split by long names, as the cost model takes it: replicas beside tensors, never inside.

        Args:
            names: Those to name; a server has no ``context_parallel``.
        """
        return {name: size for name, size in zip(DEGREES.values(), self.split, strict=True) if name in names}

    @property
    def devices(self) -> int:
        """Devices in use."""
        return self.tp * self.pp * self.cp * (1 if self.dp_attention else self.dp)

    def to_json(self) -> dict[str, int]:
        """Plain content."""
        degrees = {name: getattr(self, name) for name in DEGREES}
        inside: dict[str, int] = {"dp_attention": 1} if self.dp_attention else {}
        return {**degrees, **inside, "devices": self.devices}

    def __str__(self) -> str:
        """Sizes above 1, whose product without ``EP`` is the number of devices."""
        sizes = [f"{name.upper()} {size}" for name, size in zip(DEGREES, self.split, strict=True) if size > 1]
        return " x ".join(sizes) or "one device"
