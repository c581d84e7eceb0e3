"""The start of a server as its settings have it: laws over models, shares, lengths and engines."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from kg.terms.dialects import spell
from recommender.cost_model.question import Question
from recommender.ranking.feasibility.server_fit import (
    ServerFit,
    server_fit,
    sglang_reserve,
    share_too_high,
    written_change,
)
from tests.unit.recommender.cost_model.machines import facts as facts_of
from tests.unit.recommender.cost_model.machines import machine_of, model

SPELT = {
    "vllm": {"memory_share": "--gpu-memory-utilization", "max_len": "--max-model-len", "tp": "-tp"},
    "sglang": {"memory_share": "--mem-fraction-static", "max_len": "--context-length", "tp": "--tp-size"},
}


def fit(
    program: str = "vllm", name: str = "qwen3-32b", asked: float = 0, most: int = 40960, **told: Any
) -> ServerFit | None:
    facts = {"tp": "tensor_parallel", "precision_cache": "precision_cache", "precision": "precision"}
    settings = {facts[key]: value for key, value in told.items() if key in facts}
    question = Question(
        model=model(name), machine=machine_of("h100-sxm", 1), phase="serving", engine=program,
        version="0.33.0" if program == "vllm" else "0.5.23",
        settings={"precision": "bf16", **settings},
    )  # fmt: skip
    question = replace(question, machine=replace(question.machine, count=int(str(told.get("tp", 1)))))
    current = {SPELT[program].get(key, key): value for key, value in told.items()}
    return server_fit(question, current, program, tokens=asked, most=most)


CASES = list(
    itertools.product(
        ("vllm", "sglang"), ("qwen3-8b", "qwen3-32b"), (0.2, 0.5, 0.8, 0.9), (8192, 40960, 131072)
    )
)


@pytest.mark.parametrize(("program", "name", "share", "length"), CASES)
def test_what_is_said_to_start_starts_alone(program: str, name: str, share: float, length: int) -> None:
    told: dict[str, Any] = {"memory_share": share, "max_len": length}
    found = fit(program, name, **told)
    for change in () if found is None else found.reliefs:
        after = fit(program, name, **{**told, **change})
        assert after is None or after.starts, change
        assert float(str(change.get("max_len", 0))) <= 40960  # what the model takes, which nothing stretches
        assert all(spell(fact, program, value=value) for fact, value in change.items())


@pytest.mark.parametrize(("program", "name", "share", "length"), CASES)
def test_more_memory_and_shorter_requests_stop_nothing(
    program: str, name: str, share: float, length: int
) -> None:
    if fit(program, name, memory_share=share, max_len=length) is None:
        assert fit(program, name, memory_share=min(share + 0.1, 1), max_len=length) is None
        assert fit(program, name, memory_share=share, max_len=length // 2) is None


@pytest.mark.parametrize(("copies", "local"), [(4, 0), (8, 4), (3, 0)])
def test_devices_of_copies_share_the_matrices_before_more_are_asked_for(copies: int, local: int) -> None:
    told = {"max_len": 8192, "--data-parallel-size": copies}
    told |= {"--data-parallel-size-local": local} if local else {}
    found = fit("vllm", "llama-3-1-70b", **told)
    assert found is not None
    change = next(one for one in found.reliefs if "tp" in one)
    if copies % int(str(change["tp"])):
        assert "dp" not in change
    else:
        assert int(str(change["tp"])) * int(str(change["dp"])) == copies
        assert int(str(change.get("dp_local", 0))) * int(str(change["tp"])) == local


def test_it_is_sure_where_weights_and_cache_alone_are_too_large() -> None:
    sizes, held = model("qwen3-32b"), machine_of("h100-sxm", 1).device.memory_bytes
    cache = 2 * 64 * 8 * 128 * 2 * 40960  # keys and values of 64 layers, 8 heads of 128 in two bytes
    for share in (0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
        found = fit(memory_share=share, max_len=40960)
        table = sizes.vocabulary * sizes.hidden  # of the input, beside that of the output
        is_beyond = 2 * (sizes.parameters + table) + cache > share * held
        assert (found is not None and found.is_sure) == is_beyond, share


def test_an_engine_that_hands_out_blocks_starts_with_less_than_its_longest_request() -> None:
    assert fit("vllm", memory_share=0.78, max_len=40960) is not None
    found = fit("sglang", memory_share=0.78, max_len=40960)
    assert found is not None
    assert found.starts
    assert 1024 < float(str(found.reliefs[0]["max_len"])) < 40960
    assert fit("sglang", memory_share=0.78) is None  # nobody told it a length
    found = fit("sglang", memory_share=0.7)
    assert found is not None
    assert not found.starts


def test_what_is_left_open_or_lies_elsewhere_is_not_judged() -> None:
    moved: dict[str, Any] = {"--cpu-offload-gb": 40}
    assert fit(memory_share=0.5, **moved) is None
    fitted: dict[str, Any] = {"--max-model-len": "auto"}
    assert fit(**fitted) is None
    for size, starts in ((12, True), (5, False)):
        given: dict[str, Any] = {"--kv-cache-memory-bytes": size * 10**9}
        assert (fit(**given) is None) == starts


def test_the_layout_is_that_of_the_launch_where_the_question_has_none() -> None:
    question = Question(
        model=model("qwen3-32b"), machine=machine_of("h100-sxm", 4), phase="serving", engine="vllm",
        version="0.33.0", settings={"precision": "bf16"},
    )  # fmt: skip
    told: dict[str, Any] = {"--gpu-memory-utilization": 0.5, "--max-model-len": 8192}
    assert server_fit(question, told, "vllm") is not None
    assert server_fit(question, {**told, "-tp": 4}, "vllm") is None


def test_slots_for_adapters_are_memory_that_fewer_or_lower_ones_give_back() -> None:
    told: dict[str, Any] = {"--enable-lora": True, "--max-loras": 64, "--max-lora-rank": 256}
    found = fit(name="qwen3-8b", max_len=8192, **told)
    assert found is not None
    assert {"lora_slots", "lora_rank"} <= {fact for change in found.reliefs for fact in change}
    names = {"lora_slots": "--max-loras", "lora_rank": "--max-lora-rank"}
    for change in found.reliefs:
        if names.keys() & change.keys():
            less = {names.get(fact, fact): value for fact, value in change.items()}
            assert fit(name="qwen3-8b", max_len=8192, **{**told, **less}) is None, change
    del told["--enable-lora"]
    assert fit(name="qwen3-8b", max_len=8192, **told) is None


def test_llama_cpp_takes_the_whole_context_at_the_start() -> None:
    question = Question(
        model=model("qwen3-8b"), machine=machine_of("geforce-rtx-4090", 1), phase="serving", engine="llama.cpp",
        settings={"precision": "w4a16", "device_layers": 99},
    )  # fmt: skip
    told: dict[str, Any] = {"-c": 262144, "-ngl": 99}
    found = server_fit(question, told, "llama.cpp")
    assert found is not None
    for change in found.reliefs:
        less = {"-c": change.get("max_len", 262144), "-ngl": change.get("device_layers", 99)}
        kept = {k: v for k, v in change.items() if k in {"precision_cache", "device_layers"}}
        settings = {**question.settings, **kept}
        after = server_fit(replace(question, settings=settings), {**told, **less}, "llama.cpp")
        assert after is None, change
    assert server_fit(question, {"-c": 262144}, "llama.cpp") is None  # it fits the layers by itself
    assert server_fit(question, {**told, "-c": 8192}, "llama.cpp") is None


def test_llama_cpp_is_told_how_many_layers_fit() -> None:
    """As many as there is room for: with one more it does not start."""
    question = Question(
        model=model("qwen3-32b"), machine=machine_of("geforce-rtx-4060-laptop", 1), phase="serving",
        engine="llama.cpp", settings={"precision": "w4a16", "device_layers": 99},
    )  # fmt: skip
    found = server_fit(question, {"-c": 16384, "-ngl": 99}, "llama.cpp")
    assert found is not None
    [layers] = [one["device_layers"] for one in found.reliefs if "device_layers" in one]
    assert isinstance(layers, int)
    for more, starts in ((0, True), (1, False)):
        told = replace(question, settings={**question.settings, "device_layers": layers + more})
        fit = server_fit(told, {"-c": 16384, "-ngl": layers + more}, "llama.cpp")
        assert (fit is None) == starts


def test_experts_leave_the_device_before_whole_layers_do() -> None:
    """As few as make room: with one layer's less the weights alone are beyond it."""
    question = Question(
        model=model("qwen3-235b-a22b"), machine=machine_of("geforce-rtx-4090", 1), phase="serving",
        engine="llama.cpp", settings={"precision": "w4a16", "device_layers": 20},
    )  # fmt: skip
    found = server_fit(question, {"-c": 16384, "-ngl": 20}, "llama.cpp")
    assert found is not None
    assert found.reliefs[0]["device_layers"] == 95
    layers = found.reliefs[0]["host_experts"]
    assert isinstance(layers, int)
    assert 70 < layers <= 94
    assert written_change(found.reliefs[0], "llama.cpp", "", {}) == f"--gpu-layers 95 --n-cpu-moe {layers}"


