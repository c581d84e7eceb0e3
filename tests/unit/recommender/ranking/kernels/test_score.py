"""Expected times: every kernel that has a space in a language has a model of it, or says what to measure."""

import numpy as np
import pytest

from kg.errors import NoEvidenceError
from recommender.ranking.kernels.domain import generated_domain
from recommender.ranking.kernels.score import assumptions, tile_times
from tests.unit.recommender.ranking.kernel_questions import question

SHAPES: dict[str, dict[str, object]] = {
    "gemm": {"M": 512, "N": 512, "K": 512},
    "bmm": {"M": 128, "N": 128, "K": 64, "B": 32},
    "softmax": {"M": 512, "N": 1000},
    "rmsnorm": {"N": 5120},
    "reduce_sum": {"M": 64, "N": 100000},
    "attention": {"S": 2048, "D": 96},
    "elementwise": {"N": 1000000},
    "transpose": {"M": 1000, "N": 3000},
}


SPACES = [
    (operator, npu, language)
    for operator in SHAPES
    for npu, language in ((False, "triton"), (True, "triton"), (True, "ascend-c"))
    if (operator, language) != ("transpose", "ascend-c")  # no space of it is generated
]


@pytest.mark.parametrize(("operator", "npu", "language"), SPACES)
def test_every_kernel_with_a_space_has_times(operator: str, npu: bool, language: str) -> None:
    asked = question(operator, npu=npu, shape=SHAPES[operator], language=language)
    domain = generated_domain(asked)
    times = tile_times(asked, domain.columns)
    assert times.total_s.shape == (len(domain),)
    assert (times.total_s > 0).all()
    assert np.isfinite(times.total_s).any()


@pytest.mark.parametrize(("operator", "shape"), [("gemm", None), ("convolution", {"FW": 3, "FH": 3})])
def test_threads_without_a_matrix_unit_have_no_model(operator: str, shape: dict[str, object] | None) -> None:
    asked = question(operator, shape=shape, precision="float32", language="opencl")
    with pytest.raises(NoEvidenceError, match="no tile model") as error:
        tile_times(asked, generated_domain(asked).columns)
    assert "measure the smallest and the largest tile" in error.value.hint


def test_experts_take_a_block_each_however_few_their_tokens() -> None:
    asked = question("fused_moe", shape={"M": 8, "N": 1024, "E": 64})
    domain = generated_domain(asked)
    times = tile_times(asked, domain.columns).total_s
    low, high = domain.rows_with({"BLOCK_SIZE_M": 16}), domain.rows_with({"BLOCK_SIZE_M": 16, "num_warps": 4})
    assert times[low].min() == times.min()
    assert high.any()
    more = question("fused_moe", shape={"M": 4096, "N": 1024, "E": 64})
    wide = generated_domain(more)
    best = wide.configuration(int(np.argmin(tile_times(more, wide.columns).total_s)))
    assert int(str(best["BLOCK_SIZE_M"])) >= 64


def test_what_the_model_took_is_said() -> None:
    said = " ".join(assumptions(question("fused_moe", shape={"M": 8, "N": 1024, "E": 8})))
    assert "K (width of a token): taken as 4096" in said
    assert "TOPK (experts of a token): taken as 2" in said
    assert assumptions(question()) == ()


def test_columns_without_a_parameter_of_the_model_are_refused() -> None:
    asked = question()
    with pytest.raises(NoEvidenceError, match="needs BLOCK_SIZE_N"):
        tile_times(asked, {"BLOCK_SIZE_M": np.array([128.0])})
