"""Planning: the number of pairs that a gain needs, at the noise that was seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kg.errors import InputError
from kg.nouns.codec import JsonNoun, in_json
from recommender.experiment.mixture import least_pairs, pairs_needed, watch

SIMULATED = 400
"""Simulated tests behind the two quantiles: their error is some 2 % of the tests. A choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsPlan(JsonNoun):
    """The pairs that a gain needs.

    Attributes:
        gain: As a share: 0.03 is 3 %.
        pairs: Pairs with ordinary luck; None beyond what was counted.
        half: Pairs by which half of all tests have decided; None if fewer have by the end.
        most: Pairs by which nine of ten have; None if fewer have by the end.
        time_s: Time of ``pairs``; None if the time of a pair is not known.
    """

    gain: float
    pairs: int | None
    half: int | None = field(metadata=in_json("pairs_half"))
    most: int | None = field(metadata=in_json("pairs_nine_of_ten"))
    time_s: float | None


def plan(
    gains: Sequence[float],
    noise: float,
    alpha: float,
    *,
    pair_s: float | None = None,
    longest: int = 1000,
    seed: int = 0,
) -> list[PairsPlan]:
    """Pairs that gains need.

    Args:
        gains: As shares, above zero.
        noise: Standard deviation of the log ratio of a pair.
        alpha: As the test will have.
        pair_s: Time of a pair.
        longest: Pairs at most in the simulation.
        seed: Of the simulation.

    Raises:
        InputError: A gain or the noise is not above zero.
    """
    if not (math.isfinite(noise) and noise > 0):
        raise InputError(f"a noise of {noise:g}", hint="give it as a share: --noise 2%")
    for gain in gains:
        if not 0 < gain < 10:
            raise InputError(f"a gain of {gain:g}", hint="3% or 0.03")
    drawn = np.random.default_rng(seed).normal(0.0, noise, (SIMULATED, longest))
    plans = []
    for gain in gains:
        needed = pairs_needed(math.log1p(gain), noise, alpha)
        length = min(longest, max(8 * (needed or longest), least_pairs(alpha)))
        decided = watch(math.log1p(gain) + drawn[:, :length], alpha).low > 0
        first = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, length + 1)
        half, most = (int(np.quantile(first, share, method="higher")) for share in (0.5, 0.9))
        plans.append(
            PairsPlan(
                gain=gain,
                pairs=needed,
                half=half if half <= length else None,
                most=most if most <= length else None,
                time_s=needed * pair_s if needed is not None and pair_s is not None else None,
            )
        )
    return plans
