"""Sequences of kernels for which there is one fused interface."""

from typing import Any

import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import interfaces
from tests.samples.kernel_sequences import PRODUCT, kernel_view, run


def test_a_norm_in_small_operators_has_an_interface(network: Any, thresholds: Any) -> None:
    norm = [
        (k, "AI_VECTOR_CORE", 20.0, "8,8", "8,8") for k in ("Square", "ReduceMean", "Add", "Rsqrt", "Mul")
    ]
    profile = run([PRODUCT, *norm, ("FlashAttentionScore", "MIX_AIC", 90.0, "8,8", "8,8")] * 12)
    [found] = list(interfaces.find(kernel_view(profile.ranks[0]), thresholds))
    assert found.says.startswith("could stand for what ran: torch_npu.npu_rms_norm (12x)")
    assert found.shown > 0.9
    first = diagnose(profile, network, thresholds).findings[0].cause
    assert first.chain[-2:] == ("unfused-operators", "affinity-api-not-used")


@pytest.mark.parametrize(
    ("kinds", "interface"),
    [
        (("Addcmul", "Sqrt"), "torch_npu.optim.NpuFusedAdam or NpuFusedAdamW"),
        (("ForeachMulScalar", "ForeachAddList"), "torch_npu.optim.NpuFusedSGD"),
        (("Neg", "ConcatD", "Cast", "Mul", "Add"), "torch_npu.npu_rotary_mul"),
        (("BatchMatMulV2", "Muls", "SoftmaxV2", "BatchMatMulV2"), "torch_npu.npu_fusion_attention"),
        (("Swish", "Mul"), "torch_npu.npu_swiglu"),
    ],
)
def test_each_sequence_is_told_by_its_interface(
    kinds: tuple[str, ...], interface: str, thresholds: Any
) -> None:
    work = [(kind, "AI_VECTOR_CORE", 5.0, "8,8", "8,8") for kind in (*kinds, "TopKV2")]
    [found] = list(interfaces.find(kernel_view(run(work * 3).ranks[0]), thresholds))
    assert f"{interface} (3x)" in found.says


def test_operators_on_two_streams_are_no_sequence(thresholds: Any) -> None:
    builder = KernelBuilder("k.csv")
    for row in range(20):
        builder.add(
            row + 2, row * 10_000, duration_us=5.0, kind=("Swish", "Mul")[row % 2], stream=str(row % 2)
        )
    kernels = builder.done()
    rank = Rank(rank=0, folder="r", layout="t", steps=tuple(split_steps(kernels)), kernels=kernels)
    [found] = list(interfaces.find(kernel_view(rank), thresholds))
    assert found.says == "no fused interface fits what ran"
    assert found.shown < 0.1
