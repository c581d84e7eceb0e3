"""The examples in the docstrings of searches and spaces run as written."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    ["search.engine.search", "search.evaluations", "space.parameters", "space.space"],
)
def test_examples_run_as_written(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"recommender.{module}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
