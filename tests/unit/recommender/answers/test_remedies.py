"""Advice fits the run: its vendor, its programs, what is set already."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ingest.profiles.checks import KINETO, NSIGHT, ROCPROF
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile, Rank
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, Strategy
from recommender.answers.remedies import ProfiledRun, hardware_names, vendor_of
from recommender.store.shipped_knowledge import knowledge

NOUNS = list(knowledge())
STRATEGIES = {noun.id: noun for noun in NOUNS if isinstance(noun, Strategy)}
FRAMEWORKS = [noun for noun in NOUNS if isinstance(noun, Framework)]
BROADER = {noun.id: noun.broader for noun in NOUNS if isinstance(noun, Bottleneck) and noun.broader}


def profile(
    layout: str = "Ascend PyTorch Profiler", call: str = "aclrtLaunch", types: str = "FLOAT", **more: Any
) -> Profile:
    builder = KernelBuilder("kernels.csv")
    builder.add(
        1, 0, duration_us=5.0, name="MatMul", kind="MatMulV3", core="AI_CORE", input_types=f"{types};{types}"
    )
    builder.add(2, 9_000, duration_us=5.0, name="SoftmaxGrad", kind="SoftmaxGrad", core="AI_VECTOR_CORE")
    calls = (Call(level="runtime", name=call, total_us=1.0, count=1, max_us=1.0, place=FactPlace("t")),)
    return Profile(
        path="run",
        ranks=(Rank(rank=0, folder="", layout=layout, kernels=builder.build(), calls=calls, **more),),
    )


def path_of(name: str) -> Sequence[str]:
    vendor = {"nvidia": "nvidia", "amd": "amd"}.get(name.partition("-")[0], "huawei")
    return (name, vendor)


def run_of(run: Profile, path: Callable[[str], Sequence[str]] = path_of) -> ProfiledRun:
    names = hardware_names(run, "", STRATEGIES.values(), path)
    return ProfiledRun.of(run, names, FRAMEWORKS, broader=BROADER, is_training=True)


@pytest.mark.parametrize(
    ("layout", "call", "vendor"),
    [
        (KINETO, "cudaLaunchKernel", "nvidia"),
        (KINETO, "hipLaunchKernel", "amd"),
        (NSIGHT, "cudaLaunchKernel", "nvidia"),
        (ROCPROF, "", "amd"),
        ("msprof", "cudaX", "huawei"),
    ],
)
def test_advice_is_of_the_vendor_of_the_devices(layout: str, call: str, vendor: str) -> None:
    trace = profile(layout, call)
    assert vendor_of(trace) == vendor
    run = run_of(trace)
    allowed = [item for item in STRATEGIES.values() if not run.refuses(item)]
    assert len(allowed) > 5
    for item in allowed:
        assert not item.hardware or any(path_of(name)[-1] == vendor for name in item.hardware), item.id


def test_flags_of_programs_that_do_not_run_are_no_advice() -> None:
    plain = run_of(profile(software={"torch-npu": "2.7.1"}))
    megatron = run_of(profile(software={"torch-npu": "2.7.1"}, parallel={"pipeline_model_parallel_size": 2}))
    of_megatron = [
        item
        for item in STRATEGIES.values()
        if any(s.software in {"megatron-lm", "mindspeed"} for s in item.sets)
    ]
    assert all(plain.refuses(item) for item in of_megatron)
    assert not all(megatron.refuses(item) for item in of_megatron)
    servers = [item for item in STRATEGIES.values() if any(s.software.startswith("vllm") for s in item.sets)]
    assert servers
    assert all(megatron.refuses(item) for item in servers)


def test_what_is_set_is_no_advice() -> None:
    level = next(
        item
        for item in STRATEGIES.values()
        if any(s.parameter == "ASCEND_GLOBAL_LOG_LEVEL" for s in item.sets)
    )
    wanted = str(level.sets[0].value)
    assert not run_of(profile(environment={"ASCEND_GLOBAL_LOG_LEVEL": "1"})).refuses(level)
    assert run_of(profile(environment={"ASCEND_GLOBAL_LOG_LEVEL": wanted})).refuses(level)


def test_products_in_half_the_width_are_in_it_already() -> None:
    assert run_of(profile(types="DT_BF16")).facts["precision"] == "bfloat16"
    assert "precision" not in run_of(profile(types="FLOAT")).facts


def test_who_has_more_than_is_advised_is_not_told_to_have_less() -> None:
    caches = next(
        item for item in STRATEGIES.values() if any(s.parameter == "ACLNN_CACHE_LIMIT" for s in item.sets)
    )
    more = {"ACLNN_CACHE_LIMIT": "200000", "HOST_CACHE_CAPACITY": "40"}
    assert run_of(profile(environment=more)).refuses(caches)
    less = run_of(profile(environment={**more, "ACLNN_CACHE_LIMIT": "500"}))
    assert not less.refuses(caches)
    assert less.now(caches) == {"ACLNN_CACHE_LIMIT": "500"}
    assert run_of(profile()).now(caches) == {}


@pytest.mark.parametrize(
    ("kinds", "model"),
    [
        (("MatMulV3", "RmsNorm", "SwiGlu"), "decoder"),
        (("GroupedMatmul", "RmsNorm"), "moe-decoder"),
        (("Conv2D", "SoftmaxV2"), "vision"),
        (("MatMulV3", "LayerNormV3", "Gelu"), ""),
    ],
)
def test_kernels_tell_what_the_model_may_be(kinds: tuple[str, ...], model: str) -> None:
    builder = KernelBuilder("kernels.csv")
    for row, kind in enumerate(kinds):
        builder.add(row, row * 9_000, duration_us=5.0, name=kind, kind=kind, core="AI_CORE")
    run = Profile(path="run", ranks=(Rank(rank=0, folder="", layout="msprof", kernels=builder.build()),))
    told = run_of(run).facts.get("model", frozenset())
    assert isinstance(told, frozenset)
    assert (model in told) if model else not told


def test_a_folder_of_the_pytorch_profiler_runs_no_tensorflow_and_no_server_that_it_does_not_show() -> None:
    run = run_of(profile())
    assert run.refuses(STRATEGIES["gradient-split-strategy"])
    assert run.needs_other_programs(STRATEGIES["async-issue-bubbles"])
    assert not run.needs_other_programs(STRATEGIES["cpu-binding"])
