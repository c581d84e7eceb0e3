"""Experts on many devices while serving: tokens handed to them and brought back, and the busiest device.

Arrays run over configurations. Times are microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.operators import moe
from recommender.cost_model.operators.network import Network, collective_us
from recommender.cost_model.settings.plans import PRECISIONS, Columns

if TYPE_CHECKING:
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.operators.kinds import Operators

Floats = NDArray[np.float64]

EXCHANGE_US = 29.0
"""Least time to hand tokens to their experts, and as much to bring them back: the shortest of 260 calls with
one and with six tokens took 26.8 and 31.3 us (MoeDistributeCombineV2 in served GLM-5, the list of
``block.SMALL_KERNEL_US``). The median took 79: the rest waits for the busiest device (:func:`busiest`)."""
SCALE_BYTES = 4.0  # the scale of a token that is sent in 8 bits (CloudMatrix384, arXiv:2506.12708, 4.2.1)
_NARROW = [PRECISIONS.index(name) for name in ("int8", "fp8", "w4a8")]


def busiest(model: ModelSizes, s: Columns, tokens: Floats) -> Floats:
    """Rows on the busiest device of the expert-parallel group over the mean, for random routing."""
    ep = s["expert_parallel"]
    rows = tokens * np.maximum(ep / s["tensor_parallel"], 1.0) * model.chosen / np.maximum(ep, 1.0)
    return np.where(ep > 1, moe.busiest(rows, ep), 1.0)


def exchange_us(
    operators: Operators,
    network: Network,
    model: ModelSizes,
    s: Columns,
    tokens: Floats,
    *,
    floor: bool,
    captured: NDArray[np.bool_],
) -> Floats:
    """Dispatch and combine of one block: tokens go out as the experts take them, and come back in 16 bit."""
    tp, ep = s["tensor_parallel"], s["expert_parallel"]
    rows = tokens * model.chosen / np.where(ep > 1, np.minimum(tp, ep), 1.0)
    one = np.ones_like(ep)
    wide = np.where(np.isin(s["precision_mlp"], _NARROW), 1 + SCALE_BYTES / model.hidden, 2.0)
    out, back = (
        collective_us(network, operators, "all_to_all", rows * model.hidden * size, ep, one, captured)
        for size in (wide, 2.0)
    )
    least = EXCHANGE_US if floor else 0.0
    return np.where(ep > 1, np.maximum(out, least) + np.maximum(back, least), 0.0)
