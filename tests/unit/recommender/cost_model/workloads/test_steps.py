import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.device import Device
from recommender.cost_model.workloads.steps import PARTS, power_w
from tests.unit.recommender.cost_model.machines import machine_of, model, serve, train


def test_a_step_on_a_gpu_has_the_interval_of_its_vendor_and_engine() -> None:
    def spread(engine: str, device: str = "h100-sxm", phase: str = "serving") -> float:
        setting: dict[str, object] = {"seq_len": 2048} if phase == "training" else {}
        return estimate(
            model=model("qwen3-8b"), machine=machine_of(device, 1), phase=phase, settings=[setting], engine=engine
        ).spread  # fmt: skip

    assert spread("vllm") < spread("vllm", "instinct-mi300x") < spread("") == spread("", phase="training")
    assert 3 < np.exp(1.645 * spread("llama.cpp")) < 4  # old builds on old drivers were that slow


def test_the_split_adds_up() -> None:
    for steps in (
        train({"tp": 8}, {"tp": 2, "pp": 2}, {"zero": 3, "recompute": "full"}),
        serve({"tp": 16}, {"tp": 8, "dp": 2}),
    ):
        assert set(steps.split_s) == set(PARTS)
        assert sum(steps.split_s.values()) == pytest.approx(steps.time_s)
        assert all(np.all(part >= 0) for part in steps.split_s.values())


def test_energy_is_an_estimate_between_idle_and_full_or_unknown() -> None:
    steps = train({"tp": 2})
    assert steps.power_w is not None
    assert 91 <= steps.power_w[0] <= 365
    assert serve({"tp": 16}).power_w is None  # the idle power of a die of the 910C is not known


def test_power_lies_on_the_line_through_idle_busy_and_full() -> None:
    """96 W idle, 215 W busy and 365 W saturated are measured on the 910B3; saturated is 87 % of the peak."""
    device = Device(id="toy", facts={"idle_power_w": 96.0, "busy_power_w": 215.0, "tdp_w": 365.0})
    active, reached = np.array([0.0, 1.0, 1.0, 1.0, 0.5, 2.0]), np.array([0.0, 0.0, 0.87, 0.435, 0.0, 1.0])
    found = power_w(device, active=active, cube_use=reached)
    assert found is not None
    assert found.tolist() == pytest.approx([96, 215, 365, 290, 155.5, 365])


def test_a_busy_power_that_nobody_measured_is_reckoned_from_idle_and_full() -> None:
    device = Device(id="toy", facts={"idle_power_w": 100.0, "tdp_w": 300.0})
    found = power_w(device, active=np.ones(1), cube_use=np.zeros(1))
    assert found is not None
    assert found[0] == pytest.approx(190)
    assert power_w(Device(id="toy", facts={"tdp_w": 300.0}), active=np.ones(1), cube_use=np.ones(1)) is None
