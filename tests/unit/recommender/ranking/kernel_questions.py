"""Questions about kernels on two devices whose facts are public, without a workspace."""

from collections.abc import Mapping

import numpy as np

from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.values import Settings
from recommender.ranking.kernels.domain import Columns
from recommender.ranking.kernels.question import KernelQuestion, kernel_question
from recommender.ranking.kernels.tile_times import TileTimes

GPU: dict[str, float | str] = {
    "compute_capability": "8.0",
    "compute_units": 108,
    "clock_hz": 1.41e9,
    "l2_bytes": 41943040,
    "memory_bandwidth_bytes_per_s": 2.039e12,
    "peak_fp16_flops": 312e12,
    "peak_bf16_flops": 312e12,
    "peak_fp32_flops": 19.5e12,
    "shared_memory_bytes": 167936,
    "warp_size": 32,
}
"""An A100."""
NPU: dict[str, float | str] = {
    "core_design": "split: one cube core to two vector cores",
    "cube_cores": 20,
    "vector_cores": 40,
    "clock_hz": 1.8e9,
    "l2_bytes": 201326592,
    "memory_bandwidth_bytes_per_s": 1.6e12,
    "peak_fp16_flops": 294.9e12,
    "peak_bf16_flops": 294.9e12,
    "l0a_bytes": 65536,
    "l0b_bytes": 65536,
    "l0c_bytes": 131072,
    "l1_bytes": 524288,
    "ub_bytes": 196608,
}
"""A 910B3."""
CUBE = {"M": 4096, "N": 4096, "K": 4096}


def problem(
    operator: str = "gemm",
    *,
    npu: bool = False,
    shape: dict[str, object] | None = None,
    precision: str | None = "float16",
    current: dict[str, object] | None = None,
    software: dict[str, object] | None = None,
    **traits: object,
) -> Problem:
    return Problem(
        workload=Workload(
            kind=WorkloadKind.KERNEL,
            operator=operator,
            shape=Settings(CUBE if shape is None else shape),
            precision=precision,
            traits=Settings(traits),
        ),
        hardware=Hardware(name="npu" if npu else "gpu"),
        objective=Objective(metric="latency", better=Better.LOWER),
        current=None if current is None else Settings(current),
        software=Settings(software or {}),
    )


def question(operator: str = "gemm", *, npu: bool = False, **more: object) -> KernelQuestion:
    return kernel_question(problem(operator, npu=npu, **more), NPU if npu else GPU)  # type: ignore[arg-type]  # passed on


def columns(tile: Mapping[str, float]) -> Columns:
    """One configuration as the models take many."""
    return {name: np.array([float(value)]) for name, value in tile.items()}


def microseconds(times: TileTimes) -> list[float]:
    """Microseconds of the one configuration: the whole, on the cores, traffic, and the products alone."""
    parts = (times.total_s, times.on_chip_s, times.memory_s, times.ideal_s)
    return [1e6 * float(part[0]) for part in parts]
