"""Our search inside Kernel Tuner, in its simulation of recorded results; and lists of configurations as restrictions."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.formats.kernels.kernel_tuner_restriction import restriction
from kg.nouns.values import Settings
from recommender.search.evaluations import SourceTable
from recommender.workspace.workspace import Workspace

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


def test_kernel_tuner_tunes_with_it_and_times_nothing_twice(recorded: Path) -> None:
    from recommender.search.bridges.kernel_tuner import SearchStrategy

    results = tuned(recorded, strategy=SearchStrategy(seed=1), strategy_options={"max_fevals": 40})
    assert len(results) == len({setting(item) for item in results}) == 40
    ran = [item for item in results if "__error__" not in item]
    best = min(ran, key=lambda item: item["time"])
    assert best["time"] <= 1.1 * cost(64, 4, "a", 2)


def test_restrictions_of_the_space_are_kept(recorded: Path) -> None:
    from recommender.search.bridges.kernel_tuner import SearchStrategy

    results = tuned(
        recorded, strategy=SearchStrategy(evaluations=12), restrictions=["block_size_x * tile <= 128"]
    )
    assert len(results) == 12
    assert all(item["block_size_x"] * item["tile"] <= 128 for item in results)


def test_a_known_device_comes_first(recorded: Path) -> None:
    from recommender.search.bridges.kernel_tuner import SearchStrategy

    points = list(product(*TUNED.values()))
    known = SourceTable(
        name="sibling",
        similarity=0.9,
        configurations=[Settings(dict(zip(TUNED, point, strict=True))) for point in points],
        costs=np.array([1.7 * cost(*point) for point in points]),
    )
    [first, *_] = tuned(recorded, strategy=SearchStrategy(sources=[known], evaluations=3))
    assert setting(first) == (64, 4, "a", 2)


def test_a_cache_of_another_device_is_a_source(recorded: Path, shipped: Workspace) -> None:
    from recommender.search.bridges.kernel_tuner import SearchStrategy
    from recommender.search.run.source_tables import sources_of

    sources = sources_of([recorded], shipped.names, similarity=0.8)
    assert [(len(item.configurations), item.similarity) for item in sources] == [(160, 0.8)]
    assert np.isinf(sources[0].costs).sum() == 8
    [first] = tuned(recorded, strategy=SearchStrategy(sources=sources, evaluations=1))
    assert setting(first) == (64, 4, "a", 2)


def test_higher_may_be_better_and_patience_ends_it(recorded: Path) -> None:
    from recommender.search.bridges.kernel_tuner import SearchStrategy

    strategy = SearchStrategy(default={"block_size_x": 16, "tile": 1, "mode": "b", "unroll": 0}, patience=8)
    results = tuned(recorded, strategy=strategy, objective="gflops", objective_higher_is_better=True)
    assert setting(results[0]) == (16, 1, "b", 0)
    assert len(results) < 160
    ran = [item["gflops"] for item in results if "__error__" not in item]
    assert max(ran) > 2 * ran[0]


def test_a_list_as_a_restriction_leaves_that_list(recorded: Path) -> None:
    wanted = [
        {"block_size_x": 64, "tile": 4, "mode": "a", "unroll": 2},
        {"block_size_x": 32, "tile": 2, "mode": "b", "unroll": 0},
    ]
    scope: dict[str, Any] = {}
    exec(restriction([Settings(item) for item in wanted]), scope)  # noqa: S102  Python is what it writes
    results = tuned(recorded, restrictions=scope["restrictions"])
    assert sorted(setting(item) for item in results) == sorted(tuple(item.values()) for item in wanted)
