"""Spelling: each language's own keys, and the fields that follow from a tile."""

import pytest

from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from recommender.ranking.kernels.question import KernelQuestion
from recommender.ranking.kernels.spelling import kernel_settings, place
from recommender.ranking.plan_setting import Origin
from tests.unit.recommender.ranking.kernel_questions import question

TILING: dict[str, Value] = {
    "baseM": 128, "baseN": 256, "baseK": 64, "dbL0A": 2, "dbL0B": 2, "dbL0C": 1, "depthA1": 8, "depthB1": 4,
    "usedCoreNum": 20,
}  # fmt: skip


def spelled(asked: KernelQuestion, configuration: dict[str, Value]) -> dict[str, Value]:
    settings = kernel_settings(asked, configuration, lambda _: Origin.COST_MODEL)
    assert all(item.source.startswith("https://") for item in settings)
    return {item.key: item.value for item in settings}


def test_a_tiling_structure_is_complete() -> None:
    asked = question(npu=True, language="ascend-c", shape={"M": 2048, "N": 2560, "K": 4096})
    found = spelled(asked, TILING)
    assert TILING.items() <= found.items()
    assert (found["stepM"], found["stepN"], found["stepKa"], found["stepKb"]) == (1, 1, 4, 2)
    assert found["MatmulConfig"] == "CFG_MDL"
    m, n = int(str(found["singleCoreM"])), int(str(found["singleCoreN"]))
    assert -(-2048 // m) * -(-2560 // n) == 20
    assert m % 128 == n % 256 == 0
    assert "MatmulConfig" not in spelled(asked, {**TILING, "depthA1": 2, "depthB1": 2})


@pytest.mark.parametrize(("shape", "is_there"), [((4096, 4096), True), ((256, 4096), False)])
def test_the_order_of_tiles_is_told_where_there_are_enough(shape: tuple[int, int], is_there: bool) -> None:
    asked = question(npu=True, language="triton", shape={"M": shape[0], "N": shape[1], "K": 4096})
    tile: dict[str, Value] = {
        "BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 256, "multibuffer": True, "BLOCK_TRESHHOLD": 8, "grid": 20,
    }  # fmt: skip
    found = spelled(asked, tile)
    assert found["grid"] == (20,)
    assert ("BLOCK_TRESHHOLD" in found) == is_there


def test_experts_of_vllm_are_written_in_its_table() -> None:
    asked = question("fused_moe", shape={"M": 64, "N": 1024, "E": 8}, software={"vllm": "0.12.0"})
    (one, *_) = kernel_settings(asked, {"BLOCK_SIZE_M": 16}, lambda _: Origin.COST_MODEL)
    assert (one.where, one.key, one.value) == (SettingPlace.JSON, "BLOCK_SIZE_M", 16)
    assert "64 of E=8,N=1024,device_name=NVIDIA_A100-SXM4-80GB.json" in place(asked, "A100-SXM4-80GB")
    assert "NVIDIA_NVIDIA" not in place(asked, "NVIDIA A100")


def test_each_language_has_its_place() -> None:
    assert "triton.Config" in place(question(), "x")
    assert "TCubeTiling" in place(question(npu=True, language="ascend-c"), "x")
    assert "tiling data" in place(question("softmax", npu=True, shape={"N": 1000}, language="ascend-c"), "x")
