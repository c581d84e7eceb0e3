"""Indices as they are defined, and the sources' own figures recomputed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.errors import InputError
from recommender.green.indices import (
    WeighedChoice,
    carbon_efficiency,
    effects_apart,
    green_tuning_index,
    weigh,
)

amounts = st.floats(1e-3, 1e6)


def test_images_per_gram() -> None:
    """An image in .98 s at 210 W and 210 g/kWh: 83 images a gram."""
    assert carbon_efficiency(0.98 * 210, 210) == pytest.approx(83.3, abs=0.1)
    assert carbon_efficiency(0.98 * 210, 210, pue=2) == pytest.approx(41.65, abs=0.1)


@pytest.mark.parametrize("bad", [(0, 1, 1), (1, 0, 1), (1, 1, 0.9), (-1, 1, 1), (math.nan, 1, 1)])
def test_no_efficiency_of_nothing(bad: tuple[float, float, float]) -> None:
    with pytest.raises(InputError):
        carbon_efficiency(*bad)


def test_the_index_prints_its_factors() -> None:
    found = green_tuning_index((1.0, 2.52), (1.0, 1.985), 47 * 60, 22 * 8 * 3600)
    assert [found.speed, found.efficiency] == pytest.approx([1.52, 0.985])
    assert found.tuning == pytest.approx(0.99555, abs=1e-4)
    assert found.value == pytest.approx(1.49, abs=0.005)


def test_two_losses_are_no_gain() -> None:
    found = green_tuning_index((2.0, 1.0), (2.0, 1.0), 1, 100)
    assert found.value is None
    assert "throughput and efficiency got worse" in found.undefined
    assert green_tuning_index((1, 2), (1, 2), 1, None).value is None


@given(e0=amounts, e1=amounts, i0=amounts, i1=amounts)
def test_effects_add_in_logs(e0: float, e1: float, i0: float, i1: float) -> None:
    found = effects_apart((e0, e1), (i0, i1))
    assert found.log_carbon == pytest.approx(
        math.log(e1) + math.log(i1) - math.log(e0) - math.log(i0), abs=1e-12 * 100
    )
    assert found.log_carbon - found.log_energy - found.log_intensity == pytest.approx(0, abs=1e-12)


def test_effects_are_read_as_shares() -> None:
    assert str(effects_apart((100, 79), (100, 91))) == "energy -21.0%, intensity -9.0%, together -28.1%"


def test_weights_are_relative_to_the_first() -> None:
    slow = WeighedChoice(name="slow", throughput=1, carbon_g=1)
    fast = WeighedChoice(name="fast", throughput=2, carbon_g=4)
    assert weigh([slow, fast], alpha=1, beta=0)[0][1] is fast
    assert weigh([slow, fast], alpha=0, beta=1)[0] == (1.0, slow)
    thousandfold = [
        WeighedChoice(name=c.name, throughput=1000 * c.throughput, carbon_g=c.carbon_g) for c in (slow, fast)
    ]
    assert [s for s, _ in weigh(thousandfold, alpha=1, beta=1)] == pytest.approx(
        [s for s, _ in weigh([slow, fast], alpha=1, beta=1)]
    )
    with pytest.raises(InputError):
        weigh([slow], alpha=0, beta=0)
