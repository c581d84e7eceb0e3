"""Collectives, piecewise alpha-beta: a start-up that grows with the ranks, two slopes, a switch between.

One all-reduce is a reduce-scatter and an all-gather of a share. Sizes are bytes: the share of one
rank for all-gather and reduce-scatter, all of a rank's data for all-reduce and all-to-all.
Times are microseconds.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.physics import Floats

OPERATIONS = MappingProxyType(
    {"all_gather": 0, "reduce_scatter": 1, "all_reduce": 2, "all_to_all": 3, "alltoall": 3}
)


def analytic(x: Floats, constants: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Times, shape (r,), and features, shape (r, 6).

    Args:
        x: Rows of operation code, ranks, bytes.
        constants: Of the kind; ``*_ranks`` are what a factor e of ranks multiplies.

    Raises:
        InputError: Fewer than two ranks, or no bytes.
    """
    code, ranks, size = x.T
    if np.any(ranks < 2) or np.any(size <= 0):
        raise InputError("collective: at least two ranks and one byte")
    exchange = code == OPERATIONS["all_to_all"]
    reduce_all = code == OPERATIONS["all_reduce"]
    share = np.where(exchange | reduce_all, size / ranks, size)
    sent = share * (ranks - 1)
    times = np.where(reduce_all, 2.0, 1.0)

    def grows(name: str) -> Floats:
        return np.asarray(ranks ** np.log(constants[name]))

    start = constants["start_us"] * grows("start_ranks")
    turn = constants["switch_bytes"] * (ranks / 8) ** np.log(constants["switch_bytes_ranks"])
    large = (share > turn) & ~exchange
    small_us = start + sent / constants["slow_bytes_per_us"]
    large_us = constants["switch_us"] * grows("switch_ranks") + sent / constants["fast_bytes_per_us"]
    swap_us = (
        start * constants["exchange_us"] * grows("exchange_ranks") + sent / constants["fast_bytes_per_us"]
    )
    time = times * np.where(exchange, swap_us, np.where(large, large_us, small_us))
    kind = np.select([code == 0, code == 1, reduce_all], [0.0, 1.0, 0.5], 2.0)
    features = np.column_stack(
        [
            np.log2(share) / 4, np.log2(sent) / 4, np.log2(ranks) / 2, kind, exchange.astype(float),
            large.astype(float),
        ]
    )  # fmt: skip
    return time, features
