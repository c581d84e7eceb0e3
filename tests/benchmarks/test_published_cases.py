"""Measured cases and published rows as questions to the cost model."""

import json
from typing import Any

import pytest

from benchmarks.cost_models.published_cases import release_on
from benchmarks.cost_models.published_question import down_from
from benchmarks.cost_models.published_rows import case_row, question_of
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def shipped() -> ShippedKnowledge:
    return ShippedKnowledge.load()


def case(**config: Any) -> dict[str, str]:
    content = {
        "case_id": "corpus/1", "corpus": "corpus", "group_id": "g",
        "task": {"kind": "serving", "op": "serve", "model": "deepseek-ai/DeepSeek-R1-0528", "dtype": "fp4",
                 "shape": {"input_len": 1024, "output_len": 3072, "concurrency": 64}},
        "hardware": {"vendor": "nvidia", "name": "b200"},
        "config": {"framework": "sglang", "tp": 8, "ep": 8, "dp_attention": True, "num_gpus": 8, **config},
        "outcome": {"metric": "throughput", "unit": "tokens/s/gpu", "value": 400.0,
                    "counts": "input and output tokens, per GPU used"},
        "source": {"framework_version": "v0.5.12"},
    }  # fmt: skip
    return case_row(content, json.dumps(content))


def test_attention_by_data_shares_the_requests_and_output_tokens_are_part_of_all(
    shipped: ShippedKnowledge,
) -> None:
    asked = question_of(case(), shipped)
    assert asked.machine.device.id == "b200"
    assert (asked.value, asked.shares) == (300.0, 8.0)  # 3072 of 4096 tokens
    first = asked.settings[0]
    assert (first["tensor_parallel"], first["data_parallel"], first["expert_parallel"]) == (1, 8, 8)
    assert (first["batch"], first["precision"]) == (8, "fp4")
    assert (asked.engine, asked.version) == ("sglang", "v0.5.12")


def test_the_scripts_of_a_corpus_set_what_its_cases_leave_out(shipped: ShippedKnowledge) -> None:
    first = question_of(case(), shipped).settings[0]
    assert "precision_cache" not in first
    told = json.loads(case(framework="trt")["case"])
    told["corpus"] = "inferencex_serving"
    asked = question_of(case_row(told, json.dumps(told)), shipped)
    assert asked.settings[0]["precision_cache"] == "fp8"
    assert asked.engine == "tensorrt-llm"


def test_a_publication_says_which_part_and_release_it_ran(shipped: ShippedKnowledge) -> None:
    told = json.loads(case(framework="vLLM", tp=1, ep=1, dp_attention=False, num_gpus=1)["case"])
    told["task"] |= {"model": "meta-llama/Meta-Llama-3-8B", "dtype": "bf16"}
    told["hardware"] = {"vendor": "nvidia", "name": "Nvidia A100", "reported_name": "Nvidia A100 GPU"}
    told["source"] = {"repo": "argonne-lcf/LLM-Inference-Bench"}
    asked = question_of(case_row(told, json.dumps(told)), shipped)
    assert (asked.machine.device.id, asked.engine, asked.version) == ("a100-sxm4-40gb", "vllm", "0.6.1")


def test_batches_go_down_by_a_sixth() -> None:
    assert down_from(12) == [12, 10, 8, 6, 5, 4, 3, 2, 1]


def test_prefill_apart_is_refused_by_its_name(shipped: ShippedKnowledge) -> None:
    with pytest.raises(NotExpressibleError, match="prefill and decode apart"):
        question_of(case(disaggregated=True), shipped)


def row(**more: str) -> dict[str, str]:
    base = dict.fromkeys(
        ("id", "model", "family", "task", "hardware", "chip", "n_devices", "framework", "precision", "config", "batch",
         "seq_in", "seq_out", "metric", "value", "unit", "group"), "",
    )  # fmt: skip
    return {**base, **more}


def test_a_share_of_the_peak_becomes_tokens_a_second(shipped: ShippedKnowledge) -> None:
    asked = question_of(
        row(model="Llama2-7B", family="LLM", task="train", hardware="Atlas 800T A2", chip="910B", n_devices="8",
            precision="bf16", config="TP2 PP1", seq_in="4096", metric="MFU", value="40", unit="%"),
        shipped,
    )  # fmt: skip
    model, peak = asked.model, asked.machine.device.peak("bf16")
    work = 6 * model.parameters + 12 * model.layers * model.hidden * 4096
    assert asked.value == pytest.approx(0.4 * 8 * peak / work)


def test_time_to_train_is_refused_by_what_it_leaves_out(shipped: ShippedKnowledge) -> None:
    with pytest.raises(NotExpressibleError, match="steps until the quality is reached"):
        question_of(row(metric="time_to_train", unit="min"), shipped)


def test_a_day_without_a_release_has_the_release_of_that_day() -> None:
    assert release_on({"date": "2026-01-19"}, "vllm") == "0.6.1"
    assert release_on({"date": "2026-01-20"}, "vllm") == "0.14.0"
    assert release_on({"date_between": ["2025-10-01", "2026-02-01"]}, "tensorrt-llm") == "1.0.0"
    assert release_on({"date": "2023-01-01"}, "vllm") == ""
    assert release_on({}, "vllm") == release_on({"date": "2026-01-20"}, "atom") == ""
