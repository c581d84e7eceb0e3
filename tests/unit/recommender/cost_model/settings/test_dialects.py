"""Settings of frameworks in the cost model's words."""

from typing import Any

import pytest

from recommender.cost_model.settings.dialects import OFF, captured_rows, translate
from recommender.cost_model.settings.plans import SERVING, TRAINING


@pytest.mark.parametrize(
    ("told", "phase", "settings", "untold"),
    [
        (
            {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2, "micro_batch_size": 1,
             "num_layers_per_virtual_pipeline_stage": 4, "HCCL_BUFFSIZE": 200},
            "training",
            {"tensor_parallel": 2, "pipeline_parallel": 2, "micro_batch": 1, "virtual_stages": 4},
            ("HCCL_BUFFSIZE",),
        ),
        (
            {"use_flash_attn": True, "use_fused_rmsnorm": True, "recompute_granularity": "full", "bf16": True,
             "use_distributed_optimizer": True, "overlap_grad_reduce": False},
            "training",
            {"flash_attention": 1, "fused_ops": 1, "recompute": "full", "precision": "bf16", "zero_stage": 1},
            (),
        ),
        (
            {"tensor_parallel_size": 4, "enforce_eager": True, "enable_expert_parallel": True,
             "quantization": "ascend", "max_num_seqs": 16, "use_flash_attn": True},
            "serving",
            {"tensor_parallel": 4, "graph": 0, "expert_parallel": 16, "precision": "int8", "batch": 16},
            ("use_flash_attn",),
        ),
        ({"cudagraph_mode": "FULL_DECODE_ONLY", "tp-size": 2}, "serving", {"graph": 1, "tensor_parallel": 2}, ()),
    ],
)  # fmt: skip
def test_known_names_are_translated_and_the_others_named(
    told: dict[str, Any], phase: str, settings: dict[str, object], untold: tuple[str, ...]
) -> None:
    found = translate(told, phase, count=16, layers=32)
    assert dict(found.settings) == settings
    assert found.untold == untold


def test_what_is_off_is_a_setting_with_a_value_of_its_own() -> None:
    assert all(name in TRAINING or name in SERVING for name in OFF)


def test_sglang_counts_replicas_inside_its_tensor_parallel_size() -> None:
    told = {"--tp-size": "16", "--dp-size": "16", "--enable-dp-attention": "true", "--ep-size": "16",
            "--max-running-requests": "512", "--chunked-prefill-size": "-1",
            "--speculative-num-draft-tokens": "4"}  # fmt: skip
    found = translate(told, "serving", count=16)
    assert dict(found.settings) == {
        "tensor_parallel": 1, "data_parallel": 16, "expert_parallel": 16, "batch": 32, "chunk": 0,
        "speculative_tokens": 3,
    }  # fmt: skip
    assert found.untold == ()


def test_replicas_of_whole_models_do_not_divide_the_tensor_parallel_size() -> None:
    found = translate({"tp_size": 4, "dp_size": 2}, "serving", count=8)
    assert dict(found.settings) == {"tensor_parallel": 4, "data_parallel": 2}


def test_experts_are_spread_over_all_ranks_that_exchange_tokens() -> None:
    found = translate({"tp_size": 32, "moe_a2a_backend": "deepep"}, "serving", count=32)
    assert found.settings["expert_parallel"] == 32
    assert found.untold == ()


def test_fields_of_an_object_are_settings_and_those_of_a_peer_are_not() -> None:
    told = {"speculative_config.num_speculative_tokens": "1", "compilation_config.cudagraph_mode": "NONE",
            "kv_transfer_config.kv_connector_extra_config.prefill.tp_size": "8"}  # fmt: skip
    found = translate(told, "serving", count=16)
    assert dict(found.settings) == {"speculative_tokens": 1, "graph": 0}
    by_layer = {"speculative_config.method": "deepseek_mtp"}
    assert dict(translate(by_layer, "serving").settings) == {"speculative_tokens": 1, "draft_method": "mtp"}
    stated = {**by_layer, "speculative_config.num_speculative_tokens": "3"}
    assert dict(translate(stated, "serving").settings) == {"speculative_tokens": 3, "draft_method": "mtp"}
    assert found.untold == ("kv_transfer_config.kv_connector_extra_config.prefill.tp_size",)


def test_each_program_tells_its_drafts() -> None:
    tree = {"--speculative-algorithm": "EAGLE3", "--speculative-num-steps": "5", "--speculative-eagle-topk": "8",
            "--speculative-num-draft-tokens": "32"}  # fmt: skip
    found = translate(tree, "serving", program="sglang")
    drafts = {"speculative_tokens": 31, "draft_steps": 5, "draft_method": "eagle3"}
    assert dict(found.settings) == drafts
    assert found.untold == ("--speculative-eagle-topk",)
    layers = {
        "speculative_config.decoding_type": "MTP",
        "speculative_config.num_nextn_predict_layers": "2",
    }
    for told in (layers, {name.replace("config.", ""): value for name, value in layers.items()}):
        found = translate(told, "serving", program="tensorrt-llm")
        assert dict(found.settings) == {"speculative_tokens": 2, "draft_method": "mtp"}
        assert found.untold == ()


