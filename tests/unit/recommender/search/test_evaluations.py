"""Evaluations say how well their mean is known."""

import math
from typing import Any

import numpy as np
import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation, SourceTable, cost_of, half_width, value_of


def test_an_evaluation_of_one_run_has_no_interval() -> None:
    once = Evaluation(configuration=Settings(), values=(2.0,), stdev=(0.1,))
    often = Evaluation(configuration=Settings(), values=(2.0,), stdev=(0.1,), repeats=3)
    assert once.half_width is None
    assert often.half_width == half_width(0.1, 3)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"values": (math.inf,)}, "a finite number"),
        ({"values": (1.0,), "parts": (math.nan,)}, "a finite number"),
        ({"values": ()}, "has a value of the first objective"),
        ({"values": (None, 1.0)}, "has a value of the first objective"),
        ({"values": (1.0,), "status": Status.FAILED}, "has no values"),
        ({"values": (1.0,), "repeats": 0}, "0 repeats"),
    ],
)
def test_no_evaluation_says_what_cannot_be(told: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Evaluation(configuration=Settings(), **told)


@pytest.mark.parametrize(("rows", "similarity"), [(1, 0.5), (2, 1.1), (2, -0.1)])
def test_a_source_has_a_cost_a_row_and_a_similarity_that_is_a_share(rows: int, similarity: float) -> None:
    SourceTable(name="a", similarity=1.0, configurations=[Settings()] * 2, costs=np.ones(2))
    with pytest.raises(InputError, match="source a"):
        SourceTable(name="a", similarity=similarity, configurations=[Settings()] * rows, costs=np.ones(2))


@pytest.mark.parametrize("better", Better)
def test_a_cost_is_lower_where_a_value_is_better(better: Better) -> None:
    objective = Objective(metric="throughput", better=better)
    assert (cost_of(2.0, objective) < cost_of(3.0, objective)) == (better is Better.LOWER)
    assert value_of(cost_of(2.0, objective), objective) == pytest.approx(2.0)
    with pytest.raises(InputError, match="not above zero"):
        cost_of(0.0, objective)
