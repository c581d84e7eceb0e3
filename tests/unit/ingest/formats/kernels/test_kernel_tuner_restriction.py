"""Lists of configurations as restrictions, in Kernel Tuner's simulation of recorded results."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.formats.kernels.kernel_tuner_restriction import restriction
from kg.nouns.values import Settings

kernel_tuner = pytest.importorskip("kernel_tuner", reason="Kernel Tuner is an optional extra")

TUNED: dict[str, list[Any]] = {
    "block_size_x": [16, 32, 64, 128, 256],
    "tile": [1, 2, 4, 8],
    "mode": ["a", "b"],
    "unroll": [0, 1, 2, 4],
}
FAILS = "RuntimeFailedConfig"


def cost(x: int, tile: int, mode: str, unroll: int) -> float:
    away = abs(np.log2(x / 64)) + 0.5 * abs(np.log2(tile / 4))
    return float(1 + away + 0.3 * (mode == "b") + 0.1 * abs(unroll - 2))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Results of all configurations, as Kernel Tuner caches them; wide blocks of eight tiles fail."""
    times = dict.fromkeys(
        ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"), 0
    )
    results = {}
    for point in product(*TUNED.values()):
        value: object = cost(*point)
        if point[0] == 256 and point[1] == 8:
            value = FAILS
        row = {**dict(zip(TUNED, point, strict=True)), "time": value, "gflops": 100.0, **times}
        row["gflops"] = 100 / value if isinstance(value, float) else FAILS
        row["timestamp"] = "2024-01-01 00:00:00+00:00"
        if value == FAILS:
            row["__error__"] = FAILS
        results[",".join(map(str, point))] = row
    document = {
        "device_name": "Recorded", "kernel_name": "toy", "problem_size": [1], "tune_params_keys": list(TUNED),
        "tune_params": TUNED, "objective": "time", "cache": results,
    }  # fmt: skip
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(document))
    return path


def tuned(recorded: Path, **options: Any) -> list[dict[str, Any]]:
    found, _ = kernel_tuner.tune_kernel(
        "toy", "__global__ void toy() {}", (1,), [], TUNED, lang="CUDA", simulation_mode=True,
        cache=str(recorded), verbose=False, quiet=True, **options,
    )  # fmt: skip
    return list(found)


def setting(result: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(result[name] for name in TUNED)


def test_a_list_as_a_restriction_leaves_that_list(recorded: Path) -> None:
    wanted = [
        {"block_size_x": 64, "tile": 4, "mode": "a", "unroll": 2},
        {"block_size_x": 32, "tile": 2, "mode": "b", "unroll": 0},
    ]
    scope: dict[str, Any] = {}
    exec(restriction([Settings(item) for item in wanted]), scope)  # noqa: S102  Python is what it writes
    results = tuned(recorded, restrictions=scope["restrictions"])
    assert sorted(setting(item) for item in results) == sorted(tuple(item.values()) for item in wanted)
