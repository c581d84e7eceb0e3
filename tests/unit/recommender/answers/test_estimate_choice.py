"""Two estimates beside each other, and those of a sweep that no other beats."""

import pytest

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from recommender.answers.estimate_choice import differences, measure, pareto_front
from recommender.cost_model.priced_step import PricedStep


def record(throughput: float, tpot_s: float, *, fits: bool | None = True) -> PricedStep:
    return PricedStep(
        layout=ParallelLayout(),
        results={"throughput": throughput, "tpot_s": tpot_s, "step_time_s": tpot_s},
        memory_bytes=2.0,
        capacity_bytes={True: 3.0, False: 1.0, None: None}[fits],
        split_s={"compute": tpot_s, "host": 0.0},
    )


FIELDS = ("throughput", "tpot_s")


def test_what_does_not_fit_beats_nothing() -> None:
    assert pareto_front([record(99, 0.001, fits=False), record(10, 0.01)], FIELDS) == [1]
    assert pareto_front([record(99, 0.001, fits=False)], FIELDS) == []


def test_configurations_that_are_alike_all_stay() -> None:
    assert pareto_front([record(10, 0.01), record(10, 0.01)], FIELDS) == [0, 1]


def test_names_of_people_are_fields() -> None:
    assert measure("tpot", [record(1, 1)]) == "tpot_s"
    with pytest.raises(InputError, match="'ttft' is not estimated here"):
        measure("ttft", [record(1, 1)])


def test_differences_are_ratios_of_the_second_over_the_first() -> None:
    rows = {row["field"]: row for row in differences([record(10, 0.02), record(30, 0.01)])}
    assert rows["throughput"]["ratio"] == 3
    assert rows["tpot_s"]["values"] == [0.02, 0.01]
    assert rows["split_s.compute"]["ratio"] == 0.5
    assert "split_s.host" not in rows
