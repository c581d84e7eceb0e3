"""Thompson sampling over the recommendations of an answer: each stands as high as a draw of its gain says.

What is likely best mostly comes first; what is hardly known comes first as often as it may be best, so the
graph learns what it does not know. It explores only where the outcome is worth its price to the problems to
come, and the price is told: how much less is expected of the first than of the one that expectation alone
would put first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.nouns.gain import NORMAL_90, Gain
from recommender.evolution.hypotheses import value_of_information
from recommender.ranking.changes.recommendations import NOISE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from recommender.answers.answer import Answer
    from recommender.ranking.recommendation import Recommendation

POOL = 4
"""Candidates that are drawn among, for each recommendation asked for: a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """An answer in the order that draws gave it.

    Attributes:
        answer: The answer.
        price: Expected log gain that is given up with the first recommendation, in nats, not below zero.
    """

    answer: Answer
    price: float


def explore(answer: Answer, k: int, seen: int, rng: np.random.Generator) -> Exploration:
    """Order recommendations by a draw of all gains, where exploring is worth its price.

    Args:
        answer: More candidates than k, best expected first.
        k: How many.
        seen: Outcomes that are known where the question is about: as many are expected to come.
        rng: Draws the gains.
    """
    answer = replace(answer, together=None, regret={})  # both are of the whole list in its own order
    candidates = {item.id: item for item in answer.recommendations if item.gain is not None}
    if not candidates:
        return Exploration(answer=replace(answer, recommendations=answer.recommendations[:k]), price=0.0)
    gains = {name: item.gain for name, item in candidates.items() if item.gain is not None}
    noise = max(item.parts.get(NOISE, 0.0) for item in candidates.values())
    values = exploration_values(gains, noise, seen, rng)
    chosen = [candidates[name] for name in sorted(values, key=lambda name: -values[name])[:k]]
    best = max(candidates.values(), key=_expected)
    price = max(0.0, _expected(best) - _expected(chosen[0]))
    note = (
        f"explored: the first is expected to gain {-100 * math.expm1(-price):.1f} % less than {best.title}"
        if price > 0
        else "explored: the first is also the one that is expected to gain most"
    )
    return Exploration(
        answer=replace(answer, recommendations=tuple(chosen), notes=(*answer.notes, note)), price=price
    )


def exploration_values(
    gains: Mapping[str, Gain], noise: float, seen: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return the values to order candidates by: drawn gains, or expected ones if exploring does not pay.

    It pays if the one that is drawn first costs no more than its outcome is worth to the problems that are
    expected to come: as many as there have been, and at least one.

    Args:
        gains: What to expect of each candidate.
        noise: Standard deviation of one problem around its context, in nats.
        seen: Outcomes so far.
        rng: Draws.
    """
    draws = {name: draw(gains[name], noise, rng) for name in sorted(gains)}
    first = max(draws, key=lambda name: draws[name])
    best = max(gain.expected for gain in gains.values())
    worth = max(1, seen) * value_of_information(without_noise(gains[first], noise), best)
    if best - gains[first].expected <= worth:
        return draws
    return {name: gain.expected for name, gain in gains.items()}


def draw(gain: Gain, noise: float, rng: np.random.Generator) -> float:
    """Draw the mean gain of a context.

    Args:
        gain: What to expect on one problem, with its 90 % interval.
        noise: Standard deviation of one problem around its context, in nats: no test takes it away, so it is
            no reason to explore.
        rng: Draws.
    """
    narrowed = without_noise(gain, noise)
    deviation = narrowed.deviation
    return gain.expected + deviation * float(rng.standard_normal())


def without_noise(gain: Gain, noise: float) -> Gain:
    """Return the mean gain of a context with its 90 % interval, from the gain of one problem."""
    deviation = gain.deviation
    reach = NORMAL_90 * math.sqrt(max(0.0, deviation**2 - noise**2))
    return Gain(expected=gain.expected, low=gain.expected - reach, high=gain.expected + reach)


def _expected(item: Recommendation) -> float:
    return -math.inf if item.gain is None else item.gain.expected
