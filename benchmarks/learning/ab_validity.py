"""Measures how often a watched A/B test is wrong, and how soon it is right.

Simulated pairs: two runs in an order drawn for the pair, each of log time ``drift + noise``. A false alarm is any
look, after any pair up to the horizon, at which a test of equal arms says that they differ. Beside it the
paired t test that is watched in the same way, and Welch's test on all of A, then all of B.

    gaussian    2 % independent noise
    drift       the same on a drift of 20 % along a line, a wave of 5 % and a random walk
    t3          independent noise of Student's t with 3 degrees of freedom
    ar1         noise of an AR(1) process over the runs, coefficient 0.9
    coarse      a clock that tells two values
    wandering   not promised: the effect itself is an AR(1) process around zero, coefficient 0.5

Then how many pairs a gain needs, how often "equivalent" is said of arms that differ by the margin, how often a
best arm is named that is not the best, and what the widened interval of a sequential record does.

Run: ``python -m benchmarks.learning.ab_validity [--quick]``. Ends in one line of JSON.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from recommender.experiment.mixture import least_pairs, watch
from recommender.experiment.schemes import SESSION, by_regression

ALPHAS = (0.05, 0.01)
NOISE = 0.02
MARGIN = 0.01
CHUNK = 500
HORIZON = 500
"""Pairs up to which a test is watched."""
PROMISED = ("gaussian", "drift", "t3", "ar1")


def ar1(rng: np.random.Generator, shape: tuple[int, int], phi: float) -> NDArray[np.float64]:
    """Stationary AR(1) of unit variance."""
    drawn = rng.normal(size=shape)
    drawn[:, 1:] *= math.sqrt(1 - phi * phi)
    for place in range(1, shape[1]):
        drawn[:, place] += phi * drawn[:, place - 1]
    return drawn


def drift(rng: np.random.Generator, count: int, length: int) -> NDArray[np.float64]:
    """A line, a wave and a walk."""
    t = np.linspace(0, 1, length)
    wave = 0.05 * np.sin(2 * np.pi * (rng.uniform(0.5, 8, (count, 1)) * t + rng.uniform(0, 1, (count, 1))))
    walk = np.cumsum(rng.normal(0, 0.05 / math.sqrt(length), (count, length)), axis=1)
    return np.asarray(0.2 * t * rng.choice([-1, 1], (count, 1)) + wave + walk)


def in_pairs(rng: np.random.Generator, runs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log ratios of pairs whose order is drawn."""
    order = rng.choice([-1.0, 1.0], (runs.shape[0], runs.shape[1] // 2))
    return order * (runs[:, 1::2] - runs[:, ::2])


def noises(rng: np.random.Generator) -> dict[str, Callable[[int, int], NDArray[np.float64]]]:
    """Log ratios of equal arms, by kind of noise: from number of tests and pairs."""

    def runs(
        make: Callable[[tuple[int, int]], NDArray[np.float64]],
    ) -> Callable[[int, int], NDArray[np.float64]]:
        return lambda count, pairs: in_pairs(rng, make((count, 2 * pairs)))

    return {
        "gaussian": runs(lambda shape: NOISE * rng.normal(size=shape)),
        "drift": runs(lambda shape: NOISE * rng.normal(size=shape) + drift(rng, *shape)),
        "t3": runs(lambda shape: NOISE * rng.standard_t(3, size=shape)),
        "ar1": runs(lambda shape: NOISE * ar1(rng, shape, 0.9)),
        "ar1_half": runs(lambda shape: np.asarray(NOISE * ar1(rng, shape, 0.5))),
        "coarse": runs(lambda shape: 0.01 * rng.integers(0, 2, size=shape).astype(float)),
        "wandering": lambda count, pairs: np.asarray(NOISE * ar1(rng, (count, pairs), 0.5)),
    }


def upper(count: int, of: int) -> float:
    """Upper end of the one-sided exact (Clopper-Pearson) 95 % interval of a share."""
    from scipy.stats import beta

    return float(beta.ppf(0.95, count + 1, of - count)) if count < of else 1.0


def watched_t(d: NDArray[np.float64], alpha: float) -> NDArray[np.bool_]:
    """Mask of tests in which the paired t test, looked at after each pair from the fifth, sees a change."""
    from scipy.stats import t

    n = np.arange(1, d.shape[1] + 1)
    mean = np.cumsum(d, axis=1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(np.cumsum(d * d, axis=1) / n - mean**2, 0) * n / (n - 1))
        statistic = np.abs(mean) / spread * np.sqrt(n)
    limit = t.ppf(1 - alpha / 2, np.maximum(n - 1, 1))
    return np.asarray((statistic > limit)[:, 4:].any(axis=1))


def sequential(rng: np.random.Generator, tests: int, per_arm: int) -> dict[str, dict[str, float]]:
    """False alarms and width where all of A comes before all of B, alpha 0.05."""
    from scipy.stats import ttest_ind

    length = 2 * per_arm
    t = np.linspace(0, 1, length)
    is_treatment = np.arange(length) >= per_arm
    base = NOISE * rng.normal(size=(tests, length))
    walk = np.cumsum(rng.normal(size=(tests, length)), axis=1) * NOISE / math.sqrt(length)
    wave = NOISE * np.sin(2 * np.pi * (rng.uniform(0.5, 5, (tests, 1)) * t + rng.uniform(0, 1, (tests, 1))))
    worlds = {
        "none": base,
        "line_5pct": base + 0.05 * t,
        "line_20pct": base + 0.2 * t,
        "session_1pct": base + 0.01 * rng.normal(size=(tests, 1)) * is_treatment,
        "walk_2pct": base + walk,
        "wave_2pct": base + wave,
        "ar1_0.8": NOISE * ar1(rng, (tests, length), 0.8),
        "warm_up_10pct": base + 0.1 * np.exp(-10 * t),
    }
    found = {}
    for name, values in worlds.items():
        intervals = [by_regression(row, is_treatment, 0.05, spread=SESSION) for row in values]
        welch = ttest_ind(values[:, per_arm:], values[:, :per_arm], axis=1, equal_var=False).pvalue
        found[name] = {
            "ours": float(np.mean([item.low > 0 or item.high < 0 for item in intervals])),
            "welch": float((welch < 0.05).mean()),
            "half_width": float(np.median([(item.high - item.low) / 2 for item in intervals])),
        }
    return found


def first_where(holds: NDArray[np.bool_], otherwise: int) -> NDArray[np.int64]:
    """Pairs at which something first holds, row by row."""
    return np.where(holds.any(axis=1), holds.argmax(axis=1) + 1, otherwise)


def pairs_for(rng: np.random.Generator, gain: float, tests: int, longest: int) -> dict[str, float]:
    """Pairs until a gain is called better at alpha 0.05, drift as above on."""
    runs = NOISE * rng.normal(size=(tests, 2 * longest)) + drift(rng, tests, 2 * longest)
    stops = first_where(watch(math.log1p(gain) + in_pairs(rng, runs), 0.05).low > 0, longest)
    steady = math.log1p(gain) + in_pairs(rng, NOISE * rng.normal(size=(tests, 2 * longest)))
    plain = first_where(watch(steady, 0.05).low > 0, longest)
    return {
        "mean": float(plain.mean()),
        "median": float(np.median(plain)),
        "p90": float(np.quantile(plain, 0.9)),
        "mean_under_drift": float(stops.mean()),
    }


def wrong_equivalence(rng: np.random.Generator, tests: int, pairs: int, alpha: float) -> int:
    """Tests of arms that differ by the margin that ever say equivalent."""
    track = watch(MARGIN + in_pairs(rng, NOISE * rng.normal(size=(tests, 2 * pairs))), alpha)
    return int(((track.low > -MARGIN) & (track.high < MARGIN)).any(axis=1).sum())


def best_arm(
    rng: np.random.Generator, effects: tuple[float, ...], tests: int, rounds: int, alpha: float
) -> dict[str, float]:
    """Shares of tests that name a best arm, and a wrong one; effects are log gains, the control's first."""
    arms = len(effects)
    level = alpha / (arms - 1)
    least = least_pairs(level)
    noise = NOISE * rng.normal(size=(arms, tests, rounds))
    wins = np.ones((arms, tests, rounds), bool)
    for one in range(arms):
        for other in range(one + 1, arms):
            d = effects[one] - effects[other] + noise[one] - noise[other]
            track = watch(d, level)
            wins[one] &= track.low > 0
            wins[other] &= track.high < 0
    named = first_where(np.asarray(wins.any(axis=0)), rounds + 1)
    first = np.minimum(named, rounds) - 1
    who = wins[:, np.arange(tests), first].argmax(axis=0)
    is_named = named <= rounds
    truly = {place for place, effect in enumerate(effects) if effect == max(effects)}
    right = truly if len(truly) == 1 else set()  # of equal arms none is better than all others
    wrong = is_named & ~np.isin(who, sorted(right))
    return {
        "named": float(is_named.mean()),
        "wrong": float(wrong.mean()),
        "wrong_upper": upper(int(wrong.sum()), tests),
        "rounds": float(np.median(named)) if is_named.mean() > 0.5 else math.nan,
        "least": least,
    }


def main() -> None:
    options = harness.read(
        __doc__,
        harness.option("--tests", type=int, default=0, help="simulated tests of each kind"),
        quick="fewer tests: a minute instead of some",
        published=20260101,
    )
    tests = options.tests or (1500 if options.quick else 10_000)
    rng = options.rng()

    shares: dict[str, dict[str, float]] = {}
    uppers: dict[str, dict[str, float]] = {}
    watched: dict[str, dict[str, float]] = {}
    for name, make in noises(rng).items():
        counts = dict.fromkeys(ALPHAS, 0)
        others = dict.fromkeys(ALPHAS, 0)
        for begin in range(0, tests, CHUNK):
            d = make(min(CHUNK, tests - begin), HORIZON)
            for alpha in ALPHAS:
                track = watch(d, alpha)
                counts[alpha] += int(((track.low > 0) | (track.high < 0)).any(axis=1).sum())
                others[alpha] += int(watched_t(d, alpha).sum())
        shares[name] = {str(alpha): counts[alpha] / tests for alpha in ALPHAS}
        uppers[name] = {str(alpha): upper(counts[alpha], tests) for alpha in ALPHAS}
        watched[name] = {str(alpha): others[alpha] / tests for alpha in ALPHAS}

    few = tests // 5
    three = pairs_for(rng, 0.03, few, 400)
    equivalence = {}
    for alpha in ALPHAS:
        wrong = wrong_equivalence(rng, few, HORIZON, alpha)
        equivalence[str(alpha)] = {"share": wrong / few, "upper": upper(wrong, few)}
    worlds = {
        "one_better": (0.0, 0.02, 0.0, -0.01),
        "close_second": (0.0, 0.02, 0.015, 0.0),
        "all_equal": (0.0, 0.0, 0.0, 0.0),
        "control_best": (0.0, -0.01, -0.01, -0.02),
    }
    best = {name: best_arm(rng, effects, few, 300, 0.05) for name, effects in worlds.items()}
    record = {str(n): sequential(rng, few // 2, n) for n in (10, 30, 60)}
    result = {
        "tests": tests,
        "horizon": HORIZON,
        "false_alarm": shares,
        "false_alarm_upper": uppers,
        "watched_paired_t": watched,
        "welch_a_then_b": {name: numbers["welch"] for name, numbers in record["30"].items()},
        "sequential": record,
        "pairs_3pct": three["mean"],
        "pairs_3pct_detail": three,
        "wrong_equivalence": max(item["share"] for item in equivalence.values()),
        "wrong_equivalence_detail": equivalence,
        "best_arm_error": max(item["wrong"] for item in best.values()),
        "best_arm_error_upper": max(item["wrong_upper"] for item in best.values()),
        "best_arm_detail": best,
        "holds": all(uppers[name][str(alpha)] <= alpha + 0.005 for name in PROMISED for alpha in ALPHAS),
    }
    options.last_line(result, n=tests)


if __name__ == "__main__":
    main()
