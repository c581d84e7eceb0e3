"""Times that the cost model gives to the kernels that a cause holds up.

Calibrated on operators of Ascend 910B; another part is taken as a bin of it, with its own cores and clock.
Measured and modelled times are kept apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.cost_model.fit.kernels import Factors, KernelModel, batch
from recommender.cost_model.fit.profiles import bin_of
from recommender.cost_model.operators.kernel import parse
from recommender.cost_model.operators.kinds import reference_device, shipped
from recommender.diagnosis.patterns.clocks import highest_mhz
from recommender.diagnosis.rank.view import KernelView

if TYPE_CHECKING:
    from ingest.profiles.facts.kernels import Floats
    from recommender.diagnosis.rank.view import View

KINDS = frozenset(
    {
        *("aicpu-operator", "unsupported-dtype", "index-operators", "no-bound-operator", "memory-bandwidth"),
        *("move-out-bound", "fixpipe-bound", "scalar-bound", "vector-bound", "instruction-cache-miss"),
        *("block-dim-imbalance", "frequency-drop"),
    }
)
"""Causes whose repair leaves kernels the time that their shapes need."""

LEAST_CORES = 8
"""Cube cores below which a part is no bin of the calibrated one."""


def kernel_times_us(view: View, lost_us: Floats) -> tuple[float, float] | None:
    """Measured and modelled time of the kernels that lose time, microseconds.

    Args:
        view: The rank.
        lost_us: Time that each compute kernel loses, shape (n,).

    Returns:
        Both sums, over the kernels whose shapes were collected; None where the cost model cannot say: shapes,
        cores or clock are missing.
    """
    clock = highest_mhz(view) * 1e6
    if not isinstance(view, KernelView) or view.cores < LEAST_CORES or clock <= 0:
        return None
    kernels = view.kernels
    shapes = kernels.texts["input_shapes"]
    has_shapes = shapes.where(bool(text.strip(" ;")) for text in shapes.labels)
    rows = np.flatnonzero((lost_us > 0) & has_shapes)
    if not len(rows):
        return None
    parsed = [
        parse(
            kernels.text("kind", int(row)) or kernels.text("name", int(row)),
            kernels.text("input_shapes", int(row)),
            kernels.text("output_shapes", int(row)),
            kernels.text("input_types", int(row)),
            kernels.text("output_types", int(row)),
        )
        for row in rows
    ]
    operators = shipped()
    fitted = operators.kernels
    model = KernelModel(fitted["constants"], Factors(fitted["classes"], fitted["types"]))
    work = batch(bin_of(reference_device(), view.cores, clock), parsed, operators.kinds["matmul_bf16"])
    return float(kernels.duration_us[rows].sum()), float(np.nansum(model.times_us(work)))
