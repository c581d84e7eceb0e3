"""Calls of the host by what they do while the device waits: collect garbage, load data, compile, allocate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.profiles.facts.run import Call

ALLOCATION = (
    *("aclMallocMemInner", "aclrtFreePhysical", "aclrtFree", "aclrtMalloc", "aclrtMallocPhysical"),
    *("aclrtMapMem", "aclrtUnmapMem", "DevMalloc", "DevFree"),
    *("cudaMalloc", "cudaFree", "hipMalloc", "hipFree", "cuMemCreate", "cuMemMap", "cuMemUnmap"),
    *("cuMemRelease", "hipMemCreate", "hipMemMap", "hipMemUnmap"),
)
COPYING = ("cudaMemcpy", "hipMemcpy", "cuMemcpy")
LONGEST_LAUNCH_US = 50.0
"""A launch takes some 5 to 20 µs on the host (msprof best practices)."""
SYNCHRONISING = ("Synchronize", "synchronize")
ITEM = ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal")
COMPILING = (
    *("aclopCompile", "OpCompile", "CompileOp", "GEGraphCompile", "opCompile", "BuildOp", "GraphCompile"),
    *("ModuleLoadData", "cuLibraryLoadData", "hipModuleLoad", "rtcCompileProgram"),
    "torch/_dynamo/convert_frame.py: _compile",
)
RUNTIME = frozenset({"acl", "runtime", "node", "model"})


def is_allocation(call: Call) -> bool:
    """True for a call that takes device memory from the driver, gives it back, or maps it."""
    return call.level in RUNTIME | {"hccl"} and call.name.startswith(ALLOCATION)


def is_compiling(call: Call) -> bool:
    """True for a call that compiles an operator or a graph."""
    return any(part in call.name for part in COMPILING)


def is_synchronising(call: Call) -> bool:
    """True for a call of the runtime that waits for the device.

    A copy to or from pageable memory waits, too, whatever its name says (CUDA Runtime API, "API
    synchronization behavior"); it is known by taking longer than a launch.
    """
    if call.level not in RUNTIME:
        return False
    if any(part in call.name for part in SYNCHRONISING):
        return True
    return call.name.startswith(COPYING) and call.total_us > LONGEST_LAUNCH_US * call.count


def total_us(calls: Iterable[Call]) -> float:
    """Time of all calls."""
    return sum(call.total_us for call in calls)


def outermost(calls: Iterable[Call]) -> list[Call]:
    """The calls of one level: those of acl call those of the runtime, so levels are never added up."""
    by_level: dict[str, list[Call]] = {}
    for call in calls:
        if call.total_us > 0:
            by_level.setdefault(call.level, []).append(call)
    return max(by_level.values(), key=total_us, default=[])
