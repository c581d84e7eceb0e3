"""Parameters and their coordinates."""

import numpy as np
import pytest

from kg.errors import InputError
from recommender.space.parameters import Parameter, ParameterKind


def test_levels_are_equally_far_apart() -> None:
    tile = Parameter(name="tile", kind=ParameterKind.ORDINAL, values=(16, 32, 64, 128, 256))
    assert [tile.coordinate(value) for value in tile.values] == [0, 0.25, 0.5, 0.75, 1]
    assert tile.value(0.6) == 64


def test_a_logarithmic_range_goes_there_and_back() -> None:
    rate = Parameter(name="rate", kind=ParameterKind.FLOAT, low=1e-4, high=1.0, log=True)
    assert rate.value(0.5) == pytest.approx(1e-2)
    assert rate.coordinate(rate.value(0.3)) == pytest.approx(0.3)


def test_a_short_integer_range_has_levels_and_a_long_one_has_none() -> None:
    assert Parameter(name="n", kind=ParameterKind.INTEGER, low=2, high=10, step=4).values == (2, 6, 10)
    wide = Parameter(name="n", kind=ParameterKind.INTEGER, low=0, high=10**6)
    assert not wide.finite
    assert wide.value(0.1234567) == 123457


def test_true_is_not_one() -> None:
    both = Parameter(name="x", kind=ParameterKind.CATEGORICAL, values=(True, 1))
    assert [both.coordinate(True), both.coordinate(1)] == [0, 1]


def test_a_column_has_the_type_of_its_values() -> None:
    u = np.array([0.0, 1.0])
    assert Parameter(name="x", kind=ParameterKind.ORDINAL, values=(1, 2)).column(u).dtype == np.int64
    assert Parameter(name="x", kind=ParameterKind.CATEGORICAL, values=("a", "b")).column(u).tolist() == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "told",
    [
        {"kind": ParameterKind.ORDINAL},
        {"kind": ParameterKind.ORDINAL, "values": (1, 1)},
        {"kind": ParameterKind.FLOAT, "low": 2.0, "high": 1.0},
        {"kind": ParameterKind.FLOAT, "low": 0.0, "high": 1.0, "log": True},
        {"kind": ParameterKind.INTEGER, "low": 0.5, "high": 2},
        {"kind": ParameterKind.CATEGORICAL, "low": 0, "high": 2},
        {"kind": ParameterKind.FLOAT, "low": 0.0, "high": 1.0, "step": -1.0},
    ],
)
def test_what_is_no_parameter_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(InputError, match="x"):
        Parameter(name="x", **told)  # type: ignore[arg-type]


def test_a_foreign_value_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        Parameter(name="x", kind=ParameterKind.ORDINAL, values=(1, 2)).coordinate(3)
    assert "1, 2" in caught.value.hint
