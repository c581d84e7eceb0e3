"""Power and energy, from three points: idle, busy inference, saturated matrix unit.

Estimates: no power trace of a training run was found; between the points the power is drawn in a
straight line over the use of the matrix unit. The spread says how far that can be off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recommender.cost_model.facts.device import Device

Floats = NDArray[np.float64]

SPREAD = 0.25
"""Relative spread of a power estimate: a judgement, nothing measures it."""


def power_w(device: Device, *, active: Floats, cube_use: Floats) -> Floats | None:
    """Power of one device, watt; None where its idle or full power is not known.

    Args:
        device: Which.
        active: Share of the time that any unit works.
        cube_use: Share of the matrix unit's peak that is reached, averaged over all time.
    """
    idle = device.get("idle_power_w")
    full = device.get("saturated_power_bf16_w", "saturated_power_fp16_w", "tdp_w")
    if idle is None or full is None:
        return None
    busy = device.get("busy_power_w") or idle + 0.45 * (full - idle)  # 215 of 96 to 365 W on the 910B3
    reached = np.clip(cube_use / 0.87, 0, 1)  # saturated power was drawn at 86 to 88 % of the peak (FlagPerf)
    return np.asarray(idle + (busy - idle) * np.clip(active, 0, 1) + (full - busy) * reached)
