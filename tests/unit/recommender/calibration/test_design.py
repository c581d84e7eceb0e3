"""Columns that a response model sees."""

import math

import numpy as np
import pytest

from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from recommender.calibration.design import FACTS, DesignColumns, device_row, magnitude, split, task_traits
from tests.samples.problems import make_problem


def problem(precision: str | None = None, **shape: int) -> Problem:
    return make_problem("moe", "chip", kind="operator", precision=precision, shape=shape, count=8)


def test_a_ratio_of_sizes_is_a_difference_of_magnitudes() -> None:
    assert magnitude(4096) - magnitude(64) == pytest.approx(math.log2(4096 / 64))
    assert magnitude(1) == 0
    assert magnitude(0) == -1
    assert magnitude(-8) < magnitude(-1) < magnitude(0)


def test_numbers_written_as_text_are_numbers_and_words_are_words() -> None:
    traits = split(Settings({"a": "16", "b": "triton", "c": True, "d": None, "e": [2, 4]}))
    assert traits.numbers == {"a": 4.0, "c": 1.0, "e[0]": 1.0, "e[1]": 2.0}
    assert traits.words == {"b=triton", "d=none"}


@pytest.mark.parametrize(
    ("precision", "weights", "activations"),
    [("bfloat16", 16, 16), ("w4a16_mxfp4", 4, 16), ("int4_wo", 4, 16), ("fp8_block", 8, 8)],
)
def test_precision_says_the_bits_of_weights_and_activations(
    precision: str, weights: int, activations: int
) -> None:
    numbers = task_traits(problem(precision)).numbers
    assert numbers["weight bits"] == math.log2(weights)
    assert numbers["activation bits"] == math.log2(activations)


def test_what_never_differs_is_no_column_and_what_divides_has_its_ratio() -> None:
    design = DesignColumns.of(
        [problem(inter=1024, experts=8), problem(inter=4096, experts=8)],
        [Settings({"tp": 1, "framework": "x"}), Settings({"tp": 4, "framework": "x"})],
    )
    assert design.dimensions == ("inter",)
    assert design.parameters == ("tp",)
    assert design.parameter_words == ()
    joined = design.joined(
        design.tasks([problem(inter=4096)]),
        np.zeros((1, len(FACTS) + 1)),
        design.configurations([Settings({"tp": 4})]),
    )
    assert magnitude(4096 / 4) in joined[0].tolist()
    assert DesignColumns.from_json(design.to_json()) == design


def test_configurations_that_are_all_alike_leave_nothing_to_learn() -> None:
    assert DesignColumns.of([problem()], [Settings({"a": 1}), Settings({"a": 1})]).empty


def test_an_unknown_fact_is_unknown_and_not_zero() -> None:
    facts = {"chip": {"peak_fp16_flops": 2e14, "memory_bandwidth_bytes_per_s": 1e12}}
    row = device_row(facts.__getitem__, "chip")
    assert math.isnan(row[FACTS.index("compute_units")])
    assert row[-1] == pytest.approx(math.log2(200))
    assert np.isnan(device_row(facts.__getitem__, "other")).all()
