"""Kernels that can run: what rules leave out names them, and a recommendation says the same."""

import os
import random
from math import prod
from pathlib import Path

import pytest

from ingest.reading import read
from kg.errors import InfeasibleError, InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from recommender.cost_model.facts.device import Device
from recommender.ranking.feasibility.buffers import buffers
from recommender.space.made.generated import GeneratedSpace
from recommender.space.made.kernels import KERNELS, as_product, kernel_space, plain_name
from recommender.space.space import SearchSpace
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace

SHAPE = {"M": 4096, "N": 4096, "K": 4096}
MORE = ("dbL0A", "dbL0B", "dbL0C", "depthA1", "depthB1")
SHAPES: dict[str, dict[str, object]] = {
    "gemm": {**SHAPE},
    "fused_moe": {"M": 64, "N": 1536, "E": 64},
    "softmax": {"M": 4096, "N": 1000},
    "rmsnorm": {"N": 5120},
    "attention": {"S": 4096, "D": 128},
    "convolution": {"FW": 15, "FH": 15},
}


def device(shipped: Workspace, name: str) -> Device:
    found = shipped.names.hardware(name).id
    return Device(found, dict(shipped.hardware.facts(found)))


def space_of(made: GeneratedSpace) -> SearchSpace:
    return read_space(
        {"parameters": dict(made.parameters), "constraints": [dict(x) for x in made.constraints]}
    )


@pytest.mark.parametrize("operator", SHAPES)
@pytest.mark.parametrize("name", ["NVIDIA H100 PCIe", "AMD Instinct MI300X", "ascend-910b3", "ascend-310p3"])
def test_every_kernel_has_a_space_on_every_device_or_says_why(
    shipped: Workspace, operator: str, name: str
) -> None:
    chip = device(shipped, name)
    if operator == "convolution" and chip.ascend:
        with pytest.raises(InputError, match="no way to write"):
            kernel_space(operator, SHAPES[operator], "bf16", chip)
        return
    made = kernel_space(operator, SHAPES[operator], "bf16", chip)
    assert made.configurations == space_of(made).size(1_000_000)
    assert 0 < (made.configurations or 0) <= prod(map(len, made.parameters.values()))
    assert all(rule["reason"] and rule["source"] for rule in made.constraints)
    assert all(item.why and item.source for item in made.excluded)
    known = {name for kernel in KERNELS for name in kernel.names}
    assert operator in known


@pytest.mark.parametrize(
    ("name", "number_format", "block"),
    [
        ("ascend-910b3", "bfloat16", None),
        ("ascend-910b3", "float32", None),
        ("NVIDIA H100 PCIe", "fp8", None),
        ("NVIDIA H100 PCIe", "fp8", 128),
        ("NVIDIA H100 PCIe", "float32", None),
        ("AMD Instinct MI300X", "bfloat16", None),
    ],
)
def test_what_is_in_it_is_what_a_recommendation_allows(
    shipped: Workspace, name: str, number_format: str, block: int | None
) -> None:
    chip = device(shipped, name)
    made = kernel_space("gemm", SHAPE, number_format, chip, block=block)
    assert made.skipped == ()
    space = space_of(made)
    rng = random.Random(0)
    points = [Settings({n: rng.choice(list(v)) for n, v in made.parameters.items()}) for _ in range(400)]
    inside = space.allowed(space.encode(points))
    shares = None if block is None else (block, block)
    for point, held in zip(points, inside, strict=True):
        refused = next(buffers(point, number_format, chip.id, chip.facts, SHAPE, shares), None)
        alone = all(point.get(name, 1) == 1 for name in MORE)  # one of each: what a recommendation knows
        assert refused is None or not held, point
        assert held or refused is not None or not alone, point
    assert not inside.all() or block is not None


