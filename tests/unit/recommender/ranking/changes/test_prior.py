"""What is expected of a strategy before its own evidence: an estimate that no source moves far."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.nouns.effects import Context, DatedGain, Effect
from kg.nouns.entities import Kind, Trust
from kg.triples.hardware_tree import Distance
from recommender.ranking.changes.posterior import ObservedEffect, posterior
from recommender.ranking.changes.prior import PUBLICATION_SHRINKAGE, UNINFORMED, Prior, effect_state

HERE = Context(bottleneck="wait", hardware="chip", family="llama")


def distance(one: str, other: str) -> Distance:
    return Distance.SAME_DEVICE if one == other else Distance.OTHER_VENDOR


def effect(strategy: str, *gains: float, kind: Kind = Kind.MEASURED, hardware: str = "") -> Effect:
    empty = Effect(context=Context(hardware=hardware), strategy=strategy, metric="throughput", kind=kind)
    return empty.add(gains)


def current_mean(item: Effect) -> float | None:
    state = effect_state(item)
    return None if state is None else state.mean


def test_published_gains_are_shrunk_and_claims_do_not_count() -> None:
    assert current_mean(effect("s", 0.4)) == pytest.approx(0.4)
    assert current_mean(effect("s", 0.4, kind=Kind.PUBLISHED)) == pytest.approx(0.4 * PUBLICATION_SHRINKAGE)
    assert [
        current_mean(effect("s", 0.4, kind=kind)) for kind in (Kind.CLAIMED, Kind.TARGET, Kind.WINNER)
    ] == [None] * 3
    assert current_mean(effect("s")) is None


def test_a_prior_of_no_strategy_is_the_uninformed_one_and_few_hardly_move_it() -> None:
    prior = Prior.of([])
    assert prior.mean == pytest.approx(UNINFORMED[0])
    assert (prior.between_strategies, prior.between_contexts) == pytest.approx(UNINFORMED[1:], rel=0.15)
    assert prior.strategies == 0
    few = Prior.of([effect("a", 1.0), effect("b", 2.0)])
    assert few.strategies == 2
    assert prior.mean < few.mean < 1


ALL = 0.02
"""Nats by which any one source may move the gain of a strategy that it does not speak of, at full trust."""


def published(rng: random.Random) -> list[Effect]:
    """Effects like those that are known: 31 strategies, a long tail, four of them seen twice."""
    strategies = [f"s{number}" for number in range(31)]
    found: list[Effect] = []
    for name in [*strategies, *strategies[:4]]:
        gain = rng.gauss(0.05, 0.06) + (rng.expovariate(6) if rng.random() < 0.25 else 0.0)
        gain = min(gain, 0.62)  # the highest of training
        found.append(effect(name, gain, kind=Kind.PUBLISHED, hardware=f"h{len(found)}"))
    return found


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from([Trust.LOW, Trust.MEDIUM, Trust.HIGH]),
    st.sampled_from([Kind.MEASURED, Kind.PUBLISHED]),
    st.lists(st.floats(-70, 70), min_size=1, max_size=5),
    st.lists(st.integers(0, 31), min_size=1, max_size=31, unique=True),
)
def test_one_source_hardly_moves_a_strategy_that_it_does_not_speak_of(
    seed: int, trust: Trust, kind: Kind, claimed: list[float], of: list[int]
) -> None:
    others = published(random.Random(seed))
    evil = [replace(effect(f"s{number}", *claimed, kind=kind, hardware="evil"), trust=trust) for number in of]

    def sources(item: Effect) -> list[str]:
        return ["evil"] if item.context.hardware == "evil" else [item.context.hardware]

    before, after = Prior.of(others, sources), Prior.of([*others, *evil], sources)
    most = 0.0
    for name in {item.strategy for item in others} - {item.strategy for item in evil}:
        own = [item for item in others if item.strategy == name]
        seen = [
            ObservedEffect(context=item.context, mean=state.mean, n=state.n, trust=0.5)
            for item in own
            if (state := effect_state(item)) is not None
        ]
        for place in (HERE, own[0].context):
            for known in (seen, []):
                gains = [posterior(prior, known, place, distance)[0].expected for prior in (before, after)]
                most = max(most, abs(gains[1] - gains[0]))
    assert most <= (0.0 if trust is Trust.LOW else ALL)


def test_what_has_drifted_stands_as_it_is_since() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    gains = [0.2 + 0.01 * (number % 3) for number in range(30)] + [
        -0.1 + 0.01 * (number % 3) for number in range(9)
    ]
    dated = [
        DatedGain(time=start + timedelta(hours=number), id=f"{number:04}", unats=round(gain * 1e6))
        for number, gain in enumerate(gains)
    ]
    calm, drifted = effect_state(effect("s").see(dated[:30])), effect_state(effect("s").see(dated))
    assert calm is not None
    assert drifted is not None
    assert calm.drift == ""
    assert (drifted.n, drifted.drift[:7]) == (9, "drifted")
    assert drifted.mean == pytest.approx(-0.09, abs=0.01)
    assert effect_state(effect("s").see(reversed(dated))) == drifted


def test_one_wild_gain_is_no_drift() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    gains = [0.1 + 0.01 * (number % 4) for number in range(20)]
    gains[15] = 2.0
    dated = [
        DatedGain(time=start + timedelta(hours=number), id=f"{number:04}", unats=round(gain * 1e6))
        for number, gain in enumerate(gains)
    ]
    found = effect_state(effect("s").see(dated))
    assert found is not None
    assert found.drift == ""


def test_a_prior_recovers_what_the_effects_were_drawn_from() -> None:
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


def test_half_of_what_is_published_is_believed() -> None:
    """As large as replications of published effects were on average (Open Science Collaboration, 2015)."""
    assert PUBLICATION_SHRINKAGE == 0.5
    found = effect_state(effect("s", 0.4, kind=Kind.PUBLISHED))
    assert found is not None
    assert found.mean == pytest.approx(0.2)


def test_a_thousand_contexts_of_a_strategy_say_what_their_pairs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    many = [
        effect(f"s{number % 5}", 0.02 * (number % 5) + rng.gauss(0, 0.08), hardware=f"chip-{number}")
        for number in range(1_000)
    ]
    few = Prior.of(many)
    monkeypatch.setattr("recommender.ranking.changes.prior.MOST_OF_STRATEGY", len(many))
    exact = Prior.of(many)
    assert few.mean == exact.mean
    assert few.between_contexts == pytest.approx(exact.between_contexts, rel=0.02)
    assert few.between_strategies == pytest.approx(exact.between_strategies, rel=0.02)
    assert few.between_contexts != exact.between_contexts
