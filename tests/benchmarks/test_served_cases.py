"""Measured configurations as deployments."""

import pytest

from benchmarks.answers.served_cases import deployment_of
from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Settings, Value


def test_a_configuration_is_read_with_the_load_of_its_task() -> None:
    config: dict[str, Value] = {"framework": "trt", "tp": 4, "num_gpus": 4, "spec_decoding": "mtp"}
    one = deployment_of(Settings(config), 64)
    assert one is not None
    assert (one.framework, one.layout, one.drafts) == ("tensorrt-llm", ParallelLayout(tp=4), True)
    assert one.concurrency == 64
    own = deployment_of(Settings({**config, "concurrency": 8}), 64)
    assert own is not None
    assert own.concurrency == 8


def test_attention_in_replicas_stays_inside_the_devices() -> None:
    config = {
        "tp": 8,
        "ep": 8,
        "dp_attention": True,
        "num_gpus": 8,
        "concurrency": 256,
        "framework": "sglang",
    }
    one = deployment_of(Settings(config))
    assert one is not None
    assert one.layout == ParallelLayout(tp=8, dp=8, ep=8, dp_attention=True)
    assert one.layout.devices == 8


@pytest.mark.parametrize(
    "config",
    [
        {"tp": 8},
        {"tp": 8, "concurrency": 4, "disaggregated": True},
        {"tp": 8, "concurrency": 4, "num_gpus": 16},
        {"concurrency": 4},
        {"tp": True, "concurrency": 4},
    ],
)
def test_what_is_no_single_instance_with_a_load_is_passed_over(config: dict[str, Value]) -> None:
    assert deployment_of(Settings(config)) is None
