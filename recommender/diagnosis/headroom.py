"""Headroom of kernels below their device, from shapes: operations and bytes over its rates.

A product of 16-bit numbers is timed by the fitted cost model, what else is known by its shapes by the larger
of operations over the peak and bytes over the bandwidth, each by the share that fitted operators reach. What
stays "computing" in the ledger is ranked by what would be left to gain.
"""

from dataclasses import dataclass, field

import numpy as np

from kg.errors import InputError, MissingFactError
from kg.nouns.codec import JsonNoun, in_json
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.kinds import Operators
from recommender.diagnosis.rank.kinds import STREAMING, kernel_kind, shapes_of, volume
from recommender.diagnosis.rank.view import LEAST_US, KernelView

BYTES = {"FLOAT": 4, "FLOAT32": 4, "INT32": 4, "INT64": 8, "DOUBLE": 8, "INT8": 1, "UINT8": 1, "BOOL": 1}
"""Bytes of a number by type; two of the rest, which are 16 bits wide."""
NUMBERS = {"FLOAT": "fp32", "FLOAT32": "fp32", "INT8": "int8"}
LEAST_SHARE = 0.01
"""Share of the step from which a gain is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom(JsonNoun):
    """An operator in one form on one rank, beside what its device could do.

    Attributes:
        operator: Its kind.
        shapes: Of its inputs.
        count: How often it ran.
        us: Time of all its runs.
        gain_us: What of that is beyond the time that its operations and bytes need.
        share: That as a share of all steps.
        rate: What it reaches: operations or bytes per second.
        of_share: That as a share of what can be reached.
        is_bytes: The rate is of bytes.
    """

    operator: str
    shapes: str
    count: int
    us: float = field(metadata=in_json(digits=3))
    gain_us: float = field(metadata=in_json(digits=3))
    share: float = field(metadata=in_json(digits=4))
    rate: float = field(metadata=in_json(digits=0))
    of_share: float = field(metadata=in_json(digits=4))
    is_bytes: bool


def headroom(view: KernelView) -> tuple[Headroom, ...]:
    """Time that the kernels of a rank could save, the largest gain first; empty where not known."""
    if not view.device or view.total_us <= 0:
        return ()
    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.operators.kinds import shipped

    device, operators = Device("", view.device), shipped()
    kernels = view.kernels
    texts = ("input_shapes", "input_types", "output_shapes")
    columns = [kernels.label, *map(kernels.texts.__getitem__, texts)]
    keys = np.zeros(len(kernels), np.int64)
    for column in columns:
        keys = np.unique(keys * (len(column.labels) + 1) + column.codes, return_inverse=True)[1]
    own = np.nan_to_num(kernels.duration_us) * view.exclusive
    _, first, count = np.unique(keys, return_index=True, return_counts=True)
    spent = np.bincount(keys, weights=own)
    found = []
    for place in np.flatnonzero((spent >= LEAST_SHARE * view.total_us) & (spent >= LEAST_US * count)):
        us = float(spent[place])
        operator, shapes, types, results = (column[int(first[place])] for column in columns)
        work = work_of(operator, shapes, types, results)
        if work is None:
            continue
        try:
            gain = max(0.0, us - needed_us(work, device, operators) * float(count[place]))
        except (InputError, MissingFactError):
            continue
        found.append(
            Headroom(
                operator=operator,
                shapes=shapes,
                count=int(count[place]),
                us=us,
                gain_us=gain,
                share=gain / view.total_us,
                rate=(work.operations or work.bytes) * float(count[place]) / us * 1e6,
                of_share=1 - gain / us,
                is_bytes=work.operations <= 0,
            )
        )
    kept = [item for item in found if item.share >= LEAST_SHARE]
    return tuple(sorted(kept, key=lambda item: -item.gain_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of one run of a kernel: operations in a format, bytes, and m, n, k of a plain product.

    Of attention all pairs are counted: where it is causal, what it leaves is more than is told.
    """

    operations: float = 0.0
    bytes: float
    number: str = "bf16"
    sizes: tuple[float, float, float] | None = None
    is_attention: bool = False


def work_of(operator: str, shapes: str, types: str, results: str) -> Work | None:
    """The work of a kernel by its shapes; None where they do not tell it."""
    tensors = shapes_of(shapes)
    kinds = [part.strip(' "').upper().removeprefix("DT_") for part in types.split(";")]
    kinds += kinds[-1:] * (len(tensors) - len(kinds))
    outputs = [sizes for sizes in shapes_of(results) if sizes]
    sized = [(sizes, BYTES.get(kind, 2)) for sizes, kind in zip(tensors, kinds, strict=False) if sizes]
    if not sized:
        return None
    moved = sum(volume(sizes) * each for sizes, each in sized)
    largest = max(sized, key=lambda item: volume(item[0]))
    moved += sum(map(volume, outputs or largest[:1])) * largest[1]
    kind = kernel_kind(operator)
    number = NUMBERS.get(kinds[0], "bf16")
    if "attention" in kind:
        shape = tensors[0]
        if len(shape) not in {3, 4}:
            return None
        length = max(shape[:2]) if len(shape) == 3 else shape[-2]
        is_backward = any(mark in operator.lower() for mark in ("grad", "bwd", "backward"))
        passes = PHYSICS["attention_backward"] if is_backward else 1.0
        work = 4.0 * volume(shape) * length * passes
        return Work(operations=work, bytes=moved, is_attention=True)
    if kind.startswith(("matmul", "batchmatmul", "gemm", "linear", "groupedmatmul")):
        matrices = [sizes for sizes in tensors if len(sizes) >= 2][:2]
        product = _product(matrices, outputs[0] if outputs else ())
        if product is None:
            return None
        batch, (m, n, k) = product
        plain = (m, n, k) if batch == 1 and number == "bf16" else None
        return Work(operations=2.0 * batch * m * n * k, bytes=moved, number=number, sizes=plain)
    return Work(bytes=moved) if kind.startswith(STREAMING) else None


def _product(
    matrices: list[tuple[int, ...]], result: tuple[int, ...]
) -> tuple[float, tuple[float, float, float]] | None:
    """The batch and m, n, k of a product; None where the shapes fit none, as those of blocked formats."""
    if len(matrices) < 2:
        return None
    (*many, m, k), (*held, one, other) = matrices
    batch, rows_of = (volume(many), float(m)) if held else (1.0, m * volume(many))
    for rows, depth in ((rows_of, k), (k, rows_of)):
        for n, inner in ((other, one), (one, other)):
            if inner == depth and (not result or many or result[-2:] == (rows, n)):
                return batch, (rows, n, depth)
    return None


def needed_us(work: Work, device: Device, operators: Operators) -> float:
    """The time that work needs on a device at the rates that it is known to reach, microseconds."""
    kind = operators["attention_prefill" if work.is_attention else "matmul_bf16"]
    if work.sizes is not None and min(work.sizes) > 0:
        return float(kind.times_us(device, np.array([work.sizes], np.float64))[0])
    reached = kind.constants_on(device)
    moving = work.bytes / (device.memory_bandwidth * reached["memory_share"]) * 1e6
    if not work.operations:
        return moving
    return max(moving, work.operations / (device.peak(work.number) * reached["efficiency"]) * 1e6)
