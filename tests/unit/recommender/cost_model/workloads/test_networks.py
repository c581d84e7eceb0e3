"""Networks that are lists of convolutions."""

from dataclasses import replace

import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.priced_step import priced_steps
from recommender.cost_model.workloads.memory_fit import memory_bytes
from tests.unit.recommender.cost_model.machines import machine_of, model


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
    assert priced_steps(steps, [{}])[0].fits is True


ONE = machine_of("ascend-910b1", 1)


def test_what_a_network_keeps_for_its_gradients_grows_with_the_batch_until_it_does_not_fit() -> None:
    settings = [{"micro_batch": batch} for batch in (1, 256, 16384)]
    steps = estimate(model=model("resnet-50"), machine=ONE, phase="training", settings=settings)
    one, some, all_ = steps.memory_bytes["activations"]
    assert (some, all_) == pytest.approx((256 * one, 16384 * one))
    assert steps.fits.tolist() == [True, True, False]
    parts = memory_bytes(model("resnet-50"), "training", settings, 1)
    assert sum(parts.values()) == pytest.approx(steps.memory_total)
    answered = estimate(model=model("resnet-50"), machine=ONE, phase="serving", settings=[{"batch": 256}])
    assert answered.memory_bytes["activations"][0] < some


def test_a_network_whose_layers_are_not_known_is_not_said_to_fit() -> None:
    unlisted = replace(model("resnet-50"), id="unlisted", activations=0.0)
    (record,) = priced_steps(estimate(model=unlisted, machine=ONE, phase="serving", settings=[{}]), [{}])
    assert record.fits is None
    for phase in ("training", "serving"):
        with pytest.raises(InputError, match="keep in memory is not known"):
            memory_bytes(unlisted, phase, [{}], 1)
    stated = replace(unlisted, activations=11e6)
    assert estimate(model=stated, machine=ONE, phase="serving", settings=[{}]).fits.all()


def test_a_training_step_of_a_network_whose_layers_are_not_known_is_not_guessed() -> None:
    unlisted = replace(model("resnet-50"), id="unlisted")
    with pytest.raises(MissingFactError, match="unlisted: the layers of the network are not known"):
        estimate(model=unlisted, machine=ONE, phase="training", settings=[{}])


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


def test_a_network_known_by_its_operations_takes_the_time_of_what_it_writes_too() -> None:
    """Light networks are bound by memory: twice as much written takes longer."""
    light = replace(model("resnet-50"), id="unlisted", flops_per_sample=0.8e9, activations=7e6)
    heavy = replace(light, flops_per_sample=80e9)

    def seconds(one: ModelSizes) -> float:
        return float(estimate(model=one, machine=ONE, phase="serving", settings=[{"batch": 64}]).time_s[0])

    assert seconds(replace(light, activations=14e6)) > 1.3 * seconds(light)
    assert seconds(replace(heavy, activations=14e6)) < 1.3 * seconds(heavy)
    usual = replace(light, activations=0.0)  # unknown: as much as others of as many operations
    assert seconds(light) / 2.5 < seconds(usual) < seconds(light)
