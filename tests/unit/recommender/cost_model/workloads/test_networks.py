"""Networks that are lists of convolutions."""

from __future__ import annotations

import pytest

from recommender.cost_model.estimate import as_records, estimate

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip


def test_a_convolutional_network_is_near_what_is_published() -> None:
    """ResNet-152 on one Ascend 910: 624 and 698 images a second are published."""
    machine = machine_of("ascend-910a", 1, "atlas-800-9000")
    steps = estimate(
        model=model("resnet-152"),
        machine=machine,
        phase="training",
        settings=[{"mbs": 64, "precision": "fp16"}],
    )
    assert 400 < steps.throughput[0] < 1100
    assert as_records(steps, [{}])[0]["fits"] is True


ONE = machine_of("ascend-910b1", 1)


@pytest.mark.parametrize("phase", ["training", "serving"])
def test_changing_the_layout_around_every_convolution_costs_time(phase: str) -> None:
    size = "micro_batch" if phase == "training" else "batch"
    native, plain = estimate(
        model=model("resnet-50"),
        machine=ONE,
        phase=phase,
        settings=[{size: 32}, {size: 32, "layout": "nchw"}],
    ).time_s
    assert plain > 1.1 * native
