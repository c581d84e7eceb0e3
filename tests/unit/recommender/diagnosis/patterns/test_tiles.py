"""Cores that have no block."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.profiles.mechanisms import of_traces
from benchmarks.profiles.traced_runs import WORLDS, write
from ingest.profiles.folders import read_profile
from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose


def test_busy_kernels_with_fewer_blocks_than_cores_leave_cores_idle(make: Any, thresholds: Any) -> None:
    profile = make()
    [rank] = profile.ranks
    product = rank.kernels.texts["kind"].where(
        label == "MatMulV3" for label in rank.kernels.texts["kind"].labels
    )
    first = np.cumsum(product) == 1  # one keeps all 24 cores, which shows how many there are
    few = product & ~first
    kernels = rank.kernels.with_values(blocks=np.where(few, 6.0, rank.kernels.numbers["blocks"]))
    cycles = np.where(few, 0.25, 1.0) * kernels.pipe("aic_total_cycles")  # summed over the cores at work
    kernels = replace(kernels, pipes={**kernels.pipes, "aic_total_cycles": cycles})
    altered = replace(profile, ranks=(replace(rank, kernels=kernels),))
    found = analyse(altered, thresholds)["block-dim-imbalance"]
    shown = float(thresholds.shows("block-dim-imbalance", "block_dim_remainder", 1.0))
    assert found.lost_us == pytest.approx(49 * 100 * 0.75 * 0.9 * shown, rel=0.01)
    assert analyse(profile, thresholds)["block-dim-imbalance"].lost_us == 0


def test_products_of_gpus_are_judged_by_their_kernels_names(
    network: Any, thresholds: Any, tmp_path: Path
) -> None:
    world = WORLDS["trains on A100"]
    altered = of_traces.odd_sizes(world, 5000.0, np.random.default_rng(2))
    assert altered is not None
    for one, is_odd in ((world, False), (altered, True)):
        run = read_profile(write(one, np.random.default_rng(2), tmp_path / "run.pt.trace.json"))
        named = {item.cause.node for item in diagnose(run, network, thresholds).findings}
        assert ("inner-axis-misalignment" in named) == is_odd
