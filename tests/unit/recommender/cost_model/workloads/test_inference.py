"""Single forward passes."""

import numpy as np
import pytest

from kg.errors import InputError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.workloads.steps import Steps
from tests.unit.recommender.cost_model.machines import machine_of, model

A2 = machine_of("ascend-910b1", 8, "atlas-800t-a2")
ONE = machine_of("ascend-910b1", 1)


def serve(*settings: dict[str, object], name: str = "llama-2-7b") -> Steps:
    return estimate(model=model(name), machine=A2, phase="serving", settings=settings)


@pytest.mark.parametrize("name", ["resnet-50", "vit-b-16"])
def test_a_network_answers_faster_than_it_learns(name: str) -> None:
    answered = estimate(
        model=model(name), machine=ONE, phase="serving", settings=[{"batch": 32, "precision": "fp16"}]
    )
    learned = estimate(
        model=model(name), machine=ONE, phase="training",
        settings=[{"micro_batch": 32, "precision": "fp16"}],
    )  # fmt: skip
    assert answered.unit == "samples/s"
    assert answered.throughput[0] > 2 * 32 / learned.time_s[0]
    assert sum(part[0] for part in answered.split_s.values()) == pytest.approx(answered.time_s[0])


def test_larger_batches_of_a_network_take_longer_and_give_more() -> None:
    steps = estimate(
        model=model("resnet-50"), machine=ONE, phase="serving", settings=[{"batch": 4}, {"batch": 64}]
    )
    assert steps.time_s[1] > steps.time_s[0]
    assert steps.throughput[1] > steps.throughput[0]
    assert steps.memory_total[1] > steps.memory_total[0]


def test_an_encoder_reads_a_text_in_one_pass_and_is_trained_like_other_networks_with_blocks() -> None:
    short, long = estimate(
        model=model("bert-large"), machine=ONE, phase="serving",
        settings=[{"batch": 32, "input_len": 128}, {"batch": 32, "input_len": 512}],
    ).throughput  # fmt: skip
    assert 3 < short / long < 6  # more rows are faster each, attention grows faster than the text
    steps = serve({"batch": 32, "input_len": 512}, name="bert-large")
    assert steps.unit == "samples/s"
    assert steps.throughput[0] == pytest.approx(8 * long, rel=0.01)
    trained = estimate(
        model=model("bert-large"), machine=A2, phase="training", settings=[{"tp": 2, "seq_len": 512}]
    )
    assert trained.unit == "tokens/s"


def test_a_network_is_not_split() -> None:
    with pytest.raises(InputError, match="split by data alone"):
        serve({"tp": 2, "batch": 8}, name="resnet-50")
    every = serve({"batch": 8}, name="resnet-50")
    one = estimate(model=model("resnet-50"), machine=ONE, phase="serving", settings=[{"batch": 8}])
    assert np.isclose(every.throughput[0], 8 * one.throughput[0])


def test_a_request_of_an_encoder_takes_as_long_as_its_batch() -> None:
    steps = serve({"batch": 1, "input_len": 512}, {"batch": 64, "input_len": 512}, name="bert-large")
    assert list(steps.extra["request_s"]) == list(steps.time_s)
    assert steps.extra["request_s"][1] > 10 * steps.extra["request_s"][0]
