import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.workloads.steps import PARTS
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
