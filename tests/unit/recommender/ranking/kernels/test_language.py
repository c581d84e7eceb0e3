"""Languages: stated, from the software, or the usual one."""

import pytest

from kg.errors import InputError
from recommender.cost_model.facts.device import Device
from recommender.ranking.kernels.language import Language, choose_language, form_of
from recommender.space.made.kernels import kernel_kind
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU

GEMM, CONVOLUTION = kernel_kind("gemm"), kernel_kind("convolution")
GPU_DEVICE, NPU_DEVICE = Device("gpu", GPU), Device("npu", NPU)


@pytest.mark.parametrize(
    ("device", "stated", "software", "expected"),
    [
        (NPU_DEVICE, "ascend-c", [], Language.ASCEND_C),
        (NPU_DEVICE, "AscendC", ["triton-ascend"], Language.ASCEND_C),
        (NPU_DEVICE, None, ["triton-ascend"], Language.TRITON),
        (NPU_DEVICE, None, ["cann"], Language.ASCEND_C),
        (NPU_DEVICE, None, [], Language.ASCEND_C),
        (GPU_DEVICE, None, ["vllm"], Language.TRITON),
        (GPU_DEVICE, None, ["cann"], Language.TRITON),
        (Device("mali", {}), None, [], Language.OPENCL),
    ],
)
def test_the_language_follows_what_is_said(
    device: Device, stated: str | None, software: list[str], expected: Language
) -> None:
    language, note = choose_language(GEMM, "gemm", device, stated, software)
    assert language is expected
    assert bool(note) == (stated is None)


@pytest.mark.parametrize(
    ("device", "stated", "says"),
    [
        (GPU_DEVICE, "ascend-c", "no space of gemm in ascend-c"),
        (NPU_DEVICE, "cuda", "no space of gemm in cuda"),
        (GPU_DEVICE, "tilelang", "no language 'tilelang'"),
    ],
)
def test_a_language_that_cannot_be_is_refused(device: Device, stated: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        choose_language(GEMM, "gemm", device, stated, [])
    assert "triton" in error.value.hint


def test_where_nothing_is_known_it_says_so() -> None:
    with pytest.raises(InputError, match="no way to write convolution"):
        choose_language(CONVOLUTION, "convolution", NPU_DEVICE, None, [])


def test_cuda_and_opencl_share_the_kernels_of_tuners() -> None:
    assert form_of(Language.CUDA, GEMM) == form_of(Language.OPENCL, GEMM) == "opencl"
    assert form_of(Language.OPENCL, CONVOLUTION) == "cuda"
    assert form_of(Language.ASCEND_C, CONVOLUTION) == ""