@pytest.mark.parametrize(
    "file", ["lightllm_triton_winners.jsonl.gz", "vllm_sglang_fp8_block_gemm_winners.jsonl.gz"]
)
def test_what_others_published_as_the_winner_is_not_refused(shipped: Workspace, file: str) -> None:
    home = Path(os.environ.get("TUNEGRAPH_SHARED", Path(__file__).parents[6] / "shared"))
    path = home / "data" / "cases" / file
    if not path.is_file():
        pytest.skip("no tables of tuned kernels: set TUNEGRAPH_SHARED")
    asked = 0
    for case in read([path], shipped.names):
        if not isinstance(case, Case):
            continue
        work, chip = case.problem.workload, case.problem.hardware.name
        facts, block = shipped.hardware.facts(chip), work.traits.get("block_shape")
        refused = next(buffers(case.configuration, work.precision, chip, facts, work.shape, block), None)
        assert refused is None, (case.configuration, refused)
        asked += 1
    assert asked > 100


def test_no_tile_is_larger_than_the_problem(shipped: Workspace) -> None:
    made = kernel_space("gemm", {"M": 8, "N": 100, "K": 64}, "bf16", device(shipped, "ascend-910b3"))
    bases = {name: values for name, values in made.parameters.items() if name.startswith("base")}
    assert bases == {"baseM": [16], "baseN": [16, 32, 64, 128], "baseK": [16, 32, 64]}
    assert all(int(str(item["usedCoreNum"])) <= 7 for item in space_of(made).enumerate())  # 100 / 16 blocks
    assert {item.what for item in made.excluded} >= {"baseM=32", "baseN=256", "baseK=128"}


def test_steps_are_no_longer_than_the_blocks_that_share_a_scale(shipped: Workspace) -> None:
    chip = device(shipped, "NVIDIA H100 PCIe")
    made = kernel_space("gemm", SHAPE, "fp8", chip, block=128)
    assert max(map(int, map(str, made.parameters["BLOCK_SIZE_K"]))) == 128
    assert any("share a scale" in item.why for item in made.excluded)


def test_a_tile_of_a_row_fits_the_unified_buffer(shipped: Workspace) -> None:
    chip = device(shipped, "ascend-910b3")
    made = kernel_space("softmax", {"M": 4096, "N": 1000}, "fp16", chip)
    assert made.parameters["tileColumns"][-1] == 1008  # a row, padded to 32 B
    for item in space_of(made).enumerate():
        elements = int(str(item["tileRows"])) * int(str(item["tileColumns"]))
        assert elements * (4 * int(str(item["bufferNum"])) + 4) <= 196608
    assert any("512 B" in text for text in made.notes)


def test_registers_are_a_rule_only_if_asked(shipped: Workspace) -> None:
    chip = device(shipped, "NVIDIA H100 PCIe")
    usual = kernel_space("attention", SHAPES["attention"], "bf16", chip)
    strict = kernel_space("attention", SHAPES["attention"], "bf16", chip, spills=False)
    assert (strict.configurations or 0) < (usual.configurations or 0)
    assert any("sums spill" in text for text in usual.notes)
    assert any("registers" in rule["reason"] for rule in strict.constraints)


def test_missing_facts_skip_rules_and_empty_spaces_name_theirs() -> None:
    made = kernel_space("gemm", SHAPE, "bf16", Device("chip", {}))
    assert any("shared_memory_bytes of chip is not known" in text for text in made.skipped)
    assert any("warp_size of chip is not known" in text for text in made.skipped)
    with pytest.raises(InfeasibleError, match="no configuration is left") as caught:
        kernel_space("gemm", SHAPE, "bf16", Device("chip", {"shared_memory_bytes": 100}))
    assert "staged blocks fit the shared memory, 100" in caught.value.hint


