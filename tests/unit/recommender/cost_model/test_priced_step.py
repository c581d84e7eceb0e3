"""The one record of a price."""

import math

import pytest

from kg.nouns.layout import ParallelLayout
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.priced_step import PricedStep, price, priced_steps
from recommender.cost_model.question import Question
from tests.unit.recommender.cost_model.machines import machine_of, model


def question(device: str = "ascend-910b1", **settings: object) -> Question:
    lengths = {"input_len": 1024, "output_len": 128, "batch": 4}
    machine = machine_of(device, 8, "atlas-800t-a2")
    return Question(
        model=model("qwen3-8b"), machine=machine, phase="serving", settings={**lengths, **settings}
    )


def test_every_change_has_its_layout_its_settings_and_the_numbers_of_the_estimate() -> None:
    asked, changes = question(data_parallel=2), [{"tp": 4}, {"tensor_parallel": 2, "data_parallel": 4}]
    found, steps = price(asked, changes), estimate_question(asked, changes)
    assert [one.layout for one in found] == [ParallelLayout(tp=4, dp=2), ParallelLayout(tp=2, dp=4)]
    for at, one in enumerate(found):
        assert one.settings == asked.configuration(changes[at])
        assert one.throughput == float(steps.throughput[at])
        assert one.results["step_time_s"] == float(steps.time_s[at])
        assert sum(one.split_s.values()) == pytest.approx(one.results["step_time_s"])
        assert sum(one.memory_parts.values()) == pytest.approx(one.memory_bytes)
        assert (one.fits, one.within_limits, one.log_merit) == (True, True, None)


def test_energy_of_a_token_is_power_over_what_is_made_and_unknown_without_power() -> None:
    [known], [unknown] = price(question()), price(question("ascend-910b3"))
    assert known.power_w is not None
    assert known.energy_per_unit_j == pytest.approx(known.power_w * 8 / known.throughput)
    assert (unknown.power_w, unknown.energy_per_unit_j, unknown.to_json()["energy_j"]) == (None, None, None)


def test_its_json_has_every_result_once_and_null_for_one_without_bound() -> None:
    [one] = priced_steps(estimate_question(question()), [{"batch": 4}])
    told = one.to_json()
    assert told["settings"] == {"batch": 4}
    assert told["time_s"] == one.results["step_time_s"]
    interval = told["time_interval_90_s"]
    assert isinstance(interval, list)
    assert interval[0] * interval[1] == pytest.approx(one.results["step_time_s"] ** 2)
    assert "step_time_s" not in told
    assert told["tpot_s"] == one.result("tpot_s")
    endless = PricedStep(layout=one.layout, results={**one.results, "ttft_s": math.inf})
    assert endless.to_json()["ttft_s"] is None
    assert endless.result("e2e_s") is None


def test_a_training_that_fills_the_device_fits_as_likely_as_not() -> None:
    sizes = (None, 1.0, 1.13, 2.0)
    held = {"layout": ParallelLayout(), "memory_bytes": 1.0}
    told = [PricedStep(**held, capacity_bytes=size).chance_to_fit for size in sizes]  # type: ignore[arg-type]
    assert told == pytest.approx([1.0, 0.5, 0.846, 1.0], abs=1e-3)