def test_graphs_are_told_apart() -> None:
    told = {"compilation_config.cudagraph_mode": "PIECEWISE", "speculative_config.enforce_eager": "true",
            "compilation_config.cudagraph_capture_sizes": "[2, 4, 48, 8]"}  # fmt: skip
    found = translate(told, "serving", count=16)
    assert dict(found.settings) == {"graph": 0.5, "draft_graph": 0, "captured_rows": 48}
    assert dict(translate({"enforce_eager": True}, "serving").settings) == {"graph": 0}
    assert dict(translate({"speculative_config.enforce_eager": False}, "serving").settings) == {}


def test_the_most_sequences_decide_what_is_captured() -> None:
    told = {"--max-num-seqs": "12"}
    assert captured_rows("vllm-ascend", "0.20.2rc1", told, {}) == {"captured_rows": 8}
    assert captured_rows("vllm-ascend", "0.20.2rc1", told, {"speculative_tokens": 1}) == {"captured_rows": 24}
    assert captured_rows("vllm", "0.20.2", told, {}) == {}
    assert captured_rows("vllm-ascend", "0.20.2rc1", {"tp_size": 4}, {}) == {}


@pytest.mark.parametrize(
    ("told", "rank"),
    [
        ({"--lora-r": "8", "--lora-target-modules": "linear_qkv"}, 8),
        ({"--lora-target-modules": "linear_qkv"}, 16),
        ({"lora_rank": 32}, 32),
        ({"--kv-lora-rank": 512, "--q-lora-rank": 1536}, None),
    ],
)
def test_adapters_are_read_and_compressed_attention_is_none(told: dict[str, Any], rank: int | None) -> None:
    assert translate(told, "training").settings.get("lora_rank") == rank


@pytest.mark.parametrize(
    ("told", "settings"),
    [
        ({"load_in_4bit": True, "lora_r": 64, "optim": "paged_adamw_8bit"},
         {"frozen_bits": 4, "lora_rank": 64, "optimizer_kind": "adam_8bit"}),
        ({"finetuning_type": "lora", "quantization_bit": 4}, {"lora_rank": 8, "frozen_bits": 4}),
        ({"adapter": "qlora", "lora_r": 32, "load_in_8bit": True}, {"lora_rank": 32, "frozen_bits": 8}),
        ({"zero_optimization.stage": 3, "zero_optimization.offload_param.device": "cpu",
          "zero_optimization.offload_optimizer.device": "cpu"},
         {"zero_stage": 3, "offload": "parameters", "pure_bf16": 0}),
        ({"fsdp_config.fsdp_reshard_after_forward": False}, {"zero_stage": 2, "pure_bf16": 0}),
        ({"use_liger_kernel": True, "torch_dtype": "bfloat16"}, {"loss_kind": "chunked", "precision": "bf16", "pure_bf16": 1}),
        ({"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4}, {"micro_batch": 2, "global_batch": 64}),
        ({"--recompute-granularity": "full", "--recompute-method": "block", "--recompute-num-layers": 2},
         {"recompute": "full", "recompute_layers": 2}),
        ({"--recompute-granularity": "full", "--recompute-method": "uniform", "--recompute-num-layers": 1},
         {"recompute": "full"}),
        ({"enable_activation_checkpointing": True, "batch_size": 2}, {"recompute": "full", "micro_batch": 2}),
    ],
)  # fmt: skip
def test_what_trainers_of_one_program_say_of_memory(
    told: dict[str, Any], settings: dict[str, object]
) -> None:
    assert dict(translate(told, "training", count=8).settings) == settings


@pytest.mark.parametrize(
    ("program", "told", "fused"),
    [
        ("axolotl", {"flash_attention": False}, 1),  # PyTorch's own is fused
        ("axolotl", {"eager_attention": True}, 0),
        ("", {"flash_attention": False}, 0),
    ],
)
def test_a_name_that_programs_share_is_read_as_the_one_that_runs(
    program: str, told: dict[str, Any], fused: int
) -> None:
    assert translate(told, "training", program=program).settings["flash_attention"] == fused


@pytest.mark.parametrize(
    ("told", "offload"),
    [
        ({"deepspeed": "zero3_offload"}, "parameters"),
        ({"deepspeed": "examples/deepspeed/ds_z2_offload_config.json"}, "optimizer"),
        ({"deepspeed": "deepspeed_configs/zero3_bf16_cpuoffload_all.json"}, "parameters"),
        ({"deepspeed": "zero3"}, None),
    ],
)
def test_files_that_trainers_bring_say_by_name_that_they_offload(
    told: dict[str, Any], offload: str | None
) -> None:
    for program in ("ms-swift", "llama-factory", "axolotl", ""):
        assert translate(told, "training", program=program, count=8).settings.get("offload") == offload