@pytest.mark.parametrize(
    ("count", "more", "starts"),
    [
        (1, {}, False),
        (2, {}, True),
        (8, {}, True),
        (8, {"--split-mode": "none"}, False),
        (8, {"-sm": "row"}, True),
    ],
)
def test_llama_cpp_shares_its_layers_out_over_all_devices_unless_told(
    count: int, more: dict[str, str], starts: bool
) -> None:
    question = Question(
        model=model("qwen3-32b"), machine=machine_of("ascend-910b3", count), phase="serving",
        engine="llama.cpp", settings={"precision": "bf16", "device_layers": 99},
    )  # fmt: skip
    assert (server_fit(question, {"-c": 8192, "-ngl": 99, **more}, "llama.cpp") is None) is starts


@pytest.mark.parametrize(("share", "is_high"), [(0.83, False), (0.9, False), (0.95, True), (0.98, True)])
def test_a_share_leaves_room_for_graphs_and_activations(share: float, is_high: bool) -> None:
    held = machine_of("h100-sxm", 1).device.memory_bytes
    usual = share_too_high("sglang", share, held, 2, None)
    assert (usual is not None) == is_high
    assert usual is None or share_too_high("sglang", usual, held, 2, None) is None
    assert share_too_high("vllm", share, held, 2, None) is None


