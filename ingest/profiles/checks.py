"""Checks of a profile: facts that it lacks, and parts that do not add up to their totals."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from ingest.profiles.facts.run import Missing, Rank, StepTime
from ingest.profiles.tables.step_tables import TOLERANCE

LEVEL1 = "profile with profiler_level=Level1 or Level2"
OPERATOR, MINDSPORE, PYTORCH = "msprof op", "MindSpore profiler", "Ascend PyTorch Profiler"
KINETO, NSIGHT, ROCPROF = "Kineto trace", "Nsight Systems", "rocprof"
SNAPSHOT = "memory snapshot"
GPU_LAYOUTS = (KINETO, NSIGHT, ROCPROF)
"""Layouts that lack other facts than a profile of a job does; GPU_LAYOUTS are recordings of GPUs."""
_BOTH = "record activities=[CPU, CUDA]"
_ALL_RANKS = "lay the PyTorch traces of all ranks of a group into one folder, of PyTorch 2.2 or newer"
_SNAPSHOT = "lay a file of torch.cuda.memory._dump_snapshot beside it"
_GPU_HINTS: Mapping[str, Mapping[str, str]] = {
    KINETO: {
        "kernels": _BOTH, "steps": "call the profiler's step() after each step", "collectives": _ALL_RANKS,
        "runtime": _BOTH, "operators": _BOTH, "memory": "profile with profile_memory=True",
    },
    NSIGHT: {
        "kernels": "nsys profile --trace=cuda", "collectives": _ALL_RANKS, "memory": _SNAPSHOT,
        "steps": "mark each step with a range of NVTX that is named step N",
        "runtime": "nsys profile --trace=cuda",
        "operators": "nsys profile --trace=cuda,nvtx under torch.autograd.profiler.emit_nvtx()",
    },
    ROCPROF: {
        "kernels": "rocprofv3 --kernel-trace", "collectives": _ALL_RANKS, "memory": _SNAPSHOT,
        "steps": "mark each step with a range of roctx that is named step N, rocprofv3 --marker-trace",
        "runtime": "rocprofv3 --hip-trace", "operators": "profile with torch.profiler",
    },
}  # fmt: skip
PIPES = "profile with profiler_level=Level1 and aic_metrics=PipeUtilization"


def missing_facts(rank: Rank) -> Iterator[Missing]:
    """The facts that a profile lacks, and how to collect each."""
    if rank.layout == OPERATOR:
        yield from _of_operator(rank)
        return
    if rank.layout == SNAPSHOT:
        yield Missing(what="times", how="profile the job, and lay the snapshot beside the profile")
        return
    if rank.layout in GPU_LAYOUTS:
        yield from _of_gpu(rank)
        return
    yield from _of_kernels(rank)
    if not rank.steps:
        yield Missing(what="the split of the step", how="keep step_trace_time.csv, or starts of kernels")
    if not rank.collectives and _communicates(rank):
        yield Missing(what="waiting and transfer of collectives", how=f"{LEVEL1}, keep communication.json")
    if not rank.links and _communicates(rank):
        yield Missing(what="bandwidth of each link", how=f"{LEVEL1}, keep communication_matrix.json")
    if not any(call.level in {"acl", "runtime"} for call in rank.calls):
        yield Missing(what="calls of the runtime", how=f"{LEVEL1}, and keep api_statistic.csv or the trace")
    if not any(call.level in {"op", "loader"} for call in rank.calls):
        yield Missing(what="operators of the framework on the host", how="record activities=[CPU, NPU]")
    if rank.memory is None:
        yield Missing(what="use of device memory", how="profile with profile_memory=True")
    if len(rank.frequency_mhz) < 2:
        yield Missing(what="the clock over time", how="export a database or keep trace_view.json")
    if rank.layout == MINDSPORE and rank.details.pipeline is None:
        yield Missing(what="queues and workers of the data pipeline", how="profile with data_process=True")


def _of_gpu(rank: Rank) -> Iterator[Missing]:
    """The facts that the recording of a GPU lacks; it has no types, counters and clocks to collect."""
    hints = _GPU_HINTS[rank.layout]
    if rank.kernels is None:
        yield Missing(what="kernels", how=hints["kernels"])
    elif not any(rank.kernels.texts["step"].labels):
        yield Missing(what="the split of the step", how=hints["steps"])
    if rank.kernels is not None and rank.kernels.is_communication.any() and not rank.collectives:
        yield Missing(what="waiting and transfer of collectives", how=hints["collectives"])
    if not any(call.level == "runtime" for call in rank.calls):
        yield Missing(what="calls of the runtime", how=hints["runtime"])
    if not any(call.level in {"op", "loader"} for call in rank.calls):
        yield Missing(what="operators of the framework on the host", how=hints["operators"])
    if rank.memory is None:
        yield Missing(what="use of device memory", how=hints["memory"])


def _of_operator(rank: Rank) -> Iterator[Missing]:
    """The facts that the profile of one operator lacks."""
    if rank.kernels is None:
        yield Missing(what="how long the operator takes on a device", how="run msprof op on a device")
    elif not any(name.endswith("_ratio") for name in rank.kernels.pipes):
        yield Missing(what="counters of the cores", how="run msprof op with --aic-metrics=Default")


def _of_kernels(rank: Rank) -> Iterator[Missing]:
    kernels = rank.kernels
    if kernels is None:
        yield Missing(what="kernels", how="keep kernel_details.csv, op_summary_*.csv or the database")
        return
    if not (kernels.start_ns != UNKNOWN_NS).any():
        yield Missing(what="start times of kernels", how="keep kernel_details.csv or op_summary_*.csv")
    if not any(kernels.texts["kind"].labels):
        yield Missing(what="operator types and shapes", how=LEVEL1)
    if not any(name.endswith("_ratio") for name in kernels.pipes):
        yield Missing(what="pipe ratios of operators", how=PIPES)
    if not any(kernels.texts["state"].labels):
        yield Missing(what="whether shapes are dynamic (OP State)", how=LEVEL1)


def _communicates(rank: Rank) -> bool:
    if any(step.exposed_us + step.overlapped_us > 0 for step in rank.steps):
        return True
    return rank.kernels is not None and bool(rank.kernels.is_communication.any())


def doubts(rank: Rank, counted: Iterable[StepTime], totals: Mapping[str, float]) -> Iterator[str]:
    """Differences of more than half a per cent between kernels and the profiler's totals: something was cut.

    Args:
        rank: Its facts.
        counted: The split of its steps counted from its kernels.
        totals: Time by operator type in the profiler's sums, microseconds.
    """
    by_step = {step.step: step for step in counted}
    for step in rank.steps:
        parts = step.computing_us + step.exposed_us + step.free_us
        if abs(parts - step.step_us) > TOLERANCE * step.step_us:
            yield (
                f"step {step.step or '?'}: its parts are {parts / step.step_us:.2f} of its length "
                f"({step.place})"
            )
        mine = by_step.get(step.step) or (next(iter(by_step.values())) if len(by_step) == 1 else None)
        if mine is None or step.is_counted:
            continue
        for name in ("computing_us", "exposed_us", "overlapped_us"):
            theirs, ours = getattr(step, name), getattr(mine, name)
            if abs(theirs - ours) > TOLERANCE * step.step_us:
                yield (
                    f"step {step.step or '?'}: {name.removesuffix('_us')} is {theirs / 1e3:.3f} ms in "
                    f"{step.place.file} and {ours / 1e3:.3f} ms in the kernels: the table of kernels is cut"
                )
    if rank.kernels is None or not totals:
        return
    label = rank.kernels.label
    mask = rank.kernels.is_compute
    sums = np.bincount(label.codes[mask], weights=rank.kernels.duration_us[mask], minlength=len(label.labels))
    ours_by_kind = dict(zip(label.labels, sums, strict=True))
    total_us = sum(totals.values())
    off = sum(abs(total - ours_by_kind.get(kind, 0.0)) for kind, total in totals.items())
    if total_us > 0 and off > TOLERANCE * total_us:
        yield f"sums by operator type differ from op_statistic by {off / total_us:.1%}: one of the two is cut"
