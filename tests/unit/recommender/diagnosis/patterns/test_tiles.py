"""Cores that have no block."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recommender.diagnosis.analysis import analyse


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
