"""Lists of convolutions."""

import pytest

from kg.errors import InputError
from recommender.cost_model.operators.convolution import Convolution, operator_list


@pytest.mark.parametrize(
    ("name", "flops", "parameters"),
    [("resnet18", 1.81e9, 11.7e6), ("resnet34", 3.66e9, 21.8e6), ("resnet50", 4.09e9, 25.5e6),
     ("resnet101", 7.80e9, 44.5e6), ("resnet152", 11.5e9, 60.2e6), ("wide-resnet50-2", 11.4e9, 68.9e6),
     ("wide-resnet101-2", 22.8e9, 126.9e6), ("resnext101-32x8d", 16.4e9, 88.8e6),
     ("vgg16", 15.5e9, 138.3e6), ("mobilenet-v2", 0.30e9, 3.5e6)],
)  # fmt: skip
def test_operator_lists_have_the_published_totals(name: str, flops: float, parameters: float) -> None:
    layers = operator_list(name)
    assert sum(layer.flops for layer in layers) / 2 == pytest.approx(flops, rel=0.02)
    assert sum(layer.parameters for layer in layers) == pytest.approx(parameters, rel=0.02)


def test_a_depthwise_layer_pays_for_padding() -> None:
    depthwise = Convolution(64, 64, 3, 56, groups=64)
    m, n, k, count = depthwise.product(1)
    assert 2 * m * n * k * count > 10 * depthwise.flops


def test_a_convolution_without_channels_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1"):
        Convolution(0, 64, 3, 56)
    with pytest.raises(InputError, match="divide"):
        Convolution(30, 64, 3, 56, groups=4)
