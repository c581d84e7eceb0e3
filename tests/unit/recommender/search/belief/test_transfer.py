"""Predictions from similar problems."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.search.belief import transfer
from recommender.search.belief.transfer import learn, project, unwarp, warp
from recommender.search.evaluations import SourceTable
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

costs = st.floats(-5, 5)


@given(st.lists(costs, min_size=2, max_size=20), costs)
def test_order_stays_and_nothing_moves_away(values: list[float], best: float) -> None:
    found = warp(np.array(values), best)
    assert (np.diff(found[np.argsort(values)]) >= 0).all()
    assert (np.abs(found - best) <= np.abs(np.array(values) - best) + 1e-12).all()


@given(costs, costs)
def test_it_can_be_undone(cost: float, best: float) -> None:
    again, stdev = unwarp(float(warp(np.array(cost), best)), 0.1, best)
    assert again == pytest.approx(cost, abs=1e-9)
    assert stdev >= 0.1


SPACE = SearchSpace(
    parameters=(
        Parameter(name="tile_x", kind=ParameterKind.ORDINAL, values=(16, 32, 64, 128)),
        Parameter(name="unroll", kind=ParameterKind.ORDINAL, values=tuple(range(9))),
        Parameter(name="mode", kind=ParameterKind.CATEGORICAL, values=("a", "b")),
    ),
    constraints=(Constraint(expression="tile_x > 16 or unroll < 8"),),
)


def table(rows: list[dict[str, object]], costs: list[float]) -> SourceTable:
    return SourceTable(
        name="other", similarity=0.5, configurations=[Settings(row) for row in rows], costs=np.array(costs)
    )


def test_foreign_configurations_find_their_place() -> None:
    rows: list[dict[str, object]] = [
        {"TILE-X": 32, "unroll": 4, "mode": "b"},
        {"tile_x": 48, "unroll": 4, "mode": "b", "extra": 1},
        {"tile_x": 32, "unroll": 4, "mode": "c"},
        {"tile_x": 16, "unroll": 8, "mode": "a"},
        {"unroll": 0},
    ]
    u, exact = project(SPACE, [Settings(row) for row in rows])
    assert exact.tolist() == [True, False, False, False, False]
    assert u[0].tolist() == pytest.approx([1 / 3, 0.5, 1.0])
    assert u[1, 0] == pytest.approx(0.5)
    assert math.isnan(u[2, 2])
    assert np.isnan(u[4]).tolist() == [True, False, True]


def test_a_source_answers_between_its_rows() -> None:
    every = list(SPACE.enumerate())
    costs = [math.exp(0.1 * (float(str(s["unroll"])) - 3) ** 2) for s in every]
    kept = np.random.default_rng(0).permutation(len(every))[:40]
    model = learn(SPACE, table([dict(every[i]) for i in kept], [costs[i] for i in kept]))
    assert model is not None
    predicted = model.predict(SPACE.features(SPACE.encode(every)))
    assert np.corrcoef(predicted, np.log(costs))[0, 1] > 0.95
    assert costs[kept[model.best()[0]]] == min(costs[i] for i in kept)


def test_what_the_source_lacked_does_not_matter() -> None:
    model = learn(SPACE, table([{"unroll": k} for k in range(9)], [1.0 + k for k in range(9)]))
    assert model is not None
    u = SPACE.encode([Settings({"tile_x": t, "unroll": 3, "mode": m}) for t in (32, 128) for m in "ab"])
    predicted = model.predict(SPACE.features(u))
    assert np.ptp(predicted) < 1e-6
    assert model.best() == []


def test_of_a_long_table_the_best_and_an_even_sample_of_the_rest_are_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer, "_MOST_ROWS", 40)
    space = SearchSpace(parameters=(Parameter(name="k", kind=ParameterKind.INTEGER, low=0, high=399),))
    costs = [1.0 + abs(k - 90) for k in range(400)]
    rows = [Settings({"k": k}) for k in range(400)]
    source = SourceTable(name="other", similarity=0.5, configurations=rows, costs=np.array(costs))
    model = learn(space, source)
    assert model is not None
    far = model.predict(space.features(space.encode([rows[90], rows[250], rows[399]])))
    assert far[0] < far[1] < far[2]
    assert model.best()[0] == 90


def test_a_source_with_nothing_to_say_is_left_out() -> None:
    assert learn(SPACE, table([{"other": 1}], [1.0])) is None
    assert learn(SPACE, table([{"unroll": 1}], [math.inf])) is None
    with pytest.raises(InputError, match="above zero"):
        learn(SPACE, table([{"unroll": 1}], [0.0]))
