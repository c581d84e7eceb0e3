"""Facts that stand beside the events of a Kineto trace: rank, groups, devices, versions, variables, options.

The profiler writes ``distributedInfo`` and ``deviceProperties``; a program adds what it likes with
``prof.add_metadata_json``. Of that only variables that tune a run are taken, so that no secret comes along.

Source:
    PyTorch, ``torch/profiler/profiler.py``, ``_get_distributed_info`` and ``add_metadata_json``; Kineto,
    ``output_json.cpp``: the other members of a trace.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from ingest.profiles.facts.details import ProcessGroup

LATEST_NS = 4_000_000_000_000_000_000
"""No trace was recorded later: the year 2096."""
MOST_RANKS = 1 << 20
"""Ranks that a job may have; a larger number is none."""
_OPTIONS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
_VERSIONS = {
    "nccl_version": "nccl", "torch_version": "torch", "pytorch_version": "torch",
    "cuda_runtime_version": "cuda", "cuda_version": "cuda", "hip_runtime_version": "hip",
    "rocm_version": "rocm",
}  # fmt: skip
_VARIABLE = re.compile(
    r"(?:NCCL|RCCL|TORCH|PYTORCH|CUDA|CUDNN|CUBLAS|NVTE|HIP|HSA|AMD|ROCR|MIOPEN|GPU|OMP|KMP|MKL|FI|UCX|GLOO)"
    r"_[A-Z0-9_]+|NVIDIA_TF32_OVERRIDE"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|_KEY", re.IGNORECASE)
_ENVIRONMENTS = {"env", "environ", "environment", "env_variables", "environment_variables"}


@dataclass(slots=True)
class TraceMetadata:
    """The facts beside the events of a trace.

    Attributes:
        rank: Rank of the process; None if it is not named.
        device: Name of the devices; empty if unknown.
        base_ns: Origin of the timestamps, nanoseconds since an epoch.
        options: What the profiler was asked to record besides.
        software: Versions by software.
        environment: Variables that tune a run.
        parallel: Sizes: ``world_size``, ``backend``.
        groups: Process groups with their members.
    """

    rank: int | None = None
    device: str = ""
    base_ns: int = 0
    options: list[str] = field(default_factory=list)
    software: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    parallel: dict[str, object] = field(default_factory=dict)
    groups: tuple[ProcessGroup, ...] = ()

    def take(self, name: str, value: object) -> None:
        """Take one member of a trace; what says nothing of the run is passed over."""
        if name == "distributedInfo" and isinstance(value, dict):
            self._distributed(value)
        elif name in {"deviceProperties", "computeProperties"} and isinstance(value, list):
            names = [str(item["name"]) for item in value if isinstance(item, dict) and "name" in item]
            self.device = names[0] if names else ""
        elif name == "baseTimeNanoseconds" and isinstance(value, int) and 0 <= value <= LATEST_NS:
            self.base_ns = value
        elif name in _OPTIONS:
            self.options += [name] if value in (1, True, "1", "true") else []
        elif name in _VERSIONS:
            self._version(_VERSIONS[name], value)
        elif name.lower() in _ENVIRONMENTS and isinstance(value, dict):
            for key, text in value.items():
                self._variable(str(key), text)
        else:
            self._variable(name, value)

    def _variable(self, name: str, value: object) -> None:
        if isinstance(value, str | int | float) and _VARIABLE.fullmatch(name) and not _SECRET.search(name):
            self.environment[name] = value if isinstance(value, str) else json.dumps(value)

    def _version(self, software: str, value: object) -> None:
        """Take a version; CUDA writes 12010 for 12.1."""
        if isinstance(value, int) and software == "cuda":
            self.software[software] = f"{value // 1000}.{value % 1000 // 10}"
        elif isinstance(value, str | int) and str(value).strip():
            self.software[software] = str(value).strip()

    def _distributed(self, info: Mapping[str, object]) -> None:
        rank, world = info.get("rank"), info.get("world_size")
        if _is_rank(rank):
            self.rank = rank
        if _is_rank(world):
            self.parallel["world_size"] = world
        if isinstance(info.get("backend"), str):
            self.parallel["backend"] = info["backend"]
        if "nccl_version" in info:
            self._version("nccl", info["nccl_version"])
        stated = info.get("pg_config")
        found = []
        for item in stated if isinstance(stated, list) else []:
            if not isinstance(item, dict):
                continue
            ranks = item.get("ranks")
            members = tuple(r for r in ranks if _is_rank(r)) if isinstance(ranks, list) else ()
            name = str(item.get("pg_name", ""))
            about = str(item.get("pg_desc", "")) or name
            found.append(ProcessGroup(name=name, about=about, ranks=members))
        self.groups = tuple(found)


def _is_rank(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_RANKS
