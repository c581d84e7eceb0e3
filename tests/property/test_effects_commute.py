"""Evidence commutes: any order, any grouping, the same effect to the last digit."""

import math
import statistics
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.effects import RECENT, UNATS_PER_NAT, Context, DatedGain, Effect, to_unats
from kg.nouns.entities import Kind, Trust

EMPTY = Effect(
    context=Context(bottleneck="slow-link", hardware="h100", family="llama"),
    strategy="overlap",
    metric="step_time",
    kind=Kind.MEASURED,
)
GAINS = st.lists(st.floats(-20, 20), max_size=30)
TIMES = st.none() | st.datetimes(timezones=st.just(UTC))


def effects() -> st.SearchStrategy[Effect]:
    return st.builds(lambda gains, now: EMPTY.add(gains, now=now), GAINS, TIMES)


@given(gains=GAINS.flatmap(lambda gains: st.tuples(st.just(gains), st.permutations(gains))))
def test_order_does_not_matter(gains: tuple[list[float], list[float]]) -> None:
    one_by_one = EMPTY
    for gain in gains[1]:
        one_by_one = one_by_one.add([gain])
    assert one_by_one == EMPTY.add(gains[0])


@given(effects(), effects(), effects())
def test_merging_commutes_and_associates(a: Effect, b: Effect, c: Effect) -> None:
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c))
    assert a.merge(EMPTY) == a


@given(GAINS, GAINS)
def test_adding_is_merging(first: list[float], second: list[float]) -> None:
    assert EMPTY.add(first).add(second) == EMPTY.add(first).merge(EMPTY.add(second))


@given(GAINS)
def test_mean_and_variance_are_those_of_the_gains(gains: list[float]) -> None:
    effect = EMPTY.add(gains)
    assert effect.n == len(gains)
    rounded = [to_unats(gain) / UNATS_PER_NAT for gain in gains]
    if gains:
        assert effect.mean is not None
        assert math.isclose(effect.mean, statistics.fmean(rounded), rel_tol=1e-12, abs_tol=1e-15)
        assert math.isclose(effect.mean, statistics.fmean(gains), abs_tol=0.5 / UNATS_PER_NAT + 1e-12)
    else:
        assert effect.mean is None
    if len(gains) > 1:
        assert effect.variance is not None
        assert math.isclose(effect.variance, statistics.variance(rounded), rel_tol=1e-9, abs_tol=1e-15)
    else:
        assert effect.variance is None


def test_a_large_sum_keeps_a_small_spread() -> None:
    effect = EMPTY.add([15.0, 15.0 + 2 / UNATS_PER_NAT] * 500_000)
    assert effect.variance == pytest.approx(1e-12 * 1_000_000 / 999_999, rel=1e-12)


@pytest.mark.parametrize("gain", [math.nan, math.inf, -math.inf])
def test_a_gain_that_is_none_is_refused(gain: float) -> None:
    with pytest.raises(ValueError, match="log gain"):
        EMPTY.add([0.1, gain])
    with pytest.raises(ValueError, match="have the sums"):
        EMPTY.add([0.5]).without([to_unats(0.5), to_unats(0.1)])


@pytest.mark.parametrize(("n", "total", "squares"), [(-1, 0, 0), (0, 1, 0), (1, 2, 3), (2, 0, -1)])
def test_sums_that_no_gains_have_are_refused(n: int, total: int, squares: int) -> None:
    with pytest.raises(ValueError, match=r"no .* gains"):
        Effect(
            context=EMPTY.context,
            strategy="overlap",
            metric="step_time",
            kind=Kind.MEASURED,
            n=n,
            sum_unats=total,
            sum_squares_unats2=squares,
        )


def test_kinds_metrics_and_contexts_are_not_mixed() -> None:
    others = [
        Effect(context=Context(), strategy="overlap", metric="step_time", kind=Kind.MEASURED),
        Effect(context=EMPTY.context, strategy="other", metric="step_time", kind=Kind.MEASURED),
        Effect(context=EMPTY.context, strategy="overlap", metric="energy", kind=Kind.MEASURED),
        Effect(context=EMPTY.context, strategy="overlap", metric="step_time", kind=Kind.CLAIMED),
    ]
    for other in (*others, replace(EMPTY, trust=Trust.LOW)):
        with pytest.raises(ValueError, match="not the same effect"):
            EMPTY.merge(other)


def test_the_newest_evidence_is_remembered() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    assert EMPTY.add([0.1], now=late).add([0.2], now=early).last_evidence == late
    assert EMPTY.add([], now=late).last_evidence is None
    assert EMPTY.add([0.1], now=early).add([], now=late).last_evidence == early


DATED = st.lists(
    st.builds(
        DatedGain,
        time=st.datetimes(timezones=st.just(UTC)),
        id=st.text("abcdef", min_size=4, max_size=8),
        unats=st.integers(-(10**7), 10**7),
    ),
    max_size=RECENT + 20,
    unique_by=lambda item: item.id,
)


@given(DATED.flatmap(lambda dated: st.tuples(st.just(dated), st.permutations(dated))), st.integers(0, 60))
def test_outcomes_told_in_any_order_and_grouping_give_the_same_effect(
    told: tuple[list[DatedGain], list[DatedGain]], cut: int
) -> None:
    whole = EMPTY.see(told[0])
    one_by_one = EMPTY
    for item in told[1]:
        one_by_one = one_by_one.see([item])
    assert one_by_one == whole
    assert EMPTY.see(told[1][:cut]).merge(EMPTY.see(told[1][cut:])) == whole
    assert len(whole.recent) == min(RECENT, len(told[0]))
    assert list(whole.recent) == sorted(told[0])[-RECENT:]


@given(DATED, GAINS, st.integers(0, RECENT))
def test_what_is_taken_out_was_never_there(dated: list[DatedGain], gains: list[float], cut: int) -> None:
    kept, gone = dated[:RECENT][:cut], dated[:RECENT][cut:]
    both = EMPTY.add(gains).see(kept).see(gone)
    left = both.without([item.unats for item in gone], [item.id for item in gone])
    wanted = EMPTY.add(gains).see(kept)
    assert (left.n, left.sum_unats, left.sum_squares_unats2, left.recent) == (
        wanted.n,
        wanted.sum_unats,
        wanted.sum_squares_unats2,
        wanted.recent,
    )
