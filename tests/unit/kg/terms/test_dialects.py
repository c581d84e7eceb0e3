"""Facts that settings state, and the spelling of a fact."""

from typing import Any

import pytest

from kg.nouns.layout import ParallelLayout
from kg.nouns.values import Value
from kg.terms.dialects import _statement, degrees_of, layout_of, positive, spell, spelling_in, statement
from kg.terms.meanings import kinds, programs, settings_of


@pytest.mark.parametrize("program", programs())
def test_what_is_spelt_says_the_same_again(program: str) -> None:
    tried = 0
    for fact in {item.fact for item in settings_of(program)}:
        for value in (0, 1, 2, 8, 0.5, "bf16", "fp16", "int8", "fp8", "full", "selective", "optimizer"):
            found = spell(fact, program, value=value)
            if found is None or found[0].product or isinstance(value, str) != (kinds()[fact] == "choice"):
                continue
            meaning, written = found
            if meaning.reads(written) and meaning.switch is None:
                assert meaning.says(written) == value
                tried += 1
    assert tried


def test_replicas_are_counted_inside_where_attention_is_replicated() -> None:
    told: dict[str, Value] = {
        "--tp-size": "16",
        "--dp-size": 4,
        "--enable-dp-attention": "true",
        "--max-running-requests": 512,
    }
    found = statement(told, "sglang")
    assert (found.facts["tp"], found.facts["dp"], found.facts["batch"]) == (4, 4, 128)
    assert (found.program_facts["tp"], found.program_facts["batch"]) == (16, 512)
    assert layout_of(told, "sglang") == ParallelLayout(tp=16, dp=4, dp_attention=True)
    assert layout_of({"tp_size": 4, "dp_size": 2}, "sglang") == ParallelLayout(tp=4, dp=2)
    assert degrees_of({"tp_size": 8, "enable_attention_dp": True}, "tensorrt-llm") == {"tp": 1, "dp": 8}
    assert statement({"max_num_seqs": 512, "dp": 4}).facts["batch"] == 512


@pytest.mark.parametrize(
    ("told", "degrees"),
    [
        ({"tensor_parallel_size": 4, "data_parallel_size": 2, "enable_expert_parallel": True}, {"tp": 4, "dp": 2, "ep": 8}),
        ({"tp_size": 8, "moe_a2a_backend": "deepep"}, {"tp": 8, "ep": 8}),
        ({"tp_size": 8, "moe_a2a_backend": "none"}, {"tp": 8}),
        ({"tp_size": 8, "ep_size": 4, "moe_a2a_backend": "deepep"}, {"tp": 8, "ep": 4}),
        ({"worldSize": 16}, {"tp": 16}),
        ({"parallel_config": '{"model_parallel": 2, "pipeline_stage": 4}'}, {"tp": 2, "pp": 4}),
        ({"tp": True, "pp": "x", "dp": 0}, {}),
    ],
)  # fmt: skip
def test_degrees_are_counted_one_way(told: dict[str, int | str], degrees: dict[str, int]) -> None:
    assert degrees_of(told) == degrees


def test_a_switch_for_all_ranks_stands_for_the_devices_where_no_size_is_stated() -> None:
    assert statement({"enable_expert_parallel": True}, devices=16).facts == {"ep": 16}
    assert statement({"enable_expert_parallel": False}, devices=16).facts == {"ep": 1}
    assert statement({"enable_expert_parallel": True}).facts == {}


def test_names_that_were_read_are_known_by_their_facts() -> None:
    found = statement({"--enforce-eager": False, "HCCL_BUFFSIZE": 200, "quantization": "unheard"})
    assert (dict(found.facts), dict(found.fact_of)) == ({}, {"--enforce-eager": "graph"})


@pytest.mark.parametrize(
    ("fact", "program", "value", "key", "written"),
    [
        ("tp", "sglang", 8, "--tp-size", 8),
        ("tp", "mindformers", 8, "parallel_config.model_parallel", 8),
        ("ep", "vllm-ascend", 8, "--enable-expert-parallel", True),
        ("precision", "vllm-ascend", "int8", "--quantization", "ascend"),
        ("precision", "megatron-lm", "bf16", "--bf16", True),
        ("chunk", "sglang", 0, "--chunked-prefill-size", -1),
        ("batch", "sglang", 8, "--max-running-requests", 32),
        ("loss_kind", "maxtext", "chunked", "num_vocab_tiling", 8),
        ("loss_kind", "mindspeed-llm-fsdp", "chunked", "optimization.chunk_loss_size", 1024),
        ("graph", "sglang", 0, "--disable-cuda-graph", True),
    ],
)
def test_a_fact_is_spelt_as_a_program_takes_it(
    fact: str, program: str, value: int | str, key: str, written: object
) -> None:
    found = spell(fact, program, value=value, copies=4)
    assert found is not None
    assert (found[0].key, found[1]) == (key, written)


def test_what_a_program_is_not_told_is_not_spelt() -> None:
    assert spell("dp", "megatron-lm", value=2) is None
    assert spell("tp", "gromacs", value=2) is None
    assert spell("graph", "sglang", value=1) is None


def test_a_release_takes_the_spelling_that_it_has() -> None:
    old, new = (spell("captured_requests", "sglang", release, 64) for release in ("0.5.6.post2", "0.5.23"))
    assert [found and found[0].key for found in (old, new)] == [
        "--cuda-graph-max-bs",
        "--cuda-graph-max-bs-decode",
    ]
    assert spell("tp", "sglang", "no release", 2) is not None


def test_a_spelling_of_another_program_is_the_one_of_this() -> None:
    names = ("tp", "tensor_parallel_size", "--tp-size", "--max-num-seqs", "worldSize", "HCCL_BUFFSIZE")
    assert [spelling_in("sglang", name) for name in names] == [
        "--tp-size", "--tp-size", "--tp-size", "--max-num-seqs", "worldSize", "HCCL_BUFFSIZE",
    ]  # fmt: skip
    assert spelling_in("vllm", "num_speculative_tokens") == "speculative_config.num_speculative_tokens"
    assert spelling_in("gromacs", "tp") == "tp"


def test_what_weights_are_quantised_to_counts_before_what_computes() -> None:
    told: dict[str, Value] = {"--dtype": "bfloat16", "--quantization": "modelslim"}
    other = dict(reversed(told.items()))
    assert [statement(one).facts["precision"] for one in (told, other)] == ["int8", "int8"]
    assert statement({"dtype": "half", "--dtype": "bfloat16"}).facts["precision"] == "bf16"


def test_whole_numbers() -> None:
    assert [positive(value) for value in (4, "4", 4.0, 0, -1, True, "x", None, 1.5, 1e400)] == [
        4, 4, 4, None, None, None, None, None, None, None
    ]  # fmt: skip


def test_a_list_among_the_settings_of_a_case_states_nothing() -> None:
    stated: dict[str, Any] = {"tp": 2, "cube_sizes": [1, [2]], "tensor_parallel_size_list": {"a": [1]}}
    assert statement(stated).facts == {"tp": 2}


def test_numbers_without_a_meaning_are_read_once() -> None:
    """A hundred thousand outcomes try as many tiles of a kernel."""
    statement({"tile_of_ours": 0})
    before = _statement.cache_info().misses
    assert all(not statement({"tile_of_ours": tile}).facts for tile in range(1, 50))
    assert _statement.cache_info().misses == before
