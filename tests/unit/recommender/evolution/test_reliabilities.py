"""Sources that are distrusted: who lies is found, also among many, and who does not is left alone."""

import random

from kg.nouns.effects import Context
from kg.nouns.entities import Trust
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from recommender.evolution import reliabilities
from recommender.evolution.reliabilities import LEAST, SourcedGain, distrusted_sources

TREE = HardwareTree(GraphStore())


def told(source: str, off: float, count: int, *, contexts: int, seed: int = 1) -> list[SourcedGain]:
    """Gains of 0.1 and what the source adds, over so many batches of two strategies."""
    rng = random.Random(f"{source} {seed}")
    return [
        SourcedGain(
            source=source,
            strategy=f"s{n % 2}",
            metric="gain",
            context=Context(hardware="chip", facts=Settings({"batch": 1 + n % contexts})),
            gain=0.1 + off + rng.gauss(0, 0.02),
        )
        for n in range(count)
    ]


def test_a_liar_is_found_and_the_honest_are_left_alone() -> None:
    gains = [one for n in range(4) for one in told(f"honest {n}", 0.0, 12, contexts=6)]
    assert distrusted_sources(gains, TREE, {}) == []
    lies = told("liar", -0.9, 12, contexts=6)
    (found,) = distrusted_sources([*gains, *lies], TREE, {})
    assert (found.source, found.gains) == ("liar", 12)
    assert found.z2 > reliabilities.TOO_FAR
    assert distrusted_sources([*gains, *lies], TREE, {"liar": Trust.LOW}) == []


def test_who_told_little_is_not_judged() -> None:
    gains = [one for n in range(4) for one in told(f"honest {n}", 0.0, 12, contexts=6)]
    assert distrusted_sources([*gains, *told("liar", -0.9, LEAST - 1, contexts=6)], TREE, {}) == []


def test_liars_are_found_in_more_contexts_than_are_looked_at() -> None:
    assert reliabilities.MOST_CONTEXTS < 600
    gains = [one for n in range(6) for one in told(f"honest {n}", 0.0, 600, contexts=600)]
    lies = [one for n in range(2) for one in told(f"liar {n}", -0.9, 300, contexts=600)]
    found = distrusted_sources([*gains, *lies], TREE, {})
    assert sorted(item.source for item in found) == ["liar 0", "liar 1"]


def test_the_order_of_gains_tells_nothing() -> None:
    gains = [one for n in range(4) for one in told(f"source {n}", 0.3 * (n == 3), 400, contexts=400)]
    turned = random.Random(5).sample(gains, len(gains))
    one, other = distrusted_sources(gains, TREE, {}), distrusted_sources(turned, TREE, {})
    assert [item.source for item in one] == ["source 3"]
    assert [(item.source, round(item.z2, 6)) for item in other] == [
        (item.source, round(item.z2, 6)) for item in one
    ]
