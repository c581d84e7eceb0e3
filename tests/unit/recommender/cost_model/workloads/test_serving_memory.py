"""Weights of serving beside the files that hold them, and laws of their parts."""

import pytest

from recommender.cost_model.estimate import estimate
from tests.unit.recommender.cost_model.machines import machine_of, model


def weights(name: str, **settings: object) -> float:
    told = estimate(model=model(name), machine=machine_of("b200", 8), phase="serving", settings=[settings])
    return float(told.memory_bytes["weights"][0])


FILES = {
    ("qwen3-32b", "bf16"): 65.5, ("qwen3-32b", "fp8"): 34.3, ("qwen3-32b", "w4a16"): 19.3,
    ("gpt-oss-120b", "fp4"): 65.2, ("qwen2-5-vl-7b", "bf16"): 16.6, ("qwen3-vl-2b", "bf16"): 4.26,
}  # fmt: skip
"""GB of the files of Qwen/Qwen3-32B, -FP8, -AWQ and openai/gpt-oss-120b (its attention is in 16 bits), and of two
that see: with a tower, and tied or not."""


@pytest.mark.parametrize(("name", "precision"), FILES)
def test_weights_are_as_large_as_the_files_that_hold_them(name: str, precision: str) -> None:
    parts = {"precision_attention": "bf16"} if name.startswith("gpt-oss") else {}
    held = weights(name, dp=8, precision=precision, **parts)
    assert held / 1e9 == pytest.approx(FILES[name, precision], rel=0.01)


@pytest.mark.parametrize("precision", ["bf16", "fp8", "w4a16"])
def test_tensor_ranks_share_both_tables(precision: str) -> None:
    assert weights("qwen3-32b", tp=8, precision=precision) * 8 == pytest.approx(
        weights("qwen3-32b", dp=8, precision=precision)
    )


def test_an_index_keeps_its_keys_beside_the_rows_that_it_chooses_among() -> None:
    told = estimate(
        model=model("glm-5-2"), machine=machine_of("b200", 8), phase="serving",
        settings=[{"tp": 8, "batch": 1, "input_len": 32768, "output_len": 2}],
    )  # fmt: skip
    rows, keys = 78 * 576 * 2, 21 * 132  # bytes of a token: 21 of 78 blocks have an index (config.json)
    assert float(told.memory_bytes["kv_cache"][0]) == pytest.approx(32770 * (rows + keys))
