"""Kernels by name, as a profile lists them: type, shapes, data types, on a device of known clock and cores.

Vector kernels are a launch that grows with the cores used, and traffic; products are tiles; the
rest is classed by its name. What a type needs beyond its class is a factor shrunk towards one.
Times are microseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.device import Device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.cost_model.operators import Calibrated

Floats = NDArray[np.float64]

SIZES = MappingProxyType(
    {
        "FLOAT": 4, "FLOAT32": 4, "BF16": 2, "FLOAT16": 2, "INT64": 8, "UINT64": 8, "DOUBLE": 8, "INT32": 4,
        "UINT32": 4, "UINT16": 2, "INT16": 2, "BOOL": 1, "INT8": 1, "UINT8": 1, "COMPLEX64": 8,
    }
)  # fmt: skip

PRIOR = MappingProxyType(
    {
        "launch_us": 1.3,  # shortest vector kernels of the MindStudio test profiles, one core
        "wide_us": 2.5,  # more when all cores take part
        "memory_share": 0.6,  # contended HBM; 642 GB/s of torch.exp alone is 0.4 of nominal (limulidae)
        "cache_share": 1.5,  # what matrix products reach from L2, as a share of nominal memory
        "core_bytes_per_us": 4.0e4,
    }
)
PULL = 0.4  # to the prior: jobs differ more than kernels of one job
SHRINK_CLASS = 1.0  # jobs
SHRINK_TYPE = 1.0
_PRODUCTS = frozenset({"matmul", "matmul-fp32", "convolution"})
SMALL = 65536  # elements: shorter vectors are norms and biases
SIMPLE = frozenset({"elementwise", "copy", "fill", "optimiser"})  # what constants are fitted on
BLOCK_BYTES = 4096  # 4096 float32 elements are four blocks in the MindStudio test profiles

_CLASSES = (
    ("optimiser", ("apply", "adam", "sgd", "foreach", "lars")),
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
        """The class its name puts it in; elementwise where no name fits."""
        low = self.kind.lower()
        found = next((name for name, words in _CLASSES if any(w in low for w in words)), "elementwise")
        return "matmul-fp32" if found == "matmul" and self.input_bytes[:1] == (4,) else found

    @property
    def largest(self) -> float:
        """Bytes of its largest tensor."""
        read = [_volume(s) * _at(self.input_bytes, i) for i, s in enumerate(self.inputs)]
        return max(read, default=0.0)

    @property
    def traffic(self) -> float:
        """Bytes read and written; unknown outputs count as the largest input."""
        read = [_volume(s) * _at(self.input_bytes, i) for i, s in enumerate(self.inputs)]
        if self.family == "copy" and "gather" in self.kind.lower() and self.outputs:
            read = read[1:]  # a gather reads what it writes, not the table
        written = [_volume(s) * _at(self.output_bytes, i) for i, s in enumerate(self.outputs)]
        if self.family == "fill":
            read = []
        if not written and self.family == "optimiser":
            written = [3.0 * max(read, default=0.0)]  # weight and two moments
        elif not written and self.family not in {"reduce", "select"}:
            written = [max(read, default=0.0)]
        return float(sum(read) + sum(written))


def _at(sizes: Sequence[int], index: int) -> int:
    return sizes[index] if index < len(sizes) else (sizes[-1] if sizes else 2)


def _volume(shape: Sequence[int]) -> float:
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
    for part in text.strip().strip('"').split(";") if text.strip() else []:
        sizes = [item.strip().strip('"') for item in part.split(",")]
        found.append(tuple(int(s) for s in sizes) if all(s.isdigit() for s in sizes) else ())
    return tuple(found)


def _types(text: str) -> tuple[int, ...]:
    names = [part.strip().removeprefix("DT_").upper() for part in text.split(";")] if text else []
    return tuple(SIZES.get(name, 2 if name else 0) for name in names)


@dataclass(frozen=True, slots=True)
class Batch:
    """Kernels of one job on one device, with what does not depend on constants worked out.

    Attributes:
        device: Where.
        kernels: What ran.
        traffic: Bytes read and written per kernel.
        fixed_us: Time of the products inside, known beforehand; NaN for pure vector kernels.
        resident: Share of the traffic that the cache serves, per kernel.
    """

    device: Device
    kernels: tuple[Kernel, ...]
    traffic: Floats
    fixed_us: Floats
    resident: Floats


def batch(device: Device, kernels: Sequence[Kernel], products: Calibrated) -> Batch:
    """Kernels of one job, products timed by the calibrated matmul with weights from memory."""
    fixed = np.full(len(kernels), np.nan)
    shapes = {
        index: shape
        for index, kernel in enumerate(kernels)
        if kernel.family in _PRODUCTS and (shape := _product(kernel)) is not None
    }
    for single in (False, True):
        chosen = [i for i in shapes if (kernels[i].input_bytes[:1] == (4,)) == single]
        if chosen:
            # HF32, the default of float32 products: a quarter of the 16-bit rate, twice the bytes
            slow = {
                "peak_bf16_flops": device.peak("bf16") / 4,
                "memory_bandwidth_bytes_per_s": device.memory_bandwidth / 2,
            }
            where = Device(device.id, {**device.facts, **slow}) if single else device
            fixed[chosen] = products.times_us(where, np.array([shapes[i] for i in chosen]))
    for index, kernel in enumerate(kernels):
        if kernel.family == "attention":
            fixed[index] = _attention_us(device, kernel)
    traffic = np.array([kernel.traffic for kernel in kernels])
    return Batch(device, tuple(kernels), traffic, fixed, _resident(device, kernels, traffic))


def _resident(device: Device, kernels: Sequence[Kernel], traffic: Floats) -> Floats:
    """Share of each kernel's traffic that the cache serves.

    What was written just before is there if it is small enough. Parameters and what belongs to them
    (as large as something an optimiser kernel updates, or long vectors) are met once a step: the
    cache keeps as much of them as its size over the largest tensor of the job.
    """
    cache = device.l2_bytes
    owned = {_volume(shape) for k in kernels if k.family == "optimiser" for shape in k.inputs}
    owned -= {volume for volume in owned if volume < SMALL}
    largest = max((kernel.largest for kernel in kernels), default=1.0)
    step = min(1.0, cache / max(largest, 1.0))
    recent = np.clip(2 - 2 * traffic / max(cache, 1.0), 0.0, 1.0)
    parameter = np.array(
        [
            any(_volume(s) in owned or (len(s) == 1 and s[0] >= SMALL) for s in (*k.inputs, *k.outputs))
            for k in kernels
        ],
        dtype=bool,
    )
    return np.asarray(np.where(parameter, np.minimum(step, recent), recent))


def base(work: Batch, constants: Mapping[str, float]) -> Floats:
    """Times before any factor of class or type, shape (r,)."""
    device, traffic = work.device, work.traffic
    cores = device.known("vector_cores") or 2 * device.cores
    blocks = np.clip(np.ceil(traffic / 2 / BLOCK_BYTES), 1, cores)
    nominal = device.memory_bandwidth / 1e6
    hit = work.resident
    wide = 1 / (
        hit / (nominal * constants["cache_share"]) + (1 - hit) / (nominal * constants["memory_share"])
    )
    bandwidth = np.minimum(wide, blocks * constants["core_bytes_per_us"])
    time = constants["launch_us"] + constants["wide_us"] * blocks / cores + traffic / bandwidth
    attends = np.array([kernel.family == "attention" for kernel in work.kernels], dtype=bool)
    time = np.where(attends & np.isfinite(work.fixed_us), time + np.nan_to_num(work.fixed_us), time)
    products = np.array([kernel.family in _PRODUCTS for kernel in work.kernels], dtype=bool)
    return np.asarray(np.where(products & np.isfinite(work.fixed_us), work.fixed_us, time), dtype=np.float64)


def _product(kernel: Kernel) -> tuple[float, float, float] | None:
    """m, n and k of a product or of a convolution as one, from its shapes."""
    shapes = [shape for shape in kernel.inputs if len(shape) > 1]
    if len(shapes) < 2:
        return None
    if kernel.family == "convolution":
        wide = [s for s in (*shapes, *kernel.outputs) if len(s) == 5]
        filters = [s for s in (*shapes, *kernel.outputs) if len(s) == 4]
        if len(wide) < 2 or not filters:
            return None
        taps = filters[0]  # (input channel blocks x window, output blocks, 16, channels of a block)
        inner = taps[0] * taps[3]
        outer = taps[1] * taps[2]
        pixels = min(s[0] * s[2] * s[3] for s in wide)
        if "filter" in kernel.kind.lower():
            return float(inner), float(outer), float(pixels)
        return float(pixels), float(outer), float(inner)
    a, b = shapes[0], shapes[1]
    # Four ways to lay out two matrices: the shared side is k. The output, where known, decides.
    for m, k in ((a[-2], a[-1]), (a[-1], a[-2])):
        for n, kb in ((b[-2], b[-1]), (b[-1], b[-2])):
            if k == kb and (not kernel.outputs or kernel.outputs[0][-2:] == (m, n)):
                return float(m), float(n), float(k)
    return None


def _attention_us(device: Device, kernel: Kernel) -> float:
    """Time of the two products inside fused attention, half of the pairs masked, at half of the peak."""
    shapes = [shape for shape in kernel.inputs if len(shape) >= 3]
    if len(shapes) < 2:
        return 0.0
    query, key = shapes[0], shapes[1]
    # (S, B, H) or (B, S, H) or (B, N, S, D): pairs of positions times the width of a row
    length, length_key = (max(query[:2]), max(key[:2])) if len(query) == 3 else (query[-2], key[-2])
    flops = 2.0 * _volume(query) * length_key
    if length == 0:
        return 0.0
    backward = 2.5 if "grad" in kernel.kind.lower() else 1.0  # five products instead of two
    return flops * backward / (0.5 * device.peak("bf16")) * 1e6


@dataclass(frozen=True, slots=True)
class Factors:
    """What classes and types need beyond the base, as log factors."""

    classes: Mapping[str, float]
    types: Mapping[str, float]

    def of(self, kernels: Sequence[Kernel]) -> Floats:
        """Log factor per kernel."""
        return np.array([self.classes.get(k.family, 0.0) + self.types.get(k.kind, 0.0) for k in kernels])


def fit_factors(kernels: Sequence[Kernel], log_ratio: Floats, groups: Sequence[str]) -> Factors:
    """Shrunken log ratios per class, then of what is left per type.

    Jobs differ more than kernels of one job do, so a factor is the mean over jobs (``groups``) of
    the median within one, shrunk by the number of jobs.
    """
    classes = _shrunken([k.family for k in kernels], log_ratio, groups, SHRINK_CLASS)
    left = log_ratio - np.array([classes.get(k.family, 0.0) for k in kernels])
    return Factors(classes, _shrunken([k.kind for k in kernels], left, groups, SHRINK_TYPE))


def _shrunken(
    names: Sequence[str], values: Floats, groups: Sequence[str], strength: float
) -> dict[str, float]:
    held: dict[str, dict[str, list[float]]] = {}
    for name, value, group in zip(names, values, groups, strict=True):
        if np.isnan(value):
            continue
        held.setdefault(name, {}).setdefault(group, []).append(float(value))
    found = {}
    for name, jobs in sorted(held.items()):
        medians = [float(np.median(job)) for job in jobs.values()]
        found[name] = sum(medians) / (len(medians) + strength)
    return found


@dataclass(frozen=True, slots=True)
class KernelModel:
    """Fitted constants and factors: times of the kernels of a job."""

    constants: Mapping[str, float]
    factors: Factors

    def times_us(self, work: Batch) -> Floats:
        """Microseconds per kernel."""
        time = base(work, self.constants)
        fixed = _fixed(work.kernels, self.constants)
        return np.asarray(fixed + (time - fixed) * np.exp(self.factors.of(work.kernels)), dtype=np.float64)


def _fixed(kernels: Sequence[Kernel], constants: Mapping[str, float]) -> Floats:
    """The part of a time that no factor touches: launching a simple kernel costs the same for all."""
    simple = np.array([kernel.family in SIMPLE for kernel in kernels], dtype=bool)
    return np.where(simple, constants["launch_us"], 0.0)


def _log_ratio(work: Batch, measured: Floats, constants: Mapping[str, float]) -> Floats:
    """Log of measured over base beyond the fixed part; NaN where little but the fixed part is there."""
    time = base(work, constants)
    fixed = _fixed(work.kernels, constants)
    beyond = np.maximum(measured - fixed, 0.1 * measured)
    return np.where(time > 2 * fixed, np.log(beyond / np.maximum(time - fixed, 1e-9)), np.nan)


def fit(works: Sequence[Batch], measured: Sequence[Floats], jobs: Sequence[str]) -> KernelModel:
    """Constants from vector kernels of several jobs, then factors of class and type."""
    from recommender.cost_model.learning import fit_constants

    names = list(PRIOR)
    simple = [np.array([kernel.family in SIMPLE for kernel in work.kernels], dtype=bool) for work in works]
    vector = [np.isnan(w.fixed_us) & (w.traffic > 0) & mask for w, mask in zip(works, simple, strict=True)]
    target = np.concatenate([times[mask] for times, mask in zip(measured, vector, strict=True)])

    def analytic(logs: Floats) -> Floats:
        constants = dict(zip(names, np.exp(logs), strict=True))
        return np.concatenate([base(work, constants)[mask] for work, mask in zip(works, vector, strict=True)])

    prior = np.log([PRIOR[name] for name in names])
    logs = fit_constants(analytic, prior, target, pull=PULL) if len(target) else prior
    constants = {name: float(value) for name, value in zip(names, np.exp(logs), strict=True)}
    kernels = [kernel for work in works for kernel in work.kernels]
    ratio = np.concatenate([_log_ratio(w, t, constants) for w, t in zip(works, measured, strict=True)])
    groups = [job for job, work in zip(jobs, works, strict=True) for _ in work.kernels]
    return KernelModel(MappingProxyType(constants), fit_factors(kernels, ratio, groups))
