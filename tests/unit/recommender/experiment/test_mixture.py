"""The mixture t: watched as often as one likes it keeps its promise, and sees what is there."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.experiment.mixture import G, least_pairs, pairs_needed, pairs_to_equivalence, watch

NOISE = 0.02 * math.sqrt(2)
TESTS = 2000
HORIZON = 200


def excluded(d: np.ndarray, alpha: float) -> float:
    track = watch(d, alpha)
    return float(((track.low > 0) | (track.high < 0)).any(axis=1).mean())


def in_pairs(rng: np.random.Generator, runs: np.ndarray) -> np.ndarray:
    order = rng.choice([-1.0, 1.0], (runs.shape[0], runs.shape[1] // 2))
    return np.asarray(order * (runs[:, 1::2] - runs[:, ::2]))


def correlated(rng: np.random.Generator, shape: tuple[int, int], phi: float) -> np.ndarray:
    runs = rng.normal(size=shape)
    for place in range(1, shape[1]):
        runs[:, place] = phi * runs[:, place - 1] + math.sqrt(1 - phi**2) * runs[:, place]
    return runs


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("noise", ["gaussian", "drift", "t3", "ar1"])
def test_false_alarms_of_a_watched_test(noise: str, alpha: float) -> None:
    """2,000 tests: the standard error of a share of 5 % is 0.5 points; three of them are allowed."""
    rng = np.random.default_rng(7)
    shape = (TESTS, 2 * HORIZON)
    runs = rng.standard_t(3, size=shape) if noise == "t3" else rng.normal(size=shape)
    if noise == "drift":
        runs += np.linspace(0, 10, shape[1])
    if noise == "ar1":
        runs = correlated(rng, shape, 0.9)
    assert excluded(in_pairs(rng, runs), alpha) <= alpha + 3 * math.sqrt(alpha / TESTS)


def test_a_t_test_that_is_watched_in_the_same_way_breaks_its_promise() -> None:
    """The comparison that this module is for: sigma of the share is 1 point."""
    rng = np.random.default_rng(8)
    d = rng.normal(size=(TESTS, HORIZON))
    n = np.arange(2, HORIZON + 1)
    mean = np.cumsum(d, axis=1)[:, 1:] / n
    spread = np.sqrt((np.cumsum(d * d, axis=1)[:, 1:] / n - mean**2) * n / (n - 1))
    t = np.abs(mean) / spread * np.sqrt(n)
    assert (t[:, 20:] > 1.98).any(axis=1).mean() > 0.15
    assert excluded(d, 0.05) < 0.06


@pytest.mark.parametrize(("gain", "most"), [(0.03, 15), (0.01, 120)])
def test_pairs_until_a_gain_is_seen_at_two_percent_noise(gain: float, most: int) -> None:
    rng = np.random.default_rng(9)
    track = watch(math.log1p(gain) + rng.normal(0, NOISE, (1000, 10 * most)), 0.05)
    seen = track.low > 0
    assert seen.any(axis=1).all()
    assert (seen.argmax(axis=1) + 1).mean() <= most


def test_the_interval_is_where_the_evidence_reaches_one_over_alpha() -> None:
    """By hand: e(effect) of the last moment is 1 / alpha at both ends of an untightened interval."""
    d = np.array([0.03, -0.01, 0.05, 0.02, 0.0, 0.04, 0.01, 0.03])
    alpha, n = 0.05, 8
    track = watch(d[None, :], alpha)
    r = track.inflation[0, -1]
    within = ((d - d.mean()) ** 2).sum() * r
    q = (alpha * math.sqrt(G / (G + n))) ** (2 / n)
    share = (1 - q) * (G + n) / n
    radius = math.sqrt(within * share / ((1 - share) * n))
    t2 = n * radius**2 / (within / (n - 1))
    e = math.sqrt(G / (G + n)) * ((1 + t2 / (n - 1)) / (1 + G / (G + n) * t2 / (n - 1))) ** (n / 2)
    assert e == pytest.approx(1 / alpha)
    assert track.high[0, -1] <= d.mean() + radius + 1e-12


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=60),
    st.sampled_from([0.05, 0.01]),
    st.floats(-0.5, 0.5),
)
def test_laws_of_the_interval(values: list[float], alpha: float, shift: float) -> None:
    d = np.array(values)
    track = watch(d, alpha)
    early = slice(None, least_pairs(alpha) - 1)
    assert np.isneginf(track.low[early]).all()
    assert (track.p[early] == 1).all()
    assert (np.diff(track.p) <= 0).all()
    assert ((track.p >= 0) & (track.p <= 1)).all()
    flipped = watch(-d, alpha)  # what is better for one is worse for the other
    assert np.array_equal(flipped.low, -track.high)
    assert np.array_equal(flipped.p, track.p)
    moved = watch(d + shift, alpha)
    steady = ~(track.is_torn | moved.is_torn)
    close = np.isclose(moved.low, track.low + shift, atol=1e-6) | np.isinf(track.low)
    assert close[steady].all()


@given(st.lists(st.floats(-1, 1), min_size=30, max_size=40), st.floats(0.1, 100))
def test_the_unit_of_the_differences_does_not_matter(values: list[float], factor: float) -> None:
    d = np.array(values)
    assert np.allclose(watch(d, 0.05).p, watch(d * factor, 0.05).p, rtol=1e-6, atol=1e-9)


def test_equal_values_are_known_exactly() -> None:
    track = watch(np.full(20, 0.25), 0.01)
    assert track.low[-1] == pytest.approx(0.25)
    assert track.high[-1] == pytest.approx(0.25)
    assert watch(np.zeros(20), 0.01).p[-1] == 1


def test_correlated_pairs_widen_the_interval_and_others_hardly_do() -> None:
    rng = np.random.default_rng(1)
    assert np.median(watch(correlated(rng, (200, 200), 0.6), 0.05).inflation[:, -1]) > 2.5
    assert np.median(watch(rng.normal(size=(200, 200)), 0.05).inflation[:, -1]) < 1.1


def test_an_effect_that_moves_is_noticed() -> None:
    rng = np.random.default_rng(2)
    d = np.concatenate([rng.normal(0.2, 0.01, 100), rng.normal(-0.2, 0.01, 400)])
    track = watch(d, 0.01)
    assert track.is_torn.any()
    torn = track.is_torn
    assert np.all(track.low[torn] < track.mean[torn])
    assert np.all(track.high[torn] > track.mean[torn])
    assert np.allclose(track.high[torn] - track.mean[torn], track.mean[torn] - track.low[torn])


def test_pairs_needed_follow_gain_and_noise() -> None:
    def needed(gain: float, alpha: float = 0.05) -> int:
        found = pairs_needed(math.log1p(gain), NOISE, alpha)
        assert found is not None
        return found

    assert needed(0.01) > needed(0.03) > needed(0.1)
    assert needed(0.03, 0.01) > needed(0.03)
    assert pairs_needed(0.0, NOISE, 0.05) is None
    assert pairs_needed(0.5, 1e-6, 0.05) == least_pairs(0.05) == 6
    assert pairs_to_equivalence(0.02, NOISE, 0.01, 0.05) is None
    easy, hard = (pairs_to_equivalence(effect, NOISE, 0.01, 0.05) for effect in (0.0, 0.005))
    assert easy is not None
    assert hard is not None
    assert easy < hard
