"""Simulated training runs as folders of the Ascend PyTorch Profiler without a trace: tables and sums alone.

The world is that of benchmarks/profiles/traced_runs.py; the folder keeps what the profiler's text output keeps of
it: kernels with their steps, the split of each step with ``Preparing``, and calls by count and time. What Python
did is in none of these.
"""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.profiles import traced_runs as runs
from benchmarks.profiles.profile_files import STEP, clock, covered, write_table
from benchmarks.profiles.simulated_runs import HOME, Chip, kernel
from benchmarks.profiles.traced_runs import Run, World

CUBE, MIXED, VECTOR = "AI_CORE", "MIX_AIC", "AI_VECTOR_CORE"
KINDS = {
    runs.GEMM: ("MatMulV3", CUBE), runs.ATTENTION: ("FlashAttentionScore", MIXED),
    runs.ATTENTION_BACK: ("FlashAttentionScoreGrad", MIXED), runs.NORM: ("RmsNorm", VECTOR),
    runs.NORM_BACK: ("RmsNormGrad", VECTOR), runs.GELU: ("Gelu", VECTOR), runs.GELU_BACK: ("GeluGrad", VECTOR),
    runs.SOFTMAX: ("SoftmaxV2", VECTOR), runs.SCALE: ("Muls", VECTOR), runs.ADD: ("Add", VECTOR), runs.COPY: ("ViewCopy", VECTOR),
    runs.CAST: ("Cast", VECTOR), runs.ADAM: ("ApplyAdamWV2", VECTOR), runs.LOSS: ("NLLLoss", VECTOR),
}  # fmt: skip
"""Kind and core of the kernel that does the same on Ascend."""
CALLS = {
    "LaunchKernel": (("node", "launch", 1.0), ("runtime", "KernelLaunchWithHandle", 0.4)),
    "StreamSynchronize": (("acl", "aclrtSynchronizeStreamWithTimeout", 1.0), ("runtime", "StreamSynchronize", 0.98)),
    "DeviceSynchronize": (("acl", "aclrtSynchronizeDeviceWithTimeout", 1.0), ("runtime", "DeviceSynchronize", 0.99)),
    "MemcpyAsync": (("acl", "aclrtMemcpy", 1.0), ("runtime", "MemCopySync", 0.9)),
    "Malloc": (("acl", "aclrtMallocPhysical", 1.0), ("runtime", "DevMalloc", 0.9)),
    "Free": (("acl", "aclrtFreePhysical", 1.0), ("runtime", "DevFree", 0.9)),
}  # fmt: skip
"""Levels, names and parts of the time of a call under which api_statistic.csv has it."""
CALL_COLUMNS = (
    "Device_id",
    "Level",
    "API Name",
    "Time(us)",
    "Count",
    "Avg(us)",
    "Min(us)",
    "Max(us)",
    "Variance",
)

FOLDERS = {
    "trains": World(steps=10, launch_us=12.0, reduces=False),
    "trains wide": World(steps=7, layers=6, size=2.2, launch_us=15.0, reduces=False),
}  # fmt: skip


def write_folder(world: World, random: np.random.Generator, folder: Path, chip: Chip = HOME) -> Path:
    """A capture as a folder of one rank."""
    run = Run(replace(world, marked=True), random)
    run.all()
    home = folder / "rank0_ascend_pt"
    inside = home / "ASCEND_PROFILER_OUTPUT"
    inside.mkdir(parents=True)
    marks = [event for event in run.events if event["name"].startswith("ProfilerStep#")]
    names = [mark["name"].partition("#")[2] for mark in marks]
    begins = np.array([mark["ts"] for mark in marks])
    rows = []
    spans: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for event in sorted((e for e in run.events if e["cat"] == "kernel"), key=lambda e: float(e["ts"])):
        step = max(0, int(np.searchsorted(begins, event["ts"], side="right")) - 1)
        spans[step].append((event["ts"], event["ts"] + event["dur"]))
        cells = kernel(*KINDS[event["name"]], event["dur"], 0, random, chip)
        cells |= {
            "Step Id": names[step],
            "Start Time(us)": clock(event["ts"]),
            "Duration(us)": f"{event['dur']:.3f}",
        }
        rows.append({**cells, "Wait Time(us)": "0"})
    write_table(inside / "kernel_details.csv", rows)
    steps = []
    leads = [*(spans[place][0][0] - mark["ts"] for place, mark in enumerate(marks)), 0.0]
    for place, mark in enumerate(marks):  # a stretch without work is of the step in which it begins
        busy, stage = covered(spans[place]), mark["dur"] - leads[place] + leads[place + 1]
        split = dict.fromkeys(STEP, 0.0) | {"Computing": busy, "Free": stage - busy, "Stage": stage}
        split["Preparing"] = leads[place]
        steps.append({"Step": names[place], **{name: f"{us:.3f}" for name, us in split.items()}})
    write_table(inside / "step_trace_time.csv", steps)
    write_table(inside / "api_statistic.csv", _calls(run))
    (home / "profiler_info_0.json").write_text('{"rank_id": 0, "torch_npu_version": "2.7.1"}')
    return folder


def _calls(run: Run) -> list[dict[str, str]]:
    """The profiler's sums over the calls of the runtime."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in run.events:
        short = str(event["name"]).removeprefix(run.world.runtime)
        if "_compile" in short:
            times["acl", "aclopCompileAndExecute"].append(event["dur"])
        for level, name, part in CALLS.get(short, ()) if event["cat"] == "cuda_runtime" else ():
            times[level, name].append(part * event["dur"])
    return [
        dict(zip(CALL_COLUMNS, ("host", level, name, f"{sum(us):.2f}", str(len(us)), f"{np.mean(us):.3f}",
                                f"{min(us):.2f}", f"{max(us):.2f}", f"{np.var(us):.3f}"), strict=True))
        for (level, name), us in times.items()
    ]  # fmt: skip
