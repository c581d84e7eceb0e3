"""The examples in docstrings run, and give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("kg", "embeddings", "recommender", "ingest", "cli", "tunegraph")
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed


def test_the_most_used_classes_have_an_example() -> None:
    from kg.nouns.effects import Effect
    from kg.nouns.entities import Case, Measurement, Problem
    from kg.nouns.gain import Gain
    from kg.nouns.values import Settings
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names

    classes = (
        Settings, Problem, Measurement, Case, Gain, Effect, GraphStore, TrialStore, HardwareTree, Names
    )  # fmt: skip
    assert [item.__name__ for item in classes if "Example:" not in (item.__doc__ or "")] == []
