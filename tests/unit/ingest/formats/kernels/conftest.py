"""Cases that Kernel Tuner's forms are written from."""

import math

import pytest

from ingest.door.records import NameResolver, Records
from kg.nouns.entities import Case


@pytest.fixture
def kernel_cases(names: NameResolver) -> list[Case]:
    """36 configurations of a kernel, of which some failed in each of the ways that are told apart."""
    failures = {
        (1, 64): "forbidden:constraints",
        (2, 64): "failed:compile",
        (4, 64): "failed:RuntimeFailedConfig",
        (8, 64): "timed_out",
        (8, 32): "oom",
    }
    cases = []
    for tile in (1, 2, 4, 8):
        for block in (16, 32, 64):
            for mode in ("a", "b", True):
                status = failures.get((tile, block), "ok")
                time = (
                    None
                    if status != "ok"
                    else 1e-3 * (1 + abs(math.log2(tile / 4)) + block / 64 + (mode == "b"))
                )
                record: dict[str, object] = {
                    "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 4096, "N": 64}, "dtype": "fp16"},
                    "hardware": {"name": "NVIDIA A100"},
                    "config": {"tile": tile, "block": block, "mode": mode},
                    "outcome": {"metric": "kernel_time", "unit": "s", "value": time, "status": status},
                    "source": {"title": "test"},
                }
                cases.append(Records(names).case(record))
    return cases
