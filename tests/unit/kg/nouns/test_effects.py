"""Effects are sums: what goes in comes out again, in any order, and mean and variance are those of the gains."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.nouns.effects import RECENT, Context, DatedGain, Effect, to_unats
from kg.nouns.entities import Kind, Trust

EMPTY = Effect(context=Context(hardware="chip"), strategy="s", metric="throughput", kind=Kind.MEASURED)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
gains = st.lists(st.floats(-2, 2), min_size=2, max_size=12)


def dated(values: list[float], first: int = 0) -> list[DatedGain]:
    return [
        DatedGain(time=NOW + timedelta(days=first + k), id=f"o{first + k:03}", unats=to_unats(value))
        for k, value in enumerate(values)
    ]


@settings(max_examples=30)
@given(gains, gains)
def test_what_is_taken_out_or_merged_leaves_the_sums_of_the_rest(
    one: list[float], other: list[float]
) -> None:
    both = EMPTY.add([*one, *other])
    assert EMPTY.add(one).merge(EMPTY.add(other)) == both
    assert both.without([to_unats(gain) for gain in other]) == EMPTY.add(one)
    seen = EMPTY.see(dated(one)).see(dated(other, len(one)))
    assert seen == EMPTY.see(dated([*one, *other]))
    left = seen.without(
        [item.unats for item in dated(other, len(one))], [i.id for i in dated(other, len(one))]
    )
    assert replace(left, last_evidence=None) == replace(EMPTY.see(dated(one)), last_evidence=None)


def test_the_newest_outcomes_are_kept_and_the_last_dates_the_effect() -> None:
    effect = EMPTY.see(dated([0.1] * (RECENT + 5)))
    assert [item.id for item in effect.recent] == [f"o{k:03}" for k in range(5, RECENT + 5)]
    assert effect.last_evidence == NOW + timedelta(days=RECENT + 4)
    assert EMPTY.add([0.1], now=NOW).add([], now=NOW + timedelta(days=1)).last_evidence == NOW


def test_one_gain_has_no_variance_and_none_has_no_mean() -> None:
    assert (EMPTY.mean, EMPTY.variance) == (None, None)
    assert EMPTY.add([0.5]).variance is None
    with pytest.raises(ValueError, match="log gain"):
        EMPTY.add([float("nan")])
    with pytest.raises(ValueError, match="have the sums"):
        EMPTY.add([0.5]).without([to_unats(0.5), to_unats(0.1)])
    with pytest.raises(ValueError, match="not the same effect"):
        EMPTY.merge(replace(EMPTY, trust=Trust.LOW))
