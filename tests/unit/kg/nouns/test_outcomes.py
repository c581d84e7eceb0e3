"""Outcomes: what no test finds is refused, and what one finds survives the graph."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.entities import Source
from kg.nouns.outcomes import VERDICTS, Outcome
from kg.nouns.values import Settings
from kg.triples.serialisation import from_graph
from tests.samples.graphs import store_of

GAINS = st.none() | st.floats(-5, 5)


def outcome(**changed: Any) -> Outcome:
    told: dict[str, Any] = {
        "id": "abc",
        "problem": "def",
        "metric": "latency",
        "configuration": Settings({"batch": 64}),
        "verdict": "better",
        "scheme": "randomised",
        "pairs": 12,
        "alpha": 0.01,
        "margin": 0.01,
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "source": Source(title="A/B batch"),
    }
    return Outcome(**{**told, **changed})


@given(
    gain=GAINS,
    low=GAINS,
    high=GAINS,
    pairs=st.integers(0, 10_000),
    verdict=st.sampled_from(VERDICTS),
    failures=st.integers(0, 100),
    strategy=st.sampled_from(["", "overlap"]),
)
def test_an_outcome_survives_the_graph(**told: Any) -> None:
    written = outcome(**told)
    store = store_of(written)
    assert from_graph(store, Outcome, "abc") == written


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": "splendid"},
        {"pairs": -1},
        {"failures": -1},
        {"gain": math.nan},
        {"low": -math.inf},
        {"time": datetime(2026, 1, 1)},
    ],
)
def test_what_no_test_finds_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not an outcome|not finite|time zone"):
        outcome(**changed)
