"""The network of causes: posteriors that are exact on trees, and what explains what away."""

import math
import random
import statistics
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.diagnosis.causes.network import CauseNetwork, Edge
from recommender.diagnosis.causes.posterior import infer

RATE = 0.1
NAMES = ("a", "b", "c", "d", "e")
strengths = st.sampled_from([0.0, 0.2, 0.5, 0.8])
ratios = st.sampled_from([0.2, 1.0, 4.0, 40.0])


def by_hand(edges: list[Edge], seen: dict[str, float]) -> dict[str, float]:
    """Every subset that may come on by itself, every outcome of every edge, one by one."""
    candidates = [name for name in NAMES if seen[name] > 1]
    on = dict.fromkeys(NAMES, 0.0)
    total = 0.0
    for size in range(len(candidates) + 1):
        for chosen in combinations(candidates, size):
            for fires in product([False, True], repeat=len(edges)):
                chance = (RATE / (1 - RATE)) ** size
                active = set(chosen)
                for edge, fired in zip(edges, fires, strict=True):
                    chance *= edge.strength if fired else 1 - edge.strength
                for _ in NAMES:
                    active |= {
                        e.effect for e, fired in zip(edges, fires, strict=True) if fired and e.cause in active
                    }
                likely = chance * math.prod(seen[name] for name in active)
                total += likely
                for name in active:
                    on[name] += likely
    return {name: value / total for name, value in on.items()}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(strengths, min_size=4, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.lists(ratios, min_size=5, max_size=5),
    st.booleans(),
)
def test_on_a_tree_they_are_those_of_the_sum_over_everything(
    weights: list[float], above: list[int], found: list[float], turned: bool
) -> None:
    pairs = [(NAMES[above[at] % (at + 1)], NAMES[at + 1]) for at in range(4)]
    edges = [Edge(*(pair[::-1] if turned else pair), w) for pair, w in zip(pairs, weights, strict=True) if w]
    seen = dict(zip(NAMES, found, strict=True))
    posterior = infer(CauseNetwork(edges, dict.fromkeys(NAMES, ""), {}), seen, rate=RATE)
    for name, chance in by_hand(edges, seen).items():
        assert posterior.on.get(name, 0.0) == pytest.approx(chance, abs=1e-6)


def test_with_loops_most_are_near_it() -> None:
    """Messages are no sum over everything where edges close loops: what is lost is bounded in drawn networks."""
    drawn = random.Random(47)
    errors = []
    for _ in range(20):
        pairs = [(a, b, drawn.choice([0.0, 0.2, 0.5, 0.8])) for a, b in combinations(NAMES, 2)]
        edges = [Edge(a, b, weight) for a, b, weight in pairs if weight]
        seen = {name: drawn.choice([0.2, 1.0, 4.0, 40.0]) for name in NAMES}
        posterior = infer(CauseNetwork(edges, dict.fromkeys(NAMES, ""), {}), seen, rate=RATE)
        exact = by_hand(edges, seen)
        errors.append(max(abs(posterior.on.get(name, 0.0) - exact[name]) for name in NAMES))
    assert statistics.median(errors) < 0.05
    assert max(errors) < 0.2


def test_a_cause_that_is_seen_explains_another_away() -> None:
    edges = [Edge("rain", "wet", 0.8), Edge("sprinkler", "wet", 0.8)]
    network = CauseNetwork(edges, {}, {})
    alone = infer(network, {"wet": 50.0, "rain": 2.0})
    both = infer(network, {"wet": 50.0, "rain": 2.0, "sprinkler": 100.0})
    assert both.on["rain"] < alone.on["rain"]


def test_evidence_for_a_cause_never_makes_it_less_likely() -> None:
    network = CauseNetwork([Edge("a", "b", 0.5), Edge("b", "c", 0.8)], {}, {})
    chances = [infer(network, {"a": ratio, "b": 5.0, "c": 5.0}).on["a"] for ratio in (1.5, 3.0, 30.0)]
    assert chances == sorted(chances)
