"""Assumptions of a layout's price, as flags."""

from dataclasses import replace

import pytest

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from recommender.ranking.feasibility.server_fit import PAGE
from recommender.ranking.plan_setting import Origin
from recommender.ranking.starts.assumed import assumed_settings, one_queue
from recommender.ranking.starts.lengths import longest
from tests.unit.recommender.ranking.starts.situations import situation


def flags(
    framework: str, layout: ParallelLayout, settings: dict[str, object], **facts: float
) -> dict[str, object]:
    about = situation(framework=framework)
    about = replace(about, facts={**about.facts, **facts})
    made = assumed_settings(about, layout, settings)
    assert all(item.origin is Origin.COST_MODEL for item in made)
    return {item.key: item.value for item in made}


@pytest.mark.parametrize(
    ("prompt", "answer", "tokens"), [(1000, 24, 1024), (1000, 25, 2048), (4096, 1, 5120)]
)
def test_the_longest_sequence_is_rounded_up_to_a_page(prompt: int, answer: int, tokens: int) -> None:
    assert longest(situation(input_len=prompt, output_len=answer)) == tokens
    assert tokens % PAGE == 0


def test_the_length_that_is_not_stated_is_as_the_price_takes_it() -> None:
    assert longest(situation(input_len=1000)) == 2048
    assert flags("vllm", ParallelLayout(), {"batch": 8.0}) == {"--max-num-seqs": 8}


def test_servers_count_requests_each_in_its_own_way() -> None:
    layout = ParallelLayout(tp=2, dp=4)
    lengths = {"input_len": 2000.0, "output_len": 48.0}
    assert flags("vllm-ascend", layout, {"batch": 8.0, "precision": "fp16"}, **lengths) == {
        "--max-model-len": 2048,
        "--max-num-seqs": 8,
        "--dtype": "float16",
    }
    assert flags("sglang", layout, {"batch": 8.0}, **lengths) == {
        "--context-length": 2048,
        "--max-running-requests": 32,
    }


def test_graphs_are_asked_for_where_an_engine_captures_fewer_requests() -> None:
    assert flags("tensorrt-llm", ParallelLayout(), {"batch": 128.0}) == {"--max_batch_size": 128}
    more = flags("tensorrt-llm", ParallelLayout(), {"batch": 256.0})
    assert more == {"--max_batch_size": 256, "cuda_graph_config.max_batch_size": 256}


@pytest.mark.parametrize(("framework", "kept"), [("vllm-ascend", "ascend"), ("vllm", None)])
def test_integer_weights_are_named_where_the_engine_does_not_see_them(
    framework: str, kept: str | None
) -> None:
    assert flags(framework, ParallelLayout(), {"precision": "int8"}).get("--quantization") == kept
    assert "--quantization" not in flags(framework, ParallelLayout(), {"precision": "bf16"})
    assert flags("sglang", ParallelLayout(), {"precision": "fp16"})["--dtype"] == "float16"


def test_training_sets_what_its_price_counts_on() -> None:
    alone = flags("megatron-lm", ParallelLayout(), {"micro_batch": 2.0})
    assert alone == {"--bf16": True, "--micro-batch-size": 2}
    split = flags(
        "mindspeed-llm",
        ParallelLayout(tp=2, dp=4),
        {"micro_batch": 1, "recompute": "full", "precision": "fp16"},
    )
    assert split.keys() == {
        "--fp16",
        "--micro-batch-size",
        "--sequence-parallel",
        "--use-distributed-optimizer",
        "--overlap-grad-reduce",
        "--overlap-param-gather",
        "--use-flash-attn",
        "--recompute-granularity",
        "--recompute-method",
        "--recompute-num-layers",
    }


def test_adapters_are_part_of_the_command_where_the_framework_has_them() -> None:
    adapted: dict[str, object] = {"micro_batch": 1, "lora_rank": 8.0}
    asked = flags("mindspeed-llm", ParallelLayout(), adapted)
    assert asked["--lora-r"] == 8
    assert asked["--lora-target-modules"] == "linear_qkv linear_proj linear_fc1 linear_fc2"
    with pytest.raises(InputError, match="megatron-lm has no setting that says lora_rank=8"):
        flags("megatron-lm", ParallelLayout(), adapted)


def test_a_framework_without_such_flags_gets_none() -> None:
    assert flags("torch-npu", ParallelLayout(dp=8), {"batch": 8.0}) == {}


def test_the_number_format_that_is_told_is_the_one_that_is_written() -> None:
    about = situation(phase="training", framework="megatron-lm")
    work = replace(about.problem.workload, precision="fp8")
    told = replace(about, problem=replace(about.problem, workload=work))
    for settings in ({"precision": "bf16"}, None):  # as it is priced, and without a price
        made = {item.key: item.value for item in assumed_settings(told, ParallelLayout(), settings)}
        assert {"--fp8-format": "hybrid", "--bf16": True}.items() <= made.items()
    assert assumed_settings(about, ParallelLayout(), None) == []


@pytest.mark.parametrize(
    ("framework", "layout", "fp4", "needed"),
    [
        ("megatron-lm", ParallelLayout(tp=2), False, True),
        ("mindspeed-llm", ParallelLayout(cp=2), False, True),
        ("megatron-lm", ParallelLayout(pp=2, dp=2), False, False),
        ("megatron-lm", ParallelLayout(tp=2), True, False),
        ("vllm", ParallelLayout(tp=2), False, False),
    ],
)
def test_megatron_gets_the_variable_that_it_checks(
    framework: str,
    layout: ParallelLayout,
    fp4: bool,
    needed: bool,
) -> None:
    about = situation(framework=framework)
    about = replace(about, facts={**about.facts, "has_fp4": fp4})
    made = one_queue(about, layout, [])
    assert [(item.where, item.key, item.value) for item in made] == [
        (SettingPlace.ENV, "CUDA_DEVICE_MAX_CONNECTIONS", "1")
    ] * needed
    assert not one_queue(about, layout, made)
