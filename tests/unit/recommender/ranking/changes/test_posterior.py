"""The gain of a strategy here: the laws of the posterior."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.effects import Context
from kg.nouns.entities import Trust
from kg.nouns.gain import NORMAL_90, Gain
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes import posterior as posteriors
from recommender.ranking.changes.posterior import Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior

PRIOR = Prior(mean=0.05, between_strategies=0.1, between_contexts=0.08, strategies=20, noise=0.05)
HERE = Context(bottleneck="wait", hardware="chip", family="llama")
DISTANCES = {
    frozenset({"chip"}): Distance.SAME_DEVICE,
    frozenset({"chip", "sister"}): Distance.SIBLING,
    frozenset({"chip", "cousin"}): Distance.SAME_ARCHITECTURE,
    frozenset({"sister", "cousin"}): Distance.SAME_ARCHITECTURE,
}
gains = st.floats(-2, 2)
counts = st.integers(1, 1000)
trusts = st.floats(0.01, 1)
places = st.builds(
    Context,
    bottleneck=st.sampled_from(["", "wait"]),
    hardware=st.sampled_from(["", "chip", "sister", "cousin", "other"]),
    family=st.sampled_from(["", "llama", "bert"]),
)
evidence = st.builds(ObservedEffect, context=places, mean=gains, n=counts, trust=trusts)


def width(gain: Gain) -> float:
    return gain.high - gain.low


def distance(one: str, other: str) -> Distance:
    if one == other:
        return Distance.SAME_DEVICE
    return DISTANCES.get(frozenset({one, other}), Distance.OTHER_VENDOR)


def expect(*seen: ObservedEffect, components: Components | None = None) -> Gain:
    return posterior(PRIOR, seen, HERE, distance, components or Components())[0]


@given(evidence)
def test_evidence_draws_towards_itself(seen: ObservedEffect) -> None:
    low, high = sorted((PRIOR.mean, seen.mean))
    assert low - 1e-12 <= expect(seen).expected <= high + 1e-12


@given(st.lists(evidence, min_size=1, max_size=6), st.randoms())
def test_order_does_not_matter_and_what_was_expected_narrows(
    seen: list[ObservedEffect], random: object
) -> None:
    other = list(seen)
    random.shuffle(other)  # type: ignore[attr-defined]
    assert expect(*seen).expected == pytest.approx(expect(*other).expected, abs=1e-6)
    expected = [replace(item, mean=PRIOR.mean) for item in seen]
    assert width(expect(*expected)) <= width(expect(*expected[:-1])) + 1e-9
    assert width(expect(*seen)) >= width(expect(*expected)) - 1e-9


def test_a_single_surprise_is_told_with_what_it_may_be_and_repeats_settle_it() -> None:
    surprise = ObservedEffect(context=HERE, mean=math.log(29), n=1, trust=0.5)
    once = expect(surprise)
    assert once.low < math.log(2)
    assert once.high > math.log(10)
    shown = expect(replace(surprise, n=20, trust=1.0))
    assert shown.expected == pytest.approx(surprise.mean, rel=0.01)
    assert width(shown) < width(once) / 4
    elsewhere = replace(surprise, trust=Trust.LOW.weight)
    known = ObservedEffect(context=HERE, mean=0.1, n=20)
    assert width(expect(known, elsewhere)) <= width(expect(known)) + 1e-9


@given(evidence, trusts)
def test_what_is_trusted_more_weighs_more(seen: ObservedEffect, other: float) -> None:
    less, more = sorted((seen.trust, other))
    moved = [
        abs(
            expect(ObservedEffect(context=seen.context, mean=seen.mean, n=seen.n, trust=value)).expected
            - PRIOR.mean
        )
        for value in (less, more)
    ]
    assert moved[0] <= moved[1] + 1e-12


@given(gains, counts, trusts)
def test_what_is_nearer_weighs_more(mean: float, n: int, trust: float) -> None:
    nearer_first = (
        HERE,
        Context(bottleneck="", hardware="chip", family="llama"),
        Context(bottleneck="", hardware="sister", family="llama"),
        Context(bottleneck="", hardware="cousin", family="llama"),
        Context(bottleneck="", hardware="other", family="llama"),
        Context(bottleneck="", hardware="other", family="bert"),
    )
    moved = [
        abs(expect(ObservedEffect(context=place, mean=mean, n=n, trust=trust)).expected - PRIOR.mean)
        for place in nearer_first
    ]
    assert all(nearer >= farther - 1e-12 for nearer, farther in itertools.pairwise(moved))


@given(st.integers(1, 10**9), trusts)
def test_a_source_that_repeats_itself_cannot_buy_more_than_its_trust(n: int, trust: float) -> None:
    poison = 5.0
    moved = expect(ObservedEffect(context=HERE, mean=poison, n=n, trust=trust)).expected - PRIOR.mean
    assert moved <= trust * (poison - PRIOR.mean) + 1e-9


@given(st.integers(1, 200), st.integers(1, 10**9))
def test_what_is_distrusted_buys_no_more_by_speaking_of_many_contexts(places: int, n: int) -> None:
    poison = 3.4  # just inside the limit of 30x
    facts = [Settings({"seq_len": 4096 + place}) for place in range(places)]
    contexts = [Context(bottleneck="", hardware="chip", family="llama", facts=item) for item in facts]
    trust = Trust.LOW.weight
    seen = [ObservedEffect(context=context, mean=poison, n=n, trust=trust) for context in contexts]
    assert expect(*seen).expected - PRIOR.mean <= trust * (poison - PRIOR.mean) + 1e-6


def test_what_is_distrusted_hardly_moves_what_is_known_well() -> None:
    known = ObservedEffect(context=HERE, mean=0.1, n=20)
    poisoned = ObservedEffect(context=HERE, mean=2.0, n=1000, trust=Trust.LOW.weight)
    assert expect(known, poisoned).expected - expect(known).expected < 0.1
    far = ObservedEffect(
        context=Context(hardware="other", family="bert"), mean=2.0, n=1000, trust=Trust.LOW.weight
    )
    assert abs(expect(known, far).expected - expect(known).expected) < 0.01


def test_a_sign_that_depends_on_the_hardware_is_told_apart() -> None:
    here = [ObservedEffect(context=HERE, mean=0.2, n=10)]
    there = [ObservedEffect(context=Context(hardware="other", family="bert"), mean=-0.2, n=10)]
    assert expect(*here, *there).low > 0
    elsewhere = Context(hardware="other", family="bert", bottleneck="wait")
    found, _ = posterior(PRIOR, [*here, *there], elsewhere, distance)
    assert found.expected < 0


@pytest.mark.parametrize(("n", "trust"), [(0, 1.0), (100, 0.0)])
def test_what_is_not_trusted_or_never_seen_says_nothing(n: int, trust: float) -> None:
    gain, weights = posterior(
        PRIOR, [ObservedEffect(context=HERE, mean=5.0, n=n, trust=trust)], HERE, distance
    )
    assert gain == expect()
    assert weights == [0.0]


@pytest.mark.parametrize("shares", [(0.5, 0.4, 0.2), (-0.1, 0.6, 0.5)])
def test_shares_that_are_none_are_refused(shares: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="shares"):
        Components(hardware=shares[0], family=shares[1], own=shares[2])


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


def test_what_is_predicted_is_one_more_problem_so_its_noise_stays() -> None:
    """However often the effect was seen here, one problem differs from the mean by the noise of one."""
    seen = ObservedEffect(context=HERE, mean=0.3, n=10**6)
    assert expect(seen).expected == pytest.approx(0.3, abs=1e-3)
    assert width(expect(seen)) == pytest.approx(2 * NORMAL_90 * PRIOR.noise, rel=1e-2)


def test_of_thousands_of_effects_the_nearest_count_and_the_answer_is_that_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = [
        ObservedEffect(
            context=replace(HERE, hardware="other", facts=Settings({"batch": n})), mean=-0.3 + n / 1e4, n=3
        )
        for n in range(1, 700)
    ]
    near = [ObservedEffect(context=HERE, mean=0.25 + n / 100, n=2) for n in range(4)]
    gain, weights = posterior(PRIOR, [*far, *near], HERE, distance)
    assert len(weights) == len(far) + len(near)
    assert sum(weight != 0 for weight in weights) == posteriors.MOST_EVIDENCE
    assert all(weight > 0 for weight in weights[-4:])
    monkeypatch.setattr(posteriors, "MOST_EVIDENCE", 10_000)
    whole, _ = posterior(PRIOR, [*far, *near], HERE, distance)
    assert abs(gain.expected - whole.expected) < 0.1 * whole.deviation
    assert width(gain) == pytest.approx(width(whole), rel=0.1)


def test_of_thousands_of_effects_of_one_place_those_seen_more_often_count() -> None:
    seen = [ObservedEffect(context=HERE, mean=0.1, n=1 + n % 2) for n in range(2 * posteriors.MOST_EVIDENCE)]
    _, weights = posterior(PRIOR, seen, HERE, distance)
    assert [weight != 0 for weight in weights] == [item.n == 2 for item in seen]
