"""Settings of a PyTorch program that its trace shows, without a word about them in the profile.

A name of a call, a range or a kernel tells what a program has switched on: a graph that is launched, a kernel
that the compiler made, a loader with workers, a copy from pinned memory. What the trace does not show either
way is left out.

Source:
    Names: PyTorch, ``torch/utils/data/dataloader.py``, ``torch/optim/optimizer.py`` (ranges of steps),
    ``torch/nn/parallel/distributed.py``, ``torch/distributed/fsdp``, ``torch/_inductor`` (kernels
    ``triton_poi_``, ``triton_red_``, ``triton_per_``); CUDA and HIP runtimes (``GraphLaunch``).
"""

import re
from collections.abc import Mapping

import numpy as np

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.kernels import Kernels
from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.rank.kinds import PRODUCTS, of_kind

_COMPILED = ("Torch-Compiled Region", "CompiledFunction", "## Call CompiledFxGraph", "TorchDynamo Cache")
_MADE = re.compile(r"triton_(?:poi|red|per|tem|mm|for)_|triton__\d")
_FUSED_STEP = re.compile(r"_fused_\w{0,200}?(?:adam|adagrad|sgd)|FusedAdam|FusedLAMB|FusedSGD", re.IGNORECASE)
MOSTLY = 0.5
"""Share of the time of products in TF32 from which it is switched on; the rest may be too small for it."""
LEAST_COPIES = 0.9
"""Share of copies to the device that come from pinned memory, from which the loader pins it. Assumed: a few
scalars of a program are always copied from where they are."""


def signs_of(profile: Profile) -> Mapping[str, object]:
    """Settings by name, as strategies set them; one that ranks show differently is left out."""
    held: dict[str, list[object]] = {}
    for rank in profile.ranks:
        for name, value in _of_rank(rank).items():
            held.setdefault(name, []).append(value)
    return {name: values[0] for name, values in held.items() if all(value == values[0] for value in values)}


def trains(rank: Rank) -> bool:
    """Return whether a backward pass or an optimiser ran; a rank without either may do anything."""
    labels = () if rank.kernels is None else rank.kernels.label.labels
    marks = {call.name for call in rank.calls if call.level in {"mark", "op"}}
    return any(part in label.lower() for label in labels for part in _BACKWARD) or any(
        name.startswith(("Optimizer.step", "autograd::engine::evaluate_function")) for name in marks
    )


def infers(rank: Rank) -> bool:
    """Return whether a rank only infers: it has a server's kernels, or a GPU's without backward ones."""
    if rank.kernels is None or trains(rank):
        return False
    labels = [label.lower().replace("_", "") for label in rank.kernels.label.labels]
    return any(part in label for label in labels for part in _SERVING) or (
        rank.layout in GPU_LAYOUTS and bool(of_kind(rank.kernels, PRODUCTS).any())
    )


def is_forward_only(profile: Profile) -> bool:
    """Return whether every rank only infers."""
    return bool(profile.ranks) and all(map(infers, profile.ranks))


_SERVING = ("pagedattention", "increflash", "promptflash", "fusedinfer", "reshapeandcache")
"""Kernels that read or write a cache of keys and values: no training has one."""
_BACKWARD = ("grad", "backprop", "adam", "bwd")


def launches_block(kernels: Kernels) -> bool:
    """True where nearly every launch returns when its kernel has ended: the host waits for each."""
    ends = kernels.numbers["queued_us"] + kernels.duration_us
    known = np.isfinite(ends)
    return bool(known.any()) and float((kernels.numbers["call_us"] >= ends)[known].mean()) >= ALL


ALL = 0.9
"""Part of all launches that is nearly all. Assumed: a short kernel may end before its launch returns."""
_BLOCKING = {"cuda": ("CUDA_LAUNCH_BLOCKING", "1"), "hip": ("AMD_SERIALIZE_KERNEL", "3")}
"""What makes launches wait, by the beginning of the runtime's calls."""


