"""Calls of the host by what they do while the device waits: collect garbage, load data, compile, allocate."""

from collections.abc import Iterable

from ingest.profiles.facts.host_spans import HOST_OPERATOR
from ingest.profiles.facts.run import Call

ALLOCATION = (
    *("aclMallocMemInner", "aclrtFreePhysical", "aclrtFree", "aclrtMalloc", "aclrtMallocPhysical"),
    *("aclrtMapMem", "aclrtUnmapMem", "DevMalloc", "DevFree"),
    *("cudaMalloc", "cudaFree", "hipMalloc", "hipFree", "cuMemCreate", "cuMemMap", "cuMemUnmap"),
    *("cuMemRelease", "hipMemCreate", "hipMemMap", "hipMemUnmap"),
)
COPYING = ("cudaMemcpy", "hipMemcpy", "cuMemcpy")
BLOCKING = frozenset({"aclrtMemcpy", "MemCopySync"})
"""Copies of Ascend that return when all is copied; the others have Async in their names."""
USUAL_LAUNCH_US, LONGEST_LAUNCH_US = 20.0, 50.0
"""A launch takes some 5 to 20 µs on the host (msprof best practices); none takes the second."""
SYNCHRONISING = ("Synchronize", "synchronize")
LAUNCHES = ("LaunchKernel", "launchKernel", "GraphLaunch", "KernelLaunch")
ITEM = ("aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal")
COMPILING = (
    *("aclopCompile", "OpCompile", "CompileOp", "GEGraphCompile", "opCompile", "BuildOp", "GraphCompile"),
    *("ModuleLoadData", "cuLibraryLoadData", "hipModuleLoad", "rtcCompileProgram"),
    *("torch/_dynamo/convert_frame.py: _compile", "(dynamo_timed)"),
)
RUNTIME = frozenset({"acl", "runtime", "node", "model"})

COLLECTS, LOADS, SAVES = "garbage collection", "waits for training data", "writes a checkpoint"
COMPILES, ALLOCATES, WAITS = "compiles operators", "allocates device memory", "synchronising calls"
COMPUTES = "operators on the host"
CALLED = (COLLECTS, LOADS, SAVES, COMPILES, ALLOCATES, COMPUTES, WAITS)
"""Reasons of gaps that calls of the host tell, the surest first."""
_OF_LEVEL = {"gc": COLLECTS, "loader": LOADS, "save": SAVES, HOST_OPERATOR: COMPUTES}


def reason_of(level: str, name: str) -> str:
    """The reason that the device waits for a call; empty for one that only launches or computes."""
    if level in _OF_LEVEL:
        return _OF_LEVEL[level]
    if any(part in name for part in COMPILING):
        return COMPILES
    if level in RUNTIME | {"hccl"} and name.startswith(ALLOCATION):
        return ALLOCATES
    if level in RUNTIME and (
        any(part in name for part in SYNCHRONISING) or name.startswith(COPYING) or name in BLOCKING
    ):
        return WAITS
    return ""


def is_copy(call: Call) -> bool:
    """Return whether a call copies between host and device."""
    return call.name.startswith(COPYING) or call.name in BLOCKING


def calls_of(calls: Iterable[Call], reason: str) -> list[Call]:
    """The calls that do one of these, the longest first.

    A copy to or from pageable memory waits, too, whatever its name says (CUDA Runtime API, "API
    synchronization behavior"); it is known by taking longer than a launch.
    """
    found = [
        call
        for call in calls
        if reason_of(call.level, call.name) == reason
        and not (
            reason == WAITS
            and call.name.startswith(COPYING)
            and (call.max_us or call.total_us / call.count) <= LONGEST_LAUNCH_US
        )
    ]
    return sorted(found, key=lambda call: -call.total_us)


def spent_us(calls: Iterable[Call], reason: str) -> float:
    """Time of all calls that do one of these: loaders and savers call each other, the longest has the others.

    So do levels of the runtime, of which the one of most time counts. A call that compiles is one that
    launches what is compiled already, so that a launch is taken off.
    """
    mine = calls_of(calls, reason)
    if reason in {LOADS, SAVES}:
        return max((call.total_us for call in mine), default=0.0)
    if reason == COMPILES:
        return sum(max(0.0, call.total_us - call.count * LONGEST_LAUNCH_US) for call in mine)
    return total_us(outermost(mine) if reason in {ALLOCATES, WAITS} else mine)


def launch_us(calls: Iterable[Call]) -> float:
    """Mean time of a launch; 0 where none was recorded."""
    mine = outermost(
        call
        for call in calls
        if call.level in RUNTIME
        and (any(part in call.name for part in LAUNCHES) or (call.level, call.name) == ("node", "launch"))
    )
    count = sum(call.count for call in mine)
    return total_us(mine) / count if count else 0.0


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
