"""Experts on many devices while serving."""

from collections.abc import Mapping

import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.estimate_pass import PassShape, estimate_pass
from recommender.cost_model.operators import moe
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.steps import Steps
from tests.unit.recommender.cost_model.machines import machine_of, model


def serve(*settings: Mapping[str, object], count: int = 32) -> Steps:
    return estimate(
        model=model("deepseek-r1"),
        machine=machine_of("ascend-910c", count, "atlas-800t-a3"),
        phase="serving",
        settings=list(settings),
    )


def test_the_busiest_device_has_more_than_the_mean_and_less_so_with_more_rows() -> None:
    rows = np.array([16.0, 256.0, 4096.0])
    over = moe.busiest(rows, np.full(3, 32.0))
    assert np.all(over > 1)
    assert np.all(np.diff(over) < 0)
    # 1 + sqrt(2 ln 32) / sqrt(256): the largest of 32 nearly normal counts with a mean of 256
    assert over[1] == pytest.approx(1 + (2 * np.log(32)) ** 0.5 / 16)
    assert moe.busiest(rows, np.ones(3)).tolist() == [1, 1, 1]


def test_eight_bits_are_less_to_send_than_sixteen() -> None:
    base: dict[str, object] = {"dp": 32, "ep": 32, "batch": 96, "input_len": 4096}
    narrow, wide = serve(
        {**base, "precision": "int8"}, {**base, "precision": "int8", "precision_mlp": "bf16"}
    ).split_s["communication_exposed"]
    assert narrow < wide
    assert narrow > wide / 2  # what comes back has 16 bits either way


@pytest.mark.parametrize(
    ("ranks", "server", "measured_us"),
    [  # of 128 tokens: python/deep_ep of sgl-kernel-npu, arXiv:2506.12708
        (8, "atlas-800t-a3", (132, 126, 116, 118)),
        (16, "atlas-800t-a3", (139, 135)),
        (32, "cloudmatrix384", (153, 151)),
        (256, "cloudmatrix384", (152, 149)),
    ],
)
def test_decode_hands_rows_to_experts_as_was_measured(
    ranks: int, server: str, measured_us: tuple[float, ...]
) -> None:
    sizes = model("deepseek-r1")
    question = Question(model=sizes, machine=machine_of("ascend-910c", ranks, server), phase="serving")
    shape = PassShape(phase="decode", batch=128.0, chunk=1.0, context=1024.0)
    done = estimate_pass(question, {"dp": ranks, "ep": ranks, "precision": "int8"}, shape)
    (exchange,) = (one for one in done.operators if one.name == "exchange of experts")
    each = exchange.time_s * 1e6 / 2 / (sizes.layers - sizes.dense_layers)
    assert each == pytest.approx(np.mean(measured_us), rel=0.01)


def test_an_exchange_in_one_kernel_with_the_experts_hides_behind_them() -> None:
    base: dict[str, object] = {"dp": 32, "ep": 32, "batch": 32, "input_len": 4096, "precision": "int8"}
    apart, fused = serve(base, {**base, "fused_dispatch": 1}).time_s
    assert fused < apart


def test_more_devices_than_experts_hold_copies() -> None:
    steps = serve({"dp": 320, "ep": 320, "batch": 48, "input_len": 4096, "precision": "int8"}, count=320)
    # 2 x 48 sequences of a card of two dies at 49.4 ms a token, with one drafted: arXiv:2506.12708, table 3
    assert 0.0494 / 2 < steps.time_s[0] < 0.0494 * 2
