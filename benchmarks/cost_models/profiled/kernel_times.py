"""Times of kernels by name and shapes, as profiles list them, on a device of known clock and cores.

Vector kernels are a launch that grows with the cores used, and traffic; products are tiles; the
rest is classed by its name. A type has a factor beyond that of its class, shrunk towards one.
Times are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.cost_models.profiled.kernel import volume
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.cost_models.profiled.kernel import Kernel
    from recommender.cost_model.operators.kinds import CalibratedOperator

Floats = NDArray[np.float64]

PRIOR = MappingProxyType(
    {
        "launch_us": 1.3,  # shortest vector kernels of the MindStudio test profiles, one core
        "wide_us": 2.5,  # more when all cores take part
        "memory_share": 0.5,  # contended HBM; 642 GB/s of torch.exp alone is 0.4 of nominal (limulidae)
        "cache_share": 2.0,  # what matrix products reach from L2, as a share of nominal memory
        "core_bytes_per_us": 4.0e4,
    }
)
PULL = 0.4  # to the prior: jobs differ more than kernels of one job
SHRINK_CLASS = 3.0  # jobs
SHRINK_TYPE = 3.0
_PRODUCTS = frozenset({"matmul", "matmul-fp32", "convolution"})
SMALL = 65536  # elements: shorter vectors are norms and biases
TRANSPOSE_US = 15.0  # a transposition of 160 numbers, launch apart (MindStudio test profiles)
REDUCE_US = 2.5  # workspace of a reduction on one core (same)
MEETING_US = 5.0  # more where all cores meet at its end (same)
RANDOM_BYTES_PER_US = 1.6e4  # generator of random bits, apart from the cores (same)
PORT_BYTES_PER_CYCLE = 32.0  # of one cube core to device memory (formula of the 910B configuration files)
TILE_COLUMNS = 256.0
SIMPLE = frozenset({"elementwise", "copy", "fill", "optimiser"})  # what constants are fitted on
BLOCK_BYTES = 4096  # 4096 float32 elements are four blocks in the MindStudio test profiles


@dataclass(frozen=True, slots=True)
class KernelBatch:
    """Kernels of one job on one device, with the parts that do not depend on constants precomputed.

    Attributes:
        device: The device.
        kernels: The kernels.
        traffic: Bytes read and written per kernel.
        fixed_us: Time of the products inside, known beforehand; NaN for pure vector kernels.
        resident: Share of the traffic that the cache serves, per kernel.
    """

    device: Device
    kernels: tuple[Kernel, ...]
    traffic: Floats
    fixed_us: Floats
    resident: Floats


def batch(device: Device, kernels: Sequence[Kernel], products: CalibratedOperator) -> KernelBatch:
    """Kernels of one job, products timed by the calibrated matmul with weights from memory."""
    fixed = np.full(len(kernels), np.nan)
    shapes = {
        index: shape
        for index, kernel in enumerate(kernels)
        if kernel.family in _PRODUCTS and (shape := _product(kernel)) is not None
    }
    for rate in (1.0, 2.0, 4.0):
        chosen = [i for i in shapes if _slower(kernels[i]) == rate]
        if chosen:
            slow = {
                "peak_bf16_flops": device.peak("bf16") / rate,
                "memory_bandwidth_bytes_per_s": device.memory_bandwidth / min(rate, 2.0),
            }
            where = Device(device.id, {**device.facts, **slow}) if rate > 1 else device
            x = np.array([shapes[i] for i in chosen])
            fixed[chosen] = np.maximum(products.times_us(where, x), _stream_us(device, x, rate))
    for index, kernel in enumerate(kernels):
        if kernel.family == "attention":
            fixed[index] = _attention_us(device, kernel)
    traffic = np.array([kernel.traffic for kernel in kernels])
    return KernelBatch(device, tuple(kernels), traffic, fixed, _resident(device, kernels, traffic))


def _slower(kernel: Kernel) -> float:
    """Slowdown against 16 bit: float32 convolutions run in HF32 by default, products do not."""
    if kernel.input_bytes[:1] != (4,):
        return 1.0
    return 2.0 if kernel.family == "convolution" else 4.0


def _stream_us(device: Device, x: Floats, rate: float) -> Floats:
    """Least time to bring float32 weights of few rows through the memory ports of the cores at work."""
    rows, columns, deep = x.T
    busy = np.minimum(np.ceil(columns / TILE_COLUMNS) * np.ceil(rows / 128), device.cores)
    port = busy * PORT_BYTES_PER_CYCLE * device.clock / 1e6
    return np.asarray(np.where((rate == 4) & (rows < deep), 4 * columns * deep / port, 0.0))


def _beside_us(kernel: Kernel, blocks: float, cores: float) -> float:
    """Time of a kernel besides launch and stream: bursts, meetings of cores, random bits."""
    low = kernel.kind.lower()
    if kernel.family == "format":
        if "transdata" not in low:
            return TRANSPOSE_US
        bursts = max(kernel.largest / max(kernel.run_bytes, 1.0), 1.0)
        spread_us = bursts / min(cores, max(blocks, 1.0)) * PHYSICS["burst_us"]
        return PHYSICS["format_us"] * min(1.0, blocks / 8) + spread_us
    if kernel.family == "reduce":
        return REDUCE_US + MEETING_US * blocks / cores
    if kernel.family == "random":
        return kernel.traffic / RANDOM_BYTES_PER_US
    return 0.0


def _resident(device: Device, kernels: Sequence[Kernel], traffic: Floats) -> Floats:
    """Share of each kernel's traffic that the cache serves.

    Data written just before is there if it is small enough. Parameters and the tensors that belong to them
    (as large as something an optimiser kernel updates, or long vectors) are met once a step: the
    cache keeps as much of them as its size over the largest tensor of the job.
    """
    cache = device.l2_bytes
    owned = {volume(shape) for k in kernels if k.family == "optimiser" for shape in k.inputs}
    owned -= {volume for volume in owned if volume < SMALL}
    largest = max((kernel.largest for kernel in kernels), default=1.0)
    step = min(1.0, cache / max(largest, 1.0))
    recent = np.clip(2 - 2 * traffic / max(cache, 1.0), 0.0, 1.0)
    parameter = np.array(
        [
            any(volume(s) in owned or (len(s) == 1 and s[0] >= SMALL) for s in (*k.inputs, *k.outputs))
            for k in kernels
        ],
        dtype=bool,
    )
    return np.asarray(np.where(parameter, np.minimum(step, recent), recent))


def base(work: KernelBatch, constants: Mapping[str, float]) -> Floats:
    """Times before any factor of class or type, shape (r,)."""
    device, traffic = work.device, work.traffic
    cores = device.get("vector_cores") or 2 * device.cores
    blocks = np.clip(np.ceil(traffic / 2 / BLOCK_BYTES), 1, cores)
    nominal = device.memory_bandwidth / 1e6
    hit = work.resident
    wide = 1 / (
        hit / (nominal * constants["cache_share"]) + (1 - hit) / (nominal * constants["memory_share"])
    )
    bandwidth = np.minimum(wide, blocks * constants["core_bytes_per_us"])
    time = constants["launch_us"] + constants["wide_us"] * blocks / cores + traffic / bandwidth
    time = time + np.array(
        [_beside_us(kernel, float(b), cores) for kernel, b in zip(work.kernels, blocks, strict=True)]
    )
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
    flops = 2.0 * volume(query) * length_key
    if length == 0:
        return 0.0
    backward = 2.5 if "grad" in kernel.kind.lower() else 1.0  # five products instead of two
    return flops * backward / (0.5 * device.peak("bf16")) * 1e6


@dataclass(frozen=True, slots=True)
class Factors:
    """Log factors of classes and types of kernels beyond the base time."""

    classes: Mapping[str, float]
    types: Mapping[str, float]

    def of(self, kernels: Sequence[Kernel]) -> Floats:
        """Log factor per kernel."""
        return np.array([self.classes.get(k.family, 0.0) + self.types.get(k.kind, 0.0) for k in kernels])


def fit_factors(kernels: Sequence[Kernel], log_ratio: Floats, groups: Sequence[str]) -> Factors:
    """Shrunken log ratios per class, then of the remainder per type.

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

    def times_us(self, work: KernelBatch) -> Floats:
        """Microseconds per kernel."""
        time = base(work, self.constants)
        fixed = _fixed(work.kernels, self.constants)
        return np.asarray(fixed + (time - fixed) * np.exp(self.factors.of(work.kernels)), dtype=np.float64)


def _fixed(kernels: Sequence[Kernel], constants: Mapping[str, float]) -> Floats:
    """The part of a time that no factor touches: launching a simple kernel costs the same for all."""
    simple = np.array([kernel.family in SIMPLE for kernel in kernels], dtype=bool)
    return np.where(simple, constants["launch_us"], 0.0)


def _log_ratio(work: KernelBatch, measured: Floats, constants: Mapping[str, float]) -> Floats:
    """Log of measured over base beyond the fixed part; NaN where little but the fixed part is there."""
    time = base(work, constants)
    fixed = _fixed(work.kernels, constants)
    beyond = np.maximum(measured - fixed, 0.1 * measured)
    return np.where(time > 2 * fixed, np.log(beyond / np.maximum(time - fixed, 1e-9)), np.nan)


def fit(works: Sequence[KernelBatch], measured: Sequence[Floats], jobs: Sequence[str]) -> KernelModel:
    """Constants from vector kernels of several jobs, then factors of class and type."""
    from recommender.cost_model.fit.learning import fit_constants

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
