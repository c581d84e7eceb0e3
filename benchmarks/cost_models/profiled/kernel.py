"""One kernel in a profile: type, shapes, data types, family, traffic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

SIZES = MappingProxyType(
    {
        "FLOAT": 4, "FLOAT32": 4, "BF16": 2, "FLOAT16": 2, "INT64": 8, "UINT64": 8, "DOUBLE": 8, "INT32": 4,
        "UINT32": 4, "UINT16": 2, "INT16": 2, "BOOL": 1, "INT8": 1, "UINT8": 1, "COMPLEX64": 8,
    }
)  # fmt: skip

_CLASSES = (
    ("elementwise", ("foreach",)),
    ("random", ("genbitmask", "statelessrandom")),
    ("optimiser", ("apply", "adam", "sgd", "lars")),
    ("convolution", ("conv",)),
    ("attention", ("attention", "infer")),
    ("matmul", ("matmul", "gemm", "linear")),
    ("exchange", ("distribute", "dispatch", "combine")),
    ("format", ("transdata", "transpose", "permute", "im2col")),
    ("copy", ("concat", "slice", "split", "tensormove", "pad", "tile", "broadcast", "gather", "copy")),
    ("fill", ("zeros", "ones", "fill", "memset", "range", "eye")),
    ("select", ("sort", "topk", "nonzero", "argmax", "argmin", "unique", "index", "embedding")),
    ("reduce", ("reduce", "norm", "softmax", "loss", "pool", "mean", "cumsum")),
    ("mask", ("mask", "random", "dropout", "stateless")),
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel.

    Attributes:
        kind: Type name in the profile, such as ``"RmsNorm"``.
        inputs: Shapes of the inputs.
        outputs: Shapes of the outputs; empty where not recorded.
        input_bytes: Bytes of an element, per input.
        output_bytes: Bytes of an element, per output.
    """

    kind: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...] = ()
    input_bytes: tuple[int, ...] = ()
    output_bytes: tuple[int, ...] = ()

    @property
    def family(self) -> str:
        """The family of its type; elementwise where no name fits."""
        low = self.kind.lower()
        found = next((name for name, words in _CLASSES if any(w in low for w in words)), "elementwise")
        return "matmul-fp32" if found == "matmul" and self.input_bytes[:1] == (4,) else found

    @property
    def run_bytes(self) -> float:
        """Contiguous bytes that survive a change of format: the plane of the channel-first side."""
        sides = [s for s in (*self.inputs[:1], *self.outputs[:1]) if len(s) == 4]
        plain = min(sides, key=lambda s: s[-2] * s[-1], default=())
        return plain[-2] * plain[-1] * _at(self.input_bytes, 0) if plain else float(_at(self.input_bytes, 0))

    @property
    def largest(self) -> float:
        """Bytes of its largest tensor."""
        read = [volume(s) * _at(self.input_bytes, i) for i, s in enumerate(self.inputs)]
        return max(read, default=0.0)

    @property
    def traffic(self) -> float:
        """Bytes read and written; unknown outputs count as the largest input."""
        read = [volume(s) * _at(self.input_bytes, i) for i, s in enumerate(self.inputs)]
        if self.family == "copy" and "gather" in self.kind.lower() and self.outputs:
            read = read[1:]  # a gather reads what it writes, not the table
        written = [volume(s) * _at(self.output_bytes, i) for i, s in enumerate(self.outputs)]
        if self.family == "fill":
            read = []
        if not written and self.family == "optimiser":
            written = [3.0 * max(read, default=0.0)]  # weight and two moments
        elif not written and self.family not in {"reduce", "select", "fill"}:
            written = [max(read, default=0.0)]
        return float(sum(read) + sum(written))


def _at(sizes: Sequence[int], index: int) -> int:
    return sizes[index] if index < len(sizes) else (sizes[-1] if sizes else 2)


def volume(shape: Sequence[int]) -> float:
    """Elements of a tensor; 0 where its shape is not recorded."""
    return float(np.prod(shape)) if shape else 0.0


def parse(kind: str, inputs: str, outputs: str = "", input_types: str = "", output_types: str = "") -> Kernel:
    """A kernel from the text of a profile: shapes ``"4096,1024;1024"``, types ``"DT_BF16;FLOAT"``."""
    return Kernel(
        kind=re.sub(r"V\d+$", "", kind.strip()),
        inputs=_shapes(inputs),
        outputs=_shapes(outputs),
        input_bytes=_types(input_types),
        output_bytes=_types(output_types),
    )


def _shapes(text: str) -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = []
    if text.strip() in {"", "N/A"}:
        return ()
    for part in text.strip().strip('"').split(";"):
        sizes = [item.strip().strip('"') for item in part.split(",")]
        found.append(tuple(int(s) for s in sizes) if all(s.isdigit() for s in sizes) else ())
    return tuple(found)


def _types(text: str) -> tuple[int, ...]:
    names = [part.strip().removeprefix("DT_").upper() for part in text.split(";")] if text else []
    return tuple(SIZES.get(name, 2 if name else 0) for name in names)
