"""Effects for people: each with the gain to expect in its own context, in order."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind, Trust
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import to_triples
from recommender.store.lineage import EffectRow, effect_rows

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def effect(strategy: str, family: str, *gains: float, kind: Kind = Kind.MEASURED) -> Effect:
    context = Context(hardware="chip", family=family)
    return Effect(context=context, strategy=strategy, metric="throughput", kind=kind).add(gains, now=NOW)


def rows(*effects: Effect, strategy: str = "") -> list[EffectRow]:
    store: GraphStore = GraphStore()
    store.extend([triple for item in effects for triple in to_triples(item)])
    return effect_rows(store, HardwareTree(store), strategy=strategy)


def test_effects_come_by_strategy_and_context_each_with_its_gain() -> None:
    found = rows(
        effect("b", "llama", 0.1, 0.2), effect("a", "qwen", 0.3), effect("a", "llama", -0.1, 0.1, 0.3)
    )
    assert [(row.effect.strategy, row.effect.context.family) for row in found] == [
        ("a", "llama"),
        ("a", "qwen"),
        ("b", "llama"),
    ]
    for row in found:
        assert row.gain is not None
        assert row.gain.low < row.gain.expected < row.gain.high
        assert row.gain_text.startswith(f"{math.exp(row.gain.expected):.2f}")
    assert [
        row.effect.strategy for row in rows(effect("b", "x", 0.1), effect("a", "x", 0.1), strategy="b")
    ] == ["b"]


def test_kin_of_the_same_strategy_and_metric_move_a_gain_and_others_do_not() -> None:
    alone = rows(effect("a", "llama", 0.1, 0.1))[0].gain
    kin = rows(effect("a", "llama", 0.1, 0.1), effect("a", "qwen", *[0.6] * 9), strategy="a")[0].gain
    assert alone is not None
    assert kin is not None
    assert kin.expected > alone.expected
    distrusted = rows(
        effect("a", "llama", 0.1, 0.1),
        replace(effect("a", "qwen", *[0.6] * 9), trust=Trust.LOW),
    )[0].gain
    assert distrusted is not None
    assert distrusted.expected < kin.expected


def test_what_nobody_measured_has_no_gain_and_says_so() -> None:
    [row] = rows(effect("a", "llama"))
    assert row.gain is None
    content = row.to_json()
    assert (content["mean_factor"], content["posterior"], content["last_evidence"]) == (None, None, None)


def test_a_row_is_json() -> None:
    [row] = rows(effect("a", "llama", math.log(1.5), math.log(1.5)))
    content = row.to_json()
    assert content["mean_factor"] == pytest.approx(1.5, abs=1e-4)
    assert content["last_evidence"] == "2026-05-04T03:02:01+00:00"
    assert (content["n"], content["strategy"], content["model_family"]) == (2, "a", "llama")
    assert content["bottleneck"] is None
    assert content["drift"] is None
    assert isinstance(content["posterior"], dict)
