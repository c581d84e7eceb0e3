"""Records whose order is not a randomised test's: told apart, marked, and widened enough."""

import math

import numpy as np
import pytest

from recommender.experiment.schemes import SESSION, Scheme, by_regression, scheme_of, trend, widened
from recommender.experiment.verdict import UNKNOWN, Interval

PAIRS = [str(place // 2) for place in range(24)]
NONE: list[str | None] = [None] * 24


def drawn(seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [arm for _ in range(12) for arm in rng.permutation(["A", "B"])]


@pytest.mark.parametrize(
    ("arms", "pairs", "is_ordered", "scheme"),
    [
        (drawn(), PAIRS, True, Scheme.RANDOMISED),
        (drawn(), PAIRS, False, Scheme.PAIRED),
        (drawn(), NONE, True, Scheme.INTERLEAVED),
        (drawn(), NONE, False, Scheme.SEQUENTIAL),
        (["A", "B", "B", "A"] * 6, PAIRS, True, Scheme.INTERLEAVED),
        (["A", "A", "B", "B"] * 6, PAIRS, False, Scheme.SEQUENTIAL),
    ],
)
def test_schemes_are_told_apart(
    arms: list[str], pairs: list[str | None], is_ordered: bool, scheme: Scheme
) -> None:
    assert scheme_of(arms, pairs, is_ordered=is_ordered) is scheme


def test_only_a_randomised_test_has_no_warning() -> None:
    assert [item for item in Scheme if not item.warning] == [Scheme.RANDOMISED]


@pytest.mark.parametrize("drift", ["none", "line", "walk", "session", "ar1"])
def test_a_sequential_record_keeps_its_promise_under_drift(drift: str) -> None:
    """400 records of 30 and 30 runs at alpha 0.05: three standard errors are 3.3 points."""
    rng = np.random.default_rng(3)
    count, per_arm = 400, 30
    n = 2 * per_arm
    is_treatment = np.arange(n) >= per_arm
    values = 0.02 * rng.normal(size=(count, n))
    if drift == "line":
        values += np.linspace(0, 0.2, n)
    if drift == "walk":
        values += np.cumsum(rng.normal(size=(count, n)), axis=1) * 0.02 / math.sqrt(n)
    if drift == "session":
        values += SESSION * rng.normal(size=(count, 1)) * is_treatment
    if drift == "ar1":
        for place in range(1, n):
            values[:, place] += 0.8 * values[:, place - 1]
    found = [by_regression(row, is_treatment, 0.05, spread=SESSION) for row in values]
    assert np.mean([item.low > 0 or item.high < 0 for item in found]) <= 0.083


def test_regression_finds_the_effect_beside_a_drift() -> None:
    rng = np.random.default_rng(5)
    is_treatment = np.arange(80) % 2 == 1
    values = rng.normal(0, 0.01, 80) + np.linspace(0, 0.5, 80) + 0.1 * is_treatment
    found = by_regression(values, is_treatment, 0.01, spread=0.0)
    assert found.low < 0.1 < found.high
    assert found.low > 0.08
    assert found.p < 0.01


def test_few_values_say_nothing() -> None:
    found = by_regression(np.ones(4), np.array([True, False, True, False]), 0.05, spread=0.0)
    assert (found.low, found.high, found.p) == (-math.inf, math.inf, 1.0)
    assert math.isnan(by_regression(np.ones(4), np.ones(4, bool), 0.05, spread=0.0).mean)


def test_drift_is_told_from_noise() -> None:
    rng = np.random.default_rng(6)
    alarms = [trend(list(rng.normal(size=50))) is not None for _ in range(500)]
    assert sum(alarms) <= 2
    slope = trend(list(rng.normal(size=50) + 0.5 * np.arange(50)))
    assert slope == pytest.approx(0.5, rel=0.1)
    assert trend([1.0] * 7) is None
    assert trend([1.0] * 50) is None


def test_widening_takes_away_a_verdict_that_drift_could_have_made() -> None:
    narrow = Interval(mean=0.02, low=0.01, high=0.03, p=0.001, pairs=20)
    assert widened(narrow, 0.0) is narrow
    wide = widened(narrow, 0.02)
    assert wide.low == pytest.approx(-0.01)
    assert wide.high == pytest.approx(0.05)
    assert wide.p == 1.0
    assert widened(narrow, 0.005).p == 0.001
    assert widened(UNKNOWN, 0.1) is UNKNOWN


def test_the_spread_between_sessions_is_in_the_interval() -> None:
    """The same values without it give the same mean, and a narrower interval: variances add."""
    values = np.random.default_rng(6).normal(0, 0.02, 60)
    after = np.arange(60) >= 30
    one, other = (by_regression(values, after, 0.05, spread=spread) for spread in (0.0, SESSION))
    assert one.mean == other.mean
    radius, wider = (one.high - one.low) / 2, (other.high - other.low) / 2
    reach = wider / radius  # radius = reach * error, with error**2 + spread**2 for error**2
    assert reach > 1.1
    twice = by_regression(values, after, 0.05, spread=2 * SESSION)
    squares = [((item.high - item.low) / 2) ** 2 for item in (one, other, twice)]
    assert squares[2] - squares[0] == pytest.approx(4 * (squares[1] - squares[0]))


def test_the_ends_are_where_the_evidence_of_a_coefficient_reaches_one_over_alpha() -> None:
    """By hand: least squares by numpy, and the mixture t at the lower end of the interval."""
    rng = np.random.default_rng(8)
    is_treatment = rng.permutation(np.arange(40) % 2 == 1)
    values = rng.normal(0, 0.02, 40) + 0.03 * is_treatment
    found = by_regression(values, is_treatment, 0.05, spread=0.0)
    columns = np.stack([is_treatment, np.ones(40), np.linspace(-1, 1, 40)], axis=1).astype(float)
    fitted, (squares,), _, _ = np.linalg.lstsq(columns, values)
    left = values - columns @ fitted
    r = max(left[1:] @ left[:-1] / squares + 3 / 40, 0.0)
    variance = squares / 37
    error = math.sqrt(variance * np.linalg.inv(columns.T @ columns)[0, 0] * (1 + r) / (1 - r))
    assert found.mean == pytest.approx(fitted[0])
    assert found.noise == pytest.approx(math.sqrt(2 * variance))
    c = 1 / (1 + variance / error**2)

    def evidence(effect: float) -> float:
        ratio = ((found.mean - effect) / error) ** 2 / 37
        return float(math.sqrt(c) * ((1 + ratio) / (1 + c * ratio)) ** (38 / 2))

    assert evidence(found.low) == pytest.approx(1 / 0.05)
    assert evidence(found.high) == pytest.approx(1 / 0.05)
    assert found.p == pytest.approx(min(1.0, 1 / evidence(0.0)))
