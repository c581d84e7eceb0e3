"""Dimensions of a workload as numbers, at the same place for every operator that has them.

Sources name one thing differently (``num_tokens``, ``token``, ``M``; ``n_embd``, ``hidden``), so common
dimensions have slots by meaning; a name without a slot is spread over a few columns by its hash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embeddings.codes import code
from kg.nouns.values import Settings, Value

_DIMENSIONS: tuple[tuple[str, ...], ...] = (
    ("m", "num_tokens", "token", "tokens", "max_num_batched_tokens", "n_batch"),
    ("n", "n_out"),
    ("k", "n_in"),
    ("b", "batch", "batch_size", "bs", "micro_batch"),
    ("isl", "seq_len", "input_len", "sequence_length", "prompt_len"),
    ("osl", "output_len"),
    ("step", "context_len", "max_model_len", "past_len"),
    ("num_heads", "q_heads", "n_head", "heads", "attention_heads", "q_head_num"),
    ("kv_heads", "n_kv_head", "num_kv_heads"),
    ("head_dim", "headdim", "q_head_dim"),
    ("hidden", "n_embd", "model_dim", "hidden_size", "hidden_dim"),
    ("inter", "n_ff", "inter_dim", "intermediate_size", "moe_intermediate_size"),
    ("experts", "e", "expert", "expert_num", "num_experts"),
    ("topk", "topk_num", "experts_per_token", "top_k"),
    ("window", "sliding_window"),
    ("page_size", "block_size"),
    ("params", "parameters"),
    ("global_batch", "max_concurrency"),
    ("layers", "num_layers"),
    ("problem_size", "problem_size[0]"),
    ("problem_size[1]",),
    ("problem_size[2]",),
)
_SLOT = {name: slot for slot, names in enumerate(_DIMENSIONS) for name in names}
_HASHED = 8

WIDTH = len(_DIMENSIONS) + _HASHED
"""Columns of a shape."""


def matrix(shapes: Sequence[Settings]) -> NDArray[np.float32]:
    """Return logarithms of the dimensions, each at the slot of its name; 1 for a factor of 16."""
    slots = len(_DIMENSIONS)
    out = np.zeros((len(shapes), WIDTH), dtype=np.float32)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, shape in enumerate(shapes):
        for name, value in shape.items():
            for dimension, number in _sizes(name, value):
                slot = _SLOT.get(dimension)
                if slot is None:
                    out[row, slots:] += code(dimension, _HASHED) * (magnitude(number) / 4)
                else:
                    rows.append(row)
                    columns.append(slot)
                    values.append(magnitude(number) / 4)
    np.add.at(out, (rows, columns), values)
    return out


def _sizes(name: str, value: Value) -> list[tuple[str, float]]:
    """Return sizes under canonical names: ``fixed.Filter_Height`` is ``filter_height``."""
    if isinstance(value, tuple):
        return [pair for at, item in enumerate(value) for pair in _sizes(f"{name}[{at}]", item)]
    number = number_of(value)
    return [] if number is None else [(name.rpartition(".")[2].lower(), number)]


def number_of(value: Value) -> float | None:
    """Return a value as a number, also where a source writes it as text; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def magnitude(number: float) -> float:
    """Return ``log2(1 + |x|)`` with the sign of x: zero differs from one, and large sizes stay ratios."""
    return math.copysign(math.log2(1 + abs(number)), number)
