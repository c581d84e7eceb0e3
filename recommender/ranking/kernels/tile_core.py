"""The core of a device as tiles see it: one row of rates for GPUs, one for Ascend.

Sources:
    GPUs: CUDA C++ Programming Guide (registers, threads, shared memory, banks); latencies and rates: table 3
    of https://pmc.ncbi.nlm.nih.gov/articles/PMC10448217/; matrix unit: https://arxiv.org/abs/2206.02874.
    Ascend: https://gitcode.com/cann/asc-devkit/blob/master/impl/adv_api/tiling/matmul/
    matmul_tiling_algorithm.cpp; rate to L1, shares of memory, launch as the cost model's matrix product was
    fitted on measured operators.
"""

import math
from dataclasses import dataclass
from typing import Self

from recommender.cost_model.facts.device import Device
from recommender.cost_model.operators.kinds import shipped
from recommender.space.made.needs import FRACTAL, is_nvidia

USUAL_CLOCK_HZ = 1.5e9
"""Where a GPU's clock is not known: it moves latencies and rates within a core, not its peak."""
AMD_SHARED_BYTES = 65536.0
HOPPER = 9.0
VECTOR_BYTES_PER_CYCLE = 256.0
"""Rate of a 910B's vector core, where the fact ``vector_bytes_per_cycle`` of a part is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileCore:
    """A core, its way to memory, and how many there are; a cycle is one of its clock.

    Attributes:
        count: Cores of the device.
        clock_hz: Their clock.
        flops: Operations of the matrix unit in a cycle, in the precision of the operands.
        near_bytes: To the matrix unit in a cycle, from the buffer beside it.
        far_bytes: To that buffer in a cycle, from the last cache.
        other_bytes: Through the vector unit in a cycle; 0 where other units count instructions.
        latency: Cycles from the request of a block to its arrival.
        pause: Cycles between two steps: flags, barriers, the depth of the matrix unit.
        bandwidth: Of memory that a kernel reaches, bytes a second.
        l2_bytes: Of the last cache.
        launch_s: From the launch to the first instruction.
        sharpness: Exponent of the soft maximum of units that overlap; infinite where the largest decides.
        whole: Side of the blocks that the matrix unit multiplies at least; 1 where edges cost elsewhere.
        is_joint: Whether the vector unit shares the buffers of the matrix unit.
        is_ascend: Whether it is a cube core.
        shared_bytes: Shared memory of the programs of a core.
        warp: Threads of a warp.
        capability: Compute capability, such as 8.0; 0 for other vendors.
    """

    count: float
    clock_hz: float
    flops: float
    near_bytes: float
    far_bytes: float
    other_bytes: float = 0.0
    latency: float = 0.0
    pause: float
    bandwidth: float
    l2_bytes: float
    launch_s: float
    sharpness: float
    whole: float = 1.0
    is_joint: bool = False
    is_ascend: bool = False
    shared_bytes: float = math.inf
    warp: float = 32.0
    capability: float = 0.0

    @classmethod
    def of(cls, device: Device, number: str, *, has_products: bool = True) -> Self:
        """Read the facts of a device for operands of a precision.

        Args:
            device: The device.
            number: The precision.
            has_products: Whether the kernel multiplies matrices; without, no peak is asked for.

        Raises:
            MissingFactError: One is not known.
        """
        peak = device.peak(number) if has_products else math.inf
        if device.ascend:
            fitted = shipped()["matmul_w8a8" if number == "int8" else "matmul_bf16"].constants
            return cls(
                count=device.cores,
                clock_hz=device.clock,
                flops=peak * fitted["efficiency"] / device.cores / device.clock,
                near_bytes=128.0,  # from L1 to L0B; to L0A it is twice that
                far_bytes=fitted["core_bytes_per_cycle"],
                other_bytes=(device.get("vector_bytes_per_cycle") or VECTOR_BYTES_PER_CYCLE)
                * (1 if device.joint else 2),
                pause=32.0,  # a choice: a few instructions
                bandwidth=fitted["memory_share"] * device.memory_bandwidth,
                l2_bytes=device.l2_bytes,
                launch_s=fitted["launch_us"] / 1e6,
                sharpness=math.inf,
                whole=FRACTAL,
                is_joint=device.joint,
                is_ascend=True,
            )
        nvidia = is_nvidia(device)
        clock = device.get("clock_hz", "clock_base_hz") or USUAL_CLOCK_HZ
        return cls(
            count=device.cores,
            clock_hz=clock,
            flops=peak / device.cores / clock,
            near_bytes=128.0,  # 32 banks of 4 bytes
            far_bytes=40.0,  # 7,219 GB/s over 128 cores at 1.41 GHz
            latency=420.0,  # of memory 400, of shared memory 20
            pause=73.0,  # two barriers behind shared memory, and the depth of the matrix unit (33)
            bandwidth=device.memory_bandwidth,
            l2_bytes=device.l2_bytes,
            launch_s=3e-6,  # a choice within the 2 to 5 us of public measurements
            sharpness=4.0,  # as in the operators of the cost model
            shared_bytes=device.number("shared_memory_bytes")
            if nvidia
            else device.get("shared_memory_bytes") or AMD_SHARED_BYTES,
            warp=device.get("warp_size") or 32.0,
            capability=float(str(device.facts["compute_capability"])) if nvidia else 0.0,
        )
