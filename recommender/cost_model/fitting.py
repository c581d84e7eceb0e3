"""What a configuration holds in memory, without what it takes in time.

The same parts as an estimate has, for asking about many configurations at little cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.cost_model import layouts, serving
from recommender.cost_model.inference import feeds_forward
from recommender.cost_model.plans import SERVING, TRAINING, columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.cost_model.model import Model

Floats = NDArray[np.float64]


def memory_bytes(
    model: Model, phase: str, settings: Sequence[Mapping[str, object]], devices: int
) -> dict[str, Floats]:
    """Bytes of each part on the fullest device, each of shape (len(settings),).

    Args:
        model: A transformer.
        phase: ``"training"`` or ``"serving"``.
        settings: One mapping per configuration; names as in ``recommender.cost_model.plans``.
        devices: Devices of the job.

    Raises:
        InputError: A layout that cannot be (the message names the rule), an unknown setting, or a
            network that is no transformer.
    """
    if not model.layers or feeds_forward(model):
        raise InputError(f"{model.id}: the memory of networks without a list of blocks is not modelled")
    count = np.full(len(settings), float(devices))
    if phase == "training":
        s = layouts.checked(model, columns(settings, TRAINING), count)
        tokens = s["micro_batch"] * s["seq_len"] / s["context_parallel"]
        return layouts.memory_parts(model, s, tokens)
    s = serving.checked(model, columns(settings, SERVING), count)
    return serving.memory_parts(model, s, s["batch"], s["input_len"] + s["output_len"])
