"""Exploring where it pays, what a test is worth, values between, and fitted shares: laws and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import WorkspaceError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind
from kg.nouns.gain import NORMAL_90, Gain
from kg.nouns.knowledge import HardwareProfile, Level
from kg.triples.hardware_tree import HardwareTree
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples
from recommender.evolution.components import fit_components, load
from recommender.evolution.exploring import draw, exploration_values, without_noise
from recommender.evolution.hypotheses import value_of_information
from recommender.evolution.proposing import value_between
from recommender.ranking.changes.posterior import EQUAL

if TYPE_CHECKING:
    from pathlib import Path

means = st.floats(-1, 1)
widths = st.floats(0.01, 1)


def gain(mean: float, deviation: float) -> Gain:
    reach = NORMAL_90 * deviation
    return Gain(expected=mean, low=mean - reach, high=mean + reach)


@given(means, widths, widths, means)
def test_a_test_is_worth_more_the_less_is_known_and_never_less_than_nothing(
    mean: float, narrow: float, wide: float, best: float
) -> None:
    less, more = sorted((narrow, wide))
    values = [value_of_information(gain(mean, deviation), best) for deviation in (less, more)]
    assert 0 <= values[0] <= values[1] + 1e-12
    assert values[1] <= more  # at most what the better half of the bell holds


def test_what_a_test_is_worth_is_what_drawing_says() -> None:
    draws = np.random.default_rng(0).normal(0.1, 0.2, 400_000)
    assert value_of_information(gain(0.1, 0.2), 0.15) == pytest.approx(
        float(np.maximum(draws, 0.15).mean()) - 0.15, abs=0.001
    )
    assert value_of_information(gain(0.1, 0.0), 0.15) == 0


def test_noise_is_no_reason_to_explore() -> None:
    known = gain(0.1, 0.05)
    assert without_noise(known, 0.05).low == pytest.approx(0.1, abs=1e-6)
    assert draw(known, 0.05, np.random.default_rng(0)) == pytest.approx(0.1, abs=1e-6)
    assert without_noise(known, 0.0).low == pytest.approx(known.low)


@given(means, widths, means, widths, st.integers(0, 2**31))
def test_exploring_keeps_to_expectation_where_it_does_not_pay(
    one: float, first: float, other: float, second: float, seed: int
) -> None:
    gains = {"one": gain(one, first), "other": gain(other, second)}
    values = exploration_values(gains, 0.0, 3, np.random.default_rng(seed))
    chosen = max(values, key=lambda name: values[name])
    best = max(item.expected for item in gains.values())
    price = best - gains[chosen].expected
    assert price <= 3 * value_of_information(gains[chosen], best) + 1e-12


def test_what_may_be_best_is_tried_and_what_cannot_be_is_not() -> None:
    rng = np.random.default_rng(1)
    gains = {"known": gain(0.10, 0.001), "open": gain(0.09, 0.10), "hopeless": gain(-0.5, 0.05)}
    firsts = []
    for _ in range(300):
        values = exploration_values(gains, 0.0, 5, rng)
        firsts.append(max(values, key=lambda name: values[name]))
    assert 60 < firsts.count("open") < 240
    assert firsts.count("hopeless") == 0


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (8.0, 64.0, 16), (16.0, 64.0, 32), (16.0, 32.0, None), (1.0, 3.0, 2), (2.0, 3.0, None),
        (3.0, 48.0, 12), (0.0, 10.0, 5), (0.25, 1.0, 0.5), (5.0, 5.0, None), (-1.0, 1.0, 0),
    ],
)  # fmt: skip
def test_a_value_between_two(low: float, high: float, middle: float | None) -> None:
    assert value_between(low, high) == middle


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_what_lies_between_lies_between(one: int, other: int) -> None:
    low, high = sorted((one, other))
    middle = value_between(float(low), float(high))
    assert middle is None or low < middle < high


@pytest.fixture(scope="module")
def tree() -> HardwareTree:
    graph = OxigraphStore(None)
    for vendor in ("one", "two"):
        nouns = [HardwareProfile(id=vendor, labels={"en": vendor}, level=Level.VENDOR)]
        nouns += [
            HardwareProfile(id=f"{vendor}-{number}", labels={"en": "x"}, level=Level.DEVICE, broader=vendor)
            for number in range(4)
        ]
        for noun in nouns:
            graph.extend(to_triples(noun))
    return HardwareTree(graph)


@pytest.mark.parametrize("by", ["hardware", "family", "own"])
def test_shares_follow_what_gains_differ_by(tree: HardwareTree, by: str) -> None:
    rng = np.random.default_rng(4)
    effects = []
    for number in range(40):
        deviations: dict[object, float] = {}
        for device in ("one-0", "one-1", "two-0", "two-1"):
            for family in ("bert", "llama", "resnet"):
                key = {"hardware": device, "family": family, "own": (device, family)}[by]
                deviation = deviations.setdefault(key, float(rng.normal(0, 0.3)))
                context = Context(hardware=device, family=family)
                effect = Effect(context=context, strategy=f"s{number}", metric="m", kind=Kind.MEASURED)
                effects.append(effect.add([deviation + float(rng.normal(0, 0.01)) for _ in range(4)]))
    shares = fit_components(effects, tree)
    assert max(("hardware", "family", "own"), key=lambda name: getattr(shares, name)) == by
    assert getattr(shares, by) > 0.6


def test_without_evidence_shares_stay_equal(tree: HardwareTree, tmp_path: Path) -> None:
    lone = Effect(context=Context(hardware="one-0"), strategy="s", metric="m", kind=Kind.MEASURED).add([0.1])
    assert fit_components([], tree) == fit_components([lone], tree) == EQUAL
    assert load(tmp_path / "components.json") == EQUAL
    for text in ("{", "[]", '{"hardware": 1, "family": 1, "own": 1}', '{"hardware": "x"}'):
        (tmp_path / "components.json").write_text(text)
        with pytest.raises(WorkspaceError, match="damaged"):
            load(tmp_path / "components.json")
