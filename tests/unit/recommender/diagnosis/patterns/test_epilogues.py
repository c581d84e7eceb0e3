"""Round trips between cube and vector cores: which operators an epilogue could hold."""

from typing import Any

import pytest

from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import epilogues
from tests.samples.kernel_sequences import PRODUCT, kernel_view, run


def test_a_bias_after_each_product_is_a_round_trip_of_all_but_its_other_input(thresholds: Any) -> None:
    bias = ("Add", "AI_VECTOR_CORE", 30.0, "4096,4096;4096", "4096,4096")
    view = kernel_view(run([PRODUCT, bias] * 40).ranks[0])
    [found] = list(epilogues.find(view, thresholds))
    assert found.lost_us == pytest.approx(40 * 30.0, rel=0.01)
    assert found.places[0].rows[0] % 2 == 1  # the operators, not the products
    residual = ("Add", "AI_VECTOR_CORE", 30.0, "4096,4096;4096,4096", "4096,4096")
    [half] = list(epilogues.find(kernel_view(run([PRODUCT, residual] * 40).ranks[0]), thresholds))
    assert half.lost_us == pytest.approx(40 * 30.0 * 2 / 3, rel=0.01)


@pytest.mark.parametrize(
    "second",
    [
        ("Add", "AI_VECTOR_CORE", 30.0, "128,4096;4096", "128,4096"),  # reads something else
        ("Cast", "AI_VECTOR_CORE", 30.0, "4096,4096", "4096,4096"),  # told as a cast
        ("RmsNorm", "AI_VECTOR_CORE", 30.0, "4096,4096;4096", "4096,4096"),  # needs whole rows
    ],
)
def test_what_no_epilogue_holds_is_no_round_trip(second: Any, thresholds: Any) -> None:
    [found] = list(epilogues.find(kernel_view(run([PRODUCT, second] * 40).ranks[0]), thresholds))
    assert found.lost_us == 0


def test_without_shapes_of_results_nothing_is_said(thresholds: Any) -> None:
    bare = [(kind, core, spent, "", "") for kind, core, spent, _, _ in [PRODUCT] * 10]
    assert list(epilogues.find(kernel_view(run(bare).ranks[0]), thresholds)) == []


def test_a_round_trip_is_named(network: Any, thresholds: Any) -> None:
    gelu = ("Gelu", "AI_VECTOR_CORE", 40.0, "4096,4096", "4096,4096")
    found = diagnose(run([PRODUCT, gelu] * 40), network, thresholds).findings
    assert [item.cause.node for item in found] == ["cube-vector-round-trip"]
