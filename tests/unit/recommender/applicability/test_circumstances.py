"""Comparison of an effect's baseline and framework with the question's."""

import pytest

from kg.nouns.framework import Framework
from kg.nouns.values import Settings
from kg.terms.conditions import FactValue, Truth
from recommender.applicability.circumstances import baseline_truth, other_framework

PLUGIN = Framework(id="plugin", labels={"en": "Plugin"}, phases=("serving",), hardware=(), stack=("engine",))


@pytest.mark.parametrize(
    ("against", "truth"),
    [
        ({}, Truth.HOLDS),
        ({"context_parallel_algo": "ring"}, Truth.HOLDS),
        ({"--context-parallel-algo": "ring", "tensor_model_parallel_size": 8}, Truth.HOLDS),
        ({"context_parallel_algo": "ulysses"}, Truth.FAILS),
        ({"tensor_parallel_size": 4}, Truth.FAILS),
        ({"recompute": "full"}, Truth.UNKNOWN),
        ({"recompute": "full", "tp": 4}, Truth.FAILS),
        ({"tp": 8.0, "micro_batch": "4.0", "--flash": True}, Truth.HOLDS),
    ],
)
def test_a_gain_holds_over_what_runs(against: dict[str, object], truth: Truth) -> None:
    facts: dict[str, FactValue] = {
        "setting[context-parallel-algo]": "ring",
        "tp": 8,
        "setting[micro_batch]": 4,
        "setting[flash]": "true",
    }
    assert baseline_truth(Settings(against), facts) is truth


@pytest.mark.parametrize(
    ("seen", "other"),
    [
        ({}, ""),
        ({"software.plugin": "1.0"}, ""),
        ({"software.engine": "9"}, ""),
        ({"software.rival": "2", "software.engine": "9"}, ""),
        ({"software.rival": "2"}, "rival"),
    ],
)
def test_a_plugin_and_its_engine_are_one_framework(seen: dict[str, str], other: str) -> None:
    assert other_framework(Settings(seen), {"software[plugin]": "1.1"}, [PLUGIN]) == other
    assert other_framework(Settings(seen), {}, [PLUGIN]) == ""
