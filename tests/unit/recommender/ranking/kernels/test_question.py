"""Questions about kernels: sizes by any name, precision of the operands, what was assumed."""

import pytest

from kg.errors import InputError
from recommender.ranking.kernels.language import Language
from recommender.ranking.kernels.question import kernel_question
from tests.unit.recommender.ranking.kernel_questions import GPU, NPU, problem, question


def test_a_question_has_all_that_a_tile_depends_on() -> None:
    asked = question(npu=True, software={"cann": "8.5"}, language="ascend-c")
    assert (asked.form, asked.language, asked.number) == ("ascendc", Language.ASCEND_C, "fp16")
    assert (asked.framework, asked.version) == ("cann", "8.5")
    assert dict(asked.sizes) == {"M": 4096, "N": 4096, "K": 4096}
    assert asked.notes == ()


def test_other_words_for_sizes_are_read() -> None:
    asked = question("attention", shape={"seq_len": 1024, "head_dim": 128, "heads": 8, "batch": 2})
    assert dict(asked.sizes) == {"S": 1024, "D": 128, "H": 8, "B": 2}


@pytest.mark.parametrize(
    ("stated", "number", "element"),
    [("int8_w8a16", "bf16", 2.0), ("bfloat16", "bf16", 2.0), ("float32", "fp32", 4.0)],
)
def test_operands_meet_in_a_precision(stated: str, number: str, element: float) -> None:
    asked = question(precision=stated)
    assert (asked.number, asked.element_bytes) == (number, element)


def test_what_was_assumed_is_said() -> None:
    asked = question(precision=None)
    assert asked.number == "fp16"
    assert any("precision" in note for note in asked.notes)
    assert any("language" in note for note in asked.notes)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"precision": "fp8"}, "no fp8 matrix unit"),
        ({"shape": {"M": 1, "N": 1}}, "K is missing"),
        ({"shape": {"M": 0, "N": 1, "K": 1}}, "no whole number"),
        ({"operator": "gemmm"}, "no space of 'gemmm'"),
        ({"block_shape": (0, 128)}, "is no size"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        question(**change)  # type: ignore[arg-type]  # one of them at a time


def test_the_triton_of_ascend_is_called_so() -> None:
    asked = kernel_question(problem(npu=True, software={"triton": "3.2"}), NPU)
    assert (asked.framework, asked.language) == ("triton-ascend", Language.TRITON)
    assert kernel_question(problem(software={"triton": "3.2"}), GPU).framework == "triton"


def test_the_block_that_shares_a_scale_bounds_the_step() -> None:
    assert question(block_shape=(128, 64)).block == 64
    assert question(block_shape=(1, 128)).block == 1
    assert question().block is None
    with pytest.raises(InputError, match="is no size"):
        question(block_shape=(0, 128))


def test_a_convolution_over_channels_is_a_product() -> None:
    shape = {"batch": 2, "C": 8, "H": 16, "W": 16, "K": 32, "R": 3, "S": 3}
    asked = question(operator="convolution", shape=shape, language="opencl")
    assert asked.sizes == {"M": 2 * 16 * 16, "N": 32, "K": 8 * 3 * 3}
    assert asked.kernel.names[0] == "gemm"
    assert any("convolution" in note for note in asked.notes)


def test_sides_of_a_filter_have_several_names() -> None:
    asked = question(operator="conv2d", shape={"R": 7, "S": 5, "W": 4096, "H": 4096}, language="cuda")
    assert (asked.sizes["FH"], asked.sizes["FW"]) == (7, 5)


@pytest.mark.parametrize(
    ("operator", "shape", "sizes"),
    [
        ("flash_attn_fwd", {"seqlen": 1024, "headdim": 64, "heads": 8}, {"S": 1024, "D": 64, "H": 8}),
        ("triton_rms_norm_kernel", {"tokens": 512, "hidden_size": 7168}, {"M": 512, "N": 7168}),
        (
            "fused_moe",
            {"tokens": 8, "hidden_size": 64, "intermediate_size": 32, "experts": 4},
            {"M": 8, "N": 32, "K": 64, "E": 4},
        ),
        ("addmm", {"rows": 8, "out_features": 16, "in_features": 32}, {"M": 8, "N": 16, "K": 32}),
    ],
)
def test_names_and_sizes_are_read_as_sources_of_kernels_write_them(
    operator: str, shape: dict[str, int], sizes: dict[str, int]
) -> None:
    assert {**question(operator, shape=shape).sizes} == sizes


def test_a_width_is_no_side_of_a_plain_product() -> None:
    with pytest.raises(InputError, match="hidden is none of its sizes"):
        question("matmul", shape={"M": 8, "hidden": 16, "K": 32})