def _of_rank(rank: Rank) -> dict[str, object]:
    names = {level: {call.name for call in rank.calls if call.level == level} for level in LEVELS}
    found: dict[str, object] = {}
    operators, marks = names["op"], names["mark"]
    labels = () if rank.kernels is None else rank.kernels.texts["name"].labels
    if any(name.endswith("GraphLaunch") for name in names["runtime"]):
        found |= {"cuda_graphs": True, "mode": "reduce-overhead"}
    if any(map(_MADE.match, labels)) or any(name.startswith(_COMPILED) for name in (*marks, *operators)):
        found["torch.compile"] = True
    if any("_SingleProcessDataLoaderIter" in name for name in names["loader"]):
        found["num_workers"] = 0
    elif any("_MultiProcessingDataLoaderIter" in name for name in names["loader"]):
        found["num_workers"] = "1 or more"
    if any(map(_FUSED_STEP.search, (*operators, *labels))):
        found["fused"] = True
    found |= _of_frames(names[FRAME])
    if any(name.startswith("Optimizer.step") for name in marks):
        found["optimizer"] = "torch.optim"
    if any(name.startswith("DistributedDataParallel") for name in marks):
        found["ddp"] = True
    if is_fully_sharded(rank):
        found["fsdp"] = True
    if any(name.endswith("amp/autocast_mode.py: __enter__") for name in names[FRAME]):
        found["autocast"] = True
    if rank.kernels is None:
        return found
    if launches_block(rank.kernels):
        calls = tuple(names["runtime"])
        found |= dict(
            held for start, held in _BLOCKING.items() if any(name.startswith(start) for name in calls)
        )
    return found | _of_kernels(rank.kernels)


def is_fully_sharded(rank: Rank) -> bool:
    """True where FSDP wraps the model: ranges or operators of it were recorded."""
    return any(call.level in {"mark", "op", FRAME} and call.name.startswith(_SHARDED) for call in rank.calls)


FRAME = "frame"
_SHARDED = ("FullyShardedDataParallel", "FSDP", "fsdp", "torch/distributed/fsdp/")
LEVELS = ("runtime", "op", "mark", "loader", FRAME)


def _of_frames(frames: set[str]) -> dict[str, object]:
    """Settings that PyTorch functions reveal, from a recording with stacks."""
    ran = {name.partition(": ")[2] for name in frames if name.startswith("torch/optim/")}
    found: dict[str, object] = {}
    if any(name.endswith("dataloader.py: _try_get_data") for name in frames):
        found["num_workers"] = "1 or more"
    elif any(name.endswith("fetch.py: fetch") for name in frames):
        found["num_workers"] = 0
    if any("_utils/pin_memory.py: " in name for name in frames):
        found["pin_memory"] = True
    if any(name.startswith("_fused_") for name in ran) or any(name.startswith("apex/") for name in frames):
        found["fused"] = True
    elif any(name.startswith("_multi_tensor_") for name in ran):
        found |= {"foreach": True, "fused": False}
    elif any(name.startswith("_single_tensor_") for name in ran):
        found |= {"foreach": False, "fused": False}
    if any(name.startswith("torch/_dynamo/eval_frame.py: ") for name in frames):
        found["torch.compile"] = True
    if any(name.startswith("torch/nn/parallel/distributed.py: ") for name in frames):
        found["ddp"] = True
    return found


def _of_kernels(kernels: Kernels) -> dict[str, object]:
    found: dict[str, object] = {}
    name, spent = kernels.texts["name"], np.nan_to_num(kernels.duration_us)
    pinned = int(name.where("HtoD (Pinned" in label for label in name.labels).sum())
    pageable = int(name.where("HtoD (Pageable" in label for label in name.labels).sum())
    if pinned + pageable:
        found["pin_memory"] = pinned >= LEAST_COPIES * (pinned + pageable)
    products = of_kind(kernels, PRODUCTS)
    types = kernels.texts["input_types"]
    total = float(spent[products & types.where(bool(label) for label in types.labels)].sum())
    tf32 = float(spent[products & types.where(label.startswith("TF32") for label in types.labels)].sum())
    if total > 0 and tf32 >= MOSTLY * total:
        found["float32_matmul_precision"] = "high"
    convolutions = name.where(
        "nhwc" in label.lower() and "nchw" not in label.lower() for label in name.labels
    )
    turned = name.where("nchwToNhwc" in label for label in name.labels)
    if convolutions.any() and not turned.any():
        found["memory_format"] = "channels_last"
    return found