@pytest.mark.parametrize(
    ("operator", "shape", "form", "says"),
    [
        ("fft", SHAPE, "", "no space of 'fft'"),
        ("gemm", {"M": 1}, "", "N is missing; K is missing"),
        ("gemm", {**SHAPE, "M": 0}, "", "M: 0 is no whole number"),
        ("gemm", {**SHAPE, "M": -4, "N": 2**40}, "", "M: -4 .* N: 1099511627776"),
        ("gemm", {**SHAPE, "M": 1.5}, "", "M: 1.5"),
        ("gemm", {**SHAPE, "Z": 1}, "", "Z is none of its sizes"),
        ("gemm", SHAPE, "cuda", "no form"),
        ("softmax", {"M": 8}, "", "N is missing"),
    ],
)
def test_what_cannot_be_made_is_said(operator: str, shape: dict[str, object], form: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        kernel_space(operator, shape, "bf16", Device("chip", {}), form=form)


def test_a_name_that_is_nearly_one_is_suggested() -> None:
    with pytest.raises(InputError) as caught:
        kernel_space("sofmax", {"N": 8}, "bf16", Device("chip", {}))
    assert "did you mean softmax" in caught.value.hint


def test_triton_on_ascend_has_no_warps_and_a_program_a_core(shipped: Workspace) -> None:
    made = kernel_space("gemm", SHAPES["gemm"], "fp16", device(shipped, "ascend-910b3"), form="triton")
    assert not {"num_warps", "num_stages"} & set(made.parameters)
    assert {"num_warps", "num_stages"} <= {item.what for item in made.excluded}
    assert max(made.parameters["grid"]) == 20
    space = space_of(made)
    told = {"BLOCK_K": 64, "multibuffer": True, "BLOCK_TRESHHOLD": 8, "grid": 20}
    full = space.violated(Settings({"BLOCK_M": 256, "BLOCK_N": 256, **told}))
    assert full is not None
    assert "L0C" in full.reason
    assert space.violated(Settings({"BLOCK_M": 128, "BLOCK_N": 256, **told})) is None
    vector = kernel_space(
        "softmax", SHAPES["softmax"], "fp16", device(shipped, "ascend-910b3"), form="triton"
    )
    assert max(vector.parameters["grid"]) == 40


@pytest.mark.parametrize("name", ["ascend-910b3", "NVIDIA H100 PCIe"])
@pytest.mark.parametrize(
    ("operator", "shape"), [("elementwise", {"N": 1000}), ("transpose", {"M": 300, "N": 40})]
)
def test_kernels_of_elements_have_spaces(
    shipped: Workspace, operator: str, shape: dict[str, object], name: str
) -> None:
    made = kernel_space(operator, shape, "fp16", device(shipped, name), form="triton")
    assert made.configurations


def test_the_opencl_product_divides_its_tiles_evenly(shipped: Workspace) -> None:
    made = kernel_space("gemm", SHAPES["gemm"], "fp32", device(shipped, "NVIDIA H100 PCIe"), form="opencl")
    assert made.configurations == 17956  # as many as the public tables of this kernel have
    one = next(iter(space_of(made).enumerate()))
    assert int(str(one["MWG"])) % (int(str(one["MDIMC"])) * int(str(one["VWM"]))) == 0


def test_a_block_has_a_kilobyte_less_of_the_shared_memory(shipped: Workspace) -> None:
    made = kernel_space("gemm", SHAPES["gemm"], "fp16", device(shipped, "NVIDIA H100 PCIe"))
    assert any(rule["expression"].endswith("+ 1024 <= 233472") for rule in made.constraints)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("aclnnMatmulV2", "matmul"),
        ("torch_npu.npu_grouped_matmul", "grouped_matmul"),
        ("FlashAttentionScore", "flash_attention_score"),
        ("Layer-Norm", "layer_norm"),
        ("fft", "fft"),
    ],
)
def test_an_operator_is_known_by_the_names_of_cann(written: str, name: str) -> None:
    assert plain_name(written) == name


def test_a_convolution_without_channels_is_no_product() -> None:
    assert as_product({"H": 8, "W": 8, "FH": 3, "FW": 3}) is None
    assert as_product({"C": 4, "K": 2, "H": 8, "W": 8, "P": 6, "Q": 6, "FH": 3, "FW": 3}) == {
        "M": 36,
        "N": 2,
        "K": 36,
    }
