"""What a strategy gains here: the laws of the posterior."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.effects import Context, Effect
from kg.entities import Kind
from recommender.ranking.posterior import (
    NORMAL_90,
    PUBLICATION_SHRINKAGE,
    UNINFORMED,
    Gain,
    Prior,
    posterior,
    shrunk_mean,
)

PRIOR = Prior(mean=0.05, between_strategies=0.1, between_contexts=0.08, strategies=20)
gains = st.floats(-2, 2)
counts = st.integers(1, 1000)
trusts = st.floats(0.01, 1)


def effect(strategy: str, *gains: float, kind: Kind = Kind.MEASURED, hardware: str = "") -> Effect:
    empty = Effect(context=Context(hardware=hardware), strategy=strategy, metric="throughput", kind=kind)
    return empty.add(gains)


def width(gain: Gain) -> float:
    return gain.high - gain.low


def test_without_evidence_it_is_the_prior() -> None:
    gain = posterior(PRIOR, [])
    assert gain.expected == pytest.approx(0.05)
    assert width(gain) == pytest.approx(2 * NORMAL_90 * math.hypot(0.1, 0.08))


@given(gains, counts, trusts)
def test_evidence_narrows_and_draws_towards_itself(mean: float, n: int, trust: float) -> None:
    before, after = posterior(PRIOR, []), posterior(PRIOR, [(mean, n, trust)])
    assert width(after) < width(before)
    low, high = sorted((PRIOR.mean, mean))
    assert low - 1e-12 <= after.expected <= high + 1e-12


@given(gains, counts, trusts, gains, counts, trusts)
def test_order_does_not_matter_and_more_narrows_more(
    mean: float, n: int, trust: float, mean2: float, n2: int, trust2: float
) -> None:
    one, two = (mean, n, trust), (mean2, n2, trust2)
    assert posterior(PRIOR, [one, two]).expected == pytest.approx(posterior(PRIOR, [two, one]).expected)
    assert width(posterior(PRIOR, [one, two])) < width(posterior(PRIOR, [one]))


@given(gains, trusts, trusts)
def test_what_is_trusted_more_weighs_more(mean: float, trust: float, other: float) -> None:
    less, more = sorted((trust, other))
    moved = [abs(posterior(PRIOR, [(mean, 5, value)]).expected - PRIOR.mean) for value in (less, more)]
    assert moved[0] <= moved[1] + 1e-12


@given(st.integers(1, 10**9), trusts)
def test_repeating_oneself_cannot_buy_more_than_one_context(n: int, trust: float) -> None:
    poison = 5.0
    most = (trust / PRIOR.between_contexts**2) / (
        trust / PRIOR.between_contexts**2 + 1 / PRIOR.between_strategies**2
    )
    moved = posterior(PRIOR, [(poison, n, trust)]).expected - PRIOR.mean
    assert moved <= most * (poison - PRIOR.mean) + 1e-9


@pytest.mark.parametrize("evidence", [(5.0, 0, 1.0), (5.0, 100, 0.0)])
def test_what_is_not_trusted_or_never_seen_says_nothing(evidence: tuple[float, int, float]) -> None:
    assert posterior(PRIOR, [evidence]) == posterior(PRIOR, [])


@given(gains, st.floats(0, 3), st.floats(0, 3), st.floats(0, 3))
def test_a_ceiling_is_kept(middle: float, below: float, above: float, ceiling: float) -> None:
    capped = Gain(expected=middle, low=middle - below, high=middle + above).capped(ceiling)
    assert capped.low <= capped.expected <= capped.high <= max(ceiling, capped.low)
    assert capped.high <= ceiling


@given(gains, st.floats(0.01, 3))
def test_the_probability_of_a_gain_is_one_and_grows_with_it(middle: float, half: float) -> None:
    probability = Gain(expected=middle, low=middle - half, high=middle + half).probability_of_gain
    better = Gain(
        expected=middle + 0.1, low=middle + 0.1 - half, high=middle + 0.1 + half
    ).probability_of_gain
    assert 0 <= probability <= better <= 1
    assert (probability > 0.5) == (middle > 0) or abs(middle) < 1e-9


def test_a_gain_without_width_is_certain() -> None:
    assert Gain(expected=0.1, low=0.1, high=0.1).probability_of_gain == 1
    assert Gain(expected=0.0, low=0.0, high=0.0).probability_of_gain == 0


def test_published_gains_are_shrunk_and_claims_do_not_count() -> None:
    assert shrunk_mean(effect("s", 0.4)) == pytest.approx(0.4)
    assert shrunk_mean(effect("s", 0.4, kind=Kind.PUBLISHED)) == pytest.approx(0.4 * PUBLICATION_SHRINKAGE)
    assert [
        shrunk_mean(effect("s", 0.4, kind=kind)) for kind in (Kind.CLAIMED, Kind.TARGET, Kind.WINNER)
    ] == [None] * 3
    assert shrunk_mean(effect("s")) is None


def test_a_prior_of_too_few_strategies_is_the_uninformed_one() -> None:
    prior = Prior.of([effect("a", 1.0), effect("b", 2.0)])
    assert (prior.mean, prior.between_strategies, prior.between_contexts) == UNINFORMED
    assert prior.strategies == 2


def test_a_prior_recovers_what_the_effects_were_drawn_from() -> None:
    import random

    rng = random.Random(3)
    effects = []
    for number in range(200):
        of_strategy = rng.gauss(0.1, 0.2)
        effects += [
            effect(f"s{number}", rng.gauss(of_strategy, 0.05), hardware=f"h{place}") for place in range(4)
        ]
    prior = Prior.of(effects)
    assert prior.mean == pytest.approx(0.1, abs=0.05)
    assert prior.between_strategies == pytest.approx(0.2, rel=0.2)
    assert prior.between_contexts == pytest.approx(0.05, rel=0.2)
    assert prior.strategies == 200
