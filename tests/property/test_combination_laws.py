"""Joint gains of strategies: within the ceiling, within the sum, whatever their order."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.gain import Gain
from recommender.ranking.combination import CombinationPart, ceiling, combine_gains

SHARES = {"wait": 0.28, "norms": 0.31, "copies": 0.1, "unknown": None, "other": None}


@st.composite
def parts(draw: st.DrawFn, *, least: int = 1) -> list[CombinationPart]:
    found = []
    for place in range(draw(st.integers(least, 6))):
        bottleneck = draw(st.sampled_from(sorted(SHARES)))
        share = SHARES[bottleneck]
        most = 1.5 if share is None else -math.log1p(-share)
        expected = draw(st.floats(-0.3, most))
        low, high = draw(st.floats(0, 0.5)), draw(st.floats(0, 0.5))
        gain = Gain(expected=expected, low=expected - low, high=min(expected + high, most))
        found.append(CombinationPart(id=str(place), bottleneck=bottleneck, gain=gain, share=share))
    return found


def saved(gain: float) -> float:
    return -math.expm1(-gain)


@given(parts())
def test_nothing_exceeds_the_ceiling(held: list[CombinationPart]) -> None:
    limit = ceiling(held)
    gain = combine_gains(held)
    assert gain.low <= gain.expected + 1e-9
    assert gain.expected <= gain.high + 1e-9
    if limit is not None:
        assert gain.high <= limit + 1e-9


@given(parts())
def test_no_more_time_is_saved_than_the_parts_add_up_to(held: list[CombinationPart]) -> None:
    assert (
        saved(combine_gains(held).expected)
        <= math.fsum(saved(part.gain.expected) for part in held if part.gain.expected > 0) + 1e-9
    )


@given(parts(), st.randoms(use_true_random=False))
def test_order_does_not_matter(held: list[CombinationPart], shuffle: random.Random) -> None:
    mixed = list(held)
    shuffle.shuffle(mixed)
    assert combine_gains(mixed) == combine_gains(held)


@given(parts())
def test_one_part_alone_is_itself(held: list[CombinationPart]) -> None:
    [part, *_] = held
    gain = combine_gains([part])
    assert gain.expected == pytest.approx(part.gain.expected, abs=1e-6)
    assert gain.low == pytest.approx(part.gain.low, abs=1e-6)


@given(parts(least=2))
def test_another_gain_never_makes_it_worse(held: list[CombinationPart]) -> None:
    *others, last = held
    if last.gain.expected > 0:
        assert combine_gains(held).expected >= combine_gains(others).expected - 1e-9


def part(name: str, bottleneck: str, factor: float, share: float | None) -> CombinationPart:
    gain = math.log(factor)
    return CombinationPart(
        id=name, bottleneck=bottleneck, gain=Gain(expected=gain, low=gain, high=gain), share=share
    )


def test_two_whole_fixes_of_different_bottlenecks_add_their_shares() -> None:
    both = [part("a", "wait", 1 / 0.72, 0.28), part("b", "norms", 1 / 0.69, 0.31)]
    assert math.exp(combine_gains(both).expected) == pytest.approx(1 / 0.41)


def test_two_fixes_of_one_bottleneck_overlap() -> None:
    both = [part("a", "wait", 1 / 0.86, 0.28), part("b", "wait", 1 / 0.86, 0.28)]
    assert math.exp(combine_gains(both).expected) == pytest.approx(1 / (1 - 0.28 * 0.75))
    unknown = [part("a", "wait", 1.2, None), part("b", "wait", 1.1, None)]
    assert math.exp(combine_gains(unknown).expected) == pytest.approx(1.2)


def test_gains_without_a_known_share_multiply() -> None:
    both = [part("a", "wait", 1.2, None), part("b", "norms", 1.1, None)]
    assert math.exp(combine_gains(both).expected) == pytest.approx(1.32)


def test_nothing_to_combine_is_a_fault() -> None:
    with pytest.raises(ValueError, match="nothing"):
        combine_gains([])
