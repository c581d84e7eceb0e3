"""Low-rank adapters beside frozen weights."""

from collections.abc import Mapping

import numpy as np
import pytest

from kg.errors import InputError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.workloads.adapters import adapter_parameters
from recommender.cost_model.workloads.steps import Steps
from tests.unit.recommender.cost_model.machines import A2, machine_of, model


def train(*settings: Mapping[str, object], name: str = "llama-2-7b") -> Steps:
    base = {"seq_len": 4096, "gbs": 32, "zero": 1, "recompute": "full"}
    rows = [{**base, **one} for one in settings]
    return estimate(model=model(name), machine=machine_of(*A2), phase="training", settings=rows)


def test_adapters_have_the_rank_times_inputs_and_outputs_of_each_product() -> None:
    llama = model("llama-2-7b")
    ends = (4096 + 3 * 4096) + (4096 + 4096) + (4096 + 2 * 11008) + (11008 + 4096)
    assert adapter_parameters(llama, np.array([16.0]))[0] == 16 * 32 * ends


def test_routed_experts_have_no_adapters() -> None:
    mixture = model("deepseek-v3")
    trained = adapter_parameters(mixture, np.array([8.0]))[0]
    assert 0 < trained < 1e-3 * mixture.parameters


def test_adapters_need_a_fraction_of_gradients_and_states_and_all_of_the_weights() -> None:
    full, adapted = ({n: v[i] for n, v in train({}, {"lora_rank": 16}).memory_bytes.items()} for i in (0, 1))
    assert adapted["weights"] == full["weights"]
    assert adapted["gradients"] < 0.01 * full["gradients"]
    assert adapted["optimizer"] < 0.01 * full["optimizer"]
    assert adapted["activations"] == full["activations"]


def test_adapters_cost_passes_through_memory_whatever_their_rank() -> None:
    steps = train({}, {"lora_rank": 8}, {"lora_rank": 64})
    plain, small, large = (steps.split_s["memory"][place] for place in range(3))
    assert small > plain
    assert large == pytest.approx(small, rel=0.05)


def test_hardly_anything_is_exchanged_between_replicas() -> None:
    steps = train({"overlap_gradients": 0}, {"overlap_gradients": 0, "lora_rank": 16})
    exposed = steps.split_s["communication_exposed"]
    assert exposed[1] < 0.05 * exposed[0]


def test_a_network_without_blocks_has_no_adapters() -> None:
    with pytest.raises(InputError, match="lora_rank"):
        estimate(
            model=model("resnet-50"), machine=machine_of(*A2), phase="training",
            settings=[{"lora_rank": 8, "gbs": 256}],
        )  # fmt: skip