@pytest.mark.parametrize(
    ("memory_gib", "tp", "chunk", "mib"),
    [(16, 4, None, 4112), (24, 1, None, 3760), (40, 4, 1024, 4416), (80, 1, None, 13440), (80, 8, None, 14848),
     (80, 1, 2048, 10240), (200, 8, None, 27136)],
)  # fmt: skip
def test_sglang_keeps_what_its_own_sum_says(memory_gib: int, tp: int, chunk: int | None, mib: int) -> None:
    """512 + 1.5 for each token of a prefill + 2 for each request of a graph + tp / 8 of 1,024 (server_args.py)."""
    assert sglang_reserve(memory_gib * 2**30, tp, chunk) == mib * 2**20


@pytest.mark.parametrize("program", ["vllm", "sglang"])
def test_where_the_memory_is_not_known_nothing_is_judged(program: str) -> None:
    facts = {name: value for name, value in facts_of("h100-sxm").items() if "memory_bytes" not in name}
    device = replace(machine_of("h100-sxm", 1).device, facts=facts)
    question = Question(
        model=model("qwen3-32b"), machine=replace(machine_of("h100-sxm", 1), device=device),
        phase="serving", engine=program, version="", settings={"precision": "bf16"},
    )  # fmt: skip
    assert server_fit(question, {}, program, most=40960) is None
