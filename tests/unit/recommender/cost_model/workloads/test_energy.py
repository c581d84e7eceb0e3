"""Power and energy."""

from __future__ import annotations

from recommender.cost_model.estimate import estimate
from recommender.cost_model.workloads.steps import Steps

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

A2 = ("ascend-910b1", 8, "atlas-800t-a2")
A3 = ("ascend-910c", 16, "atlas-800i-a3")


def train(
    *settings: Mapping[str, object],
    name: str = "llama-2-7b",
    place: tuple[str, int, str] = A2,
) -> Steps:
    base = {"seq_len": 4096, "gbs": 32}
    return estimate(
        model=model(name),
        machine=machine_of(*place),
        phase="training",
        settings=[{**base, **one} for one in settings],
    )


def serve(
    *settings: Mapping[str, object], name: str = "qwen3-32b", place: tuple[str, int, str] = A3
) -> Steps:
    return estimate(model=model(name), machine=machine_of(*place), phase="serving", settings=list(settings))


def test_energy_is_an_estimate_between_idle_and_full_or_unknown() -> None:
    steps = train({"tp": 2})
    assert steps.power_w is not None
    assert 91 <= steps.power_w[0] <= 365
    assert serve({"tp": 16}).power_w is None  # the idle power of a die of the 910C is not known
