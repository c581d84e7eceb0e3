"""Findings on settings: by rules, by the registry of the release, by the load."""

from typing import Any

import pytest

import data
from ingest.knowledge.files import read_knowledge
from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.running import running_settings
from kg.nouns.audit import FindingKind
from kg.nouns.knowledge import HardwareProfile
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase, audit_case
from recommender.audit.finding import SettingFinding
from recommender.audit.judge import judge_settings
from tests.unit.recommender.audit.judged import judged


def test_a_clean_script_has_no_finding() -> None:
    assert judged("vllm serve m --tensor-parallel-size 4 --max-model-len 8192 --max-num-seqs 256") == {}


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--enforce-eager", "eager-mode"),
        ("--no-enable-prefix-caching", "prefix-caching-off"),
        ("--dtype float32", "float32"),
        ("--dtype=float", "float32"),
        ('--compilation-config \'{"cudagraph_mode": "NONE"}\'', "graphs-off"),
        ("-cc.cudagraph_mode=NONE", "graphs-off"),
        ("--gpu-memory-utilization 0.4", "memory-share-low"),
        ("--max-num-batched-tokens 256", "small-token-budget"),
        ("--max-num-seqs 2", "few-requests"),
    ],
)
def test_a_setting_that_costs_is_found_in_each_spelling(words: str, rule: str) -> None:
    assert rule in judged(f"vllm serve m {words}")


@pytest.mark.parametrize(
    "words",
    ["--no-enforce-eager", "--dtype auto", "--gpu-memory-utilization 0.9", "--enable-prefix-caching"],
)
def test_a_default_that_is_written_out_is_no_finding(words: str) -> None:
    assert judged(f"vllm serve m {words}") == {}


def test_a_format_that_the_device_does_not_compute_is_refused() -> None:
    script, old = "vllm serve m --dtype bfloat16", frozenset({"nvidia", "nvidia-turing", "tesla-t4"})
    found = judged(script, hardware=old, has_bf16=False)["bfloat16-not-computed"]
    assert (found.kind, found.remedy) == (FindingKind.REFUSED, "--dtype float16")
    assert judged(script, hardware=old) == {}  # nothing is known of its formats
    assert judged(script, hardware=old, has_bf16=True) == {}
    assert judged("vllm serve m", hardware=old, has_bf16=False) == {}  # the release chooses


def test_a_cache_in_a_format_that_the_device_lacks_is_refused() -> None:
    script = "vllm serve m --kv-cache-dtype fp8"
    assert "fp8-cache-not-held" in judged(script, "vllm-ascend", "0.23.0", has_fp8=False)
    assert "fp8-cache-not-held" not in judged(script, "vllm-ascend", "0.23.0", has_fp8=True)
    assert "fp8-cache-not-held" not in judged(script, "vllm", "0.33.0", has_fp8=False)


def test_a_format_that_a_trainer_emulates_is_a_finding() -> None:
    script, old = "llamafactory-cli train --bf16 true", frozenset({"nvidia", "nvidia-volta", "tesla-v100"})
    found = judged(script, "llama-factory", "0.9.5", hardware=old, has_bf16=False)
    assert found["bfloat16-emulated"].remedy == "--fp16 true"
    assert "bfloat16-emulated" not in judged(script, "llama-factory", "0.9.5", hardware=old, has_bf16=True)


def test_eager_mode_is_right_on_a_prefill_server() -> None:
    script = 'vllm serve m --enforce-eager --kv-transfer-config \'{"kv_role": "kv_producer"}\''
    assert "eager-mode" not in judged(script)
    assert "eager-mode" in judged(script.replace("kv_producer", "kv_consumer"))


def test_a_setting_is_of_its_program_and_its_release() -> None:
    assert "async-scheduling-off" in judged("vllm serve m --no-async-scheduling")
    assert "async-scheduling-off" not in judged("vllm serve m --no-async-scheduling", version="0.11.0")
    script = "python -m sglang.launch_server --model-path m --disable-cuda-graph"
    assert "sglang-graphs-off" in judged(script, "sglang", "0.5.9")
    assert "sglang-graphs-off" not in judged(script, "llama.cpp", "")


def test_a_plugin_has_the_rules_of_what_it_extends() -> None:
    assert "eager-mode" in judged("vllm serve m --enforce-eager", "vllm-ascend", "0.23.0")


def test_contradictions_are_found_whichever_stands_first() -> None:
    eager = "--enforce-eager"
    graphs = '--compilation-config \'{"cudagraph_mode": "FULL"}\''
    for words in (f"{eager} {graphs}", f"{graphs} {eager}"):
        assert "eager-with-graphs" in judged(f"vllm serve m {words}")
    assert "eager-with-graphs" not in judged(f"vllm serve m {graphs}")


def test_what_does_not_start_comes_before_what_costs() -> None:
    first = next(iter(judged("vllm serve m --enforce-eager --gpu-memory-utilisation 0.9").values()))
    assert first.kind is FindingKind.REFUSED


def test_a_finding_says_what_the_release_does_without_it() -> None:
    assert judged("vllm serve m --enforce-eager")["eager-mode"].default == "--enforce-eager=false"
    found = judged("vllm serve m --no-enable-prefix-caching")["prefix-caching-off"]
    assert found.default == "--enable-prefix-caching=true"
    assert judged("vllm serve m --gpu-memory-utilization 0.3")["memory-share-low"].default.endswith("=0.92")
    assert judged("NCCL_DEBUG=TRACE vllm serve m")["nccl-debug"].default == ""


@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("swift sft --model a/B --torch_dtype float32", "swift-float32"),
        ("llama-server -m a.gguf -fa off", "llamacpp-attention-unfused"),
        ("llama-server -m a.gguf -ctk f32", "llamacpp-cache-float32"),
        ("lmdeploy serve api_server a/B --log-level DEBUG", "sglang-log-requests"),
        ("python -m MaxText.train base.yml attention=dot_product", "maxtext-unfused-attention"),
        ("torchrun -m torchtitan.train --training.mixed_precision_param float32", "titan-float32"),
        ("torchrun -m torchtitan.train --profiler.enable_profiling", "titan-profile"),
        ("accelerate launch --config_file f.yaml train.py --model_name_or_path a/B", "fsdp-no-prefetch"),
        ("base_model: a/B\nsequence_len: 8\neager_attention: true\n", "axolotl-eager-attention"),
        ("base_model: a/B\nsequence_len: 8\nfsdp_config: {fsdp_offload_params: true}\n", "fsdp-offload"),
        ("lmdeploy serve api_server a/B --cache-max-entry-count 0.5", "lmdeploy-cache-share-below-usual"),
    ],
)
def test_what_costs_is_found_in_launches_of_other_programs(script: str, rule: str) -> None:
    file = "distributed_type: FSDP\nfsdp_config: {fsdp_backward_prefetch: NO_PREFETCH}\n"
    launch = read_launch(script, "s", beside={"f.yaml": file}.get)
    case = audit_case(running_settings(script, beside={"f.yaml": file}.get), launch.question)
    assert rule in [item.rule for item in judge_settings(case, shipped_rules())]


def test_a_model_of_one_unit_is_not_sharded_over_devices() -> None:
    script, wrap = "accelerate launch train.py --fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"
    rules = judged(f"{script} NO_WRAP", "transformers", "5.0.0", devices=8)
    assert rules["fsdp-no-wrap"].remedy == f"fsdp_auto_wrap_policy: {wrap}"
    assert "fsdp-no-wrap" not in judged(f"{script} {wrap}", "transformers", "5.0.0", devices=8)
    assert "fsdp-no-wrap" not in judged(f"{script} NO_WRAP", "transformers", "5.0.0", devices=1)


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", True),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=8\n", True),
        ("export CUDA_DEVICE_MAX_CONNECTIONS=1\n", False),
    ],
)
def test_megatron_without_the_variable_that_it_checks(before: str, *, found: bool) -> None:
    script = f"{before}torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1"
    rules = judged(script, "megatron-lm", "0.14.0")
    assert bool({"megatron-hardware-queues", "megatron-hardware-queues-value"} & {*rules}) is found
    assert "megatron-hardware-queues" not in judged(script, "megatron-lm", "0.14.0", has_fp4=True)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("--num-experts 8", "experts-without-sequence-parallel"),
        ("", "sequence-parallel-off"),
        ("--num-experts 8 --sequence-parallel", ""),
        ("--sequence-parallel", ""),
    ],
)
def test_layers_that_are_shared_want_sequence_parallelism(words: str, rule: str) -> None:
    script = f"torchrun pretrain_gpt.py --tensor-model-parallel-size 2 {words}"
    rules = judged(script, "megatron-lm", "0.14.0", phase="training")
    assert [name for name in rules if "sequence-parallel" in name] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("copies", "is_told"), [("", True), ("--dp 1", True), ("--dp-size 8", False), ("--attn-dp-size 8", False)]
)
def test_attention_is_not_copied_over_one_replica(copies: str, is_told: bool) -> None:
    script = f"python -m sglang.launch_server --model-path a/B --tp 8 --enable-dp-attention {copies}"
    assert ("sglang-dp-attention-alone" in judged(script, "sglang", "0.5.23")) is is_told


def test_a_quantisation_by_name_holds_on_to_the_plain_kernels_where_others_run() -> None:
    script = "vllm serve a/B-AWQ --quantization {}"
    ampere: dict[str, Any] = {"hardware": frozenset({"nvidia"}), "has_bf16": True}
    for name in ("awq", "gptq"):
        assert "slow-kernel-by-name" in judged(script.format(name), **ampere)
        assert "slow-kernel-by-name" not in judged(script.format(f"{name}_marlin"), **ampere)
        for other in ({**ampere, "has_bf16": False}, {**ampere, "hardware": frozenset({"huawei"})}):
            assert "slow-kernel-by-name" not in judged(script.format(name), **other)


def test_peer_access_is_asked_for_only_where_cards_have_it() -> None:
    script = "export NCCL_P2P_DISABLE=1\nvllm serve a/B -tp 2"
    assert "nccl-p2p-off" in judged(script, topology="full mesh", devices=2)
    assert "nccl-p2p-off" not in judged(script, topology="pcie", devices=2)


def test_a_310p_computes_no_bfloat16() -> None:
    nodes = {item.id: item for item in read_knowledge(data.text("hardware/ascend.yaml"), "ascend.yaml") if isinstance(item, HardwareProfile)}  # fmt: skip
    path, above = set[str](), "ascend-310p3"
    while above:
        path.add(above)
        above = nodes[above].broader or "" if above in nodes else ""
    found = judged("vllm serve m --dtype bfloat16", hardware=frozenset(path), has_bf16=False)
    assert found["bfloat16-not-computed"].remedy == "--dtype float16"
    assert "eager-mode" not in judged("vllm serve m --enforce-eager", hardware=frozenset(path))


@pytest.mark.parametrize(
    ("role", "mode", "rule", "remedy"),
    [
        ("decode", "normal", "sglang-deepep-normal", "--deepep-mode auto"),
        ("null", "normal", "sglang-deepep-normal", "--deepep-mode auto"),
        ("prefill", "low_latency", "sglang-deepep-low-latency", "--deepep-mode normal"),
    ],
)
def test_a_way_to_the_experts_is_of_its_phase(role: str, mode: str, rule: str, remedy: str) -> None:
    script = "python -m sglang.launch_server --model-path m --moe-a2a-backend deepep --disaggregation-mode"

    def of(role: str, mode: str) -> dict[str, SettingFinding]:
        running = running_settings(f"{script} {role} --deepep-mode {mode}")
        rules = judge_settings(audit_case(running, {"software": {"sglang": "0.5.5"}}), shipped_rules())
        return {item.rule: item for item in rules}

    assert of(role, mode)[rule].remedy == remedy
    assert rule not in of({"prefill": "decode"}.get(role, "prefill"), mode)
    assert rule not in of(role, "auto")


@pytest.mark.parametrize(
    ("script", "program", "rule"),
    [
        ("text-generation-launcher --model-id m --quantize bitsandbytes-nf4", "tgi", "tgi-slow-format"),
        ("llama-server -m m.gguf -ub 128", "llama.cpp", "llamacpp-small-passes"),
    ],
)
def test_a_server_of_another_program_has_costs_of_its_own(script: str, program: str, rule: str) -> None:
    assert rule in judged(script, program, "")
    assert rule not in judged(script.replace("bitsandbytes-nf4", "eetq").replace("128", "512"), program, "")


@pytest.mark.parametrize(
    ("turns", "is_found"),
    [("gradient_accumulation_steps=8", True), ("gradient_accumulation_steps=1", False), ("", False)],
)
def test_weights_that_are_updated_in_the_backward_pass_wait_for_no_micro_batch(
    turns: str, *, is_found: bool
) -> None:
    script = f"tune run full_finetune_distributed --config llama3_1/8B_full optimizer_in_bwd=True {turns}"
    assert ("torchtune-backward-accumulation" in judged(script, "torchtune", "0.6.1")) is is_found


_FSDP = "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: {}\n  fsdp_reshard_after_forward: {}\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"


@pytest.mark.parametrize(
    ("version", "word", "family", "rules"),
    [
        (2, "FULL_SHARD", "llama", ["fsdp2-sharding-word"]),
        (2, "true", "llama", []),
        (1, "FULL_SHARD", "llama", []),
        (1, "FULL_SHARD", "qwen", ["fsdp-layer-of-another-model"]),
    ],
)
def test_the_file_of_accelerate_is_judged_by_what_accelerate_reads(
    version: int, word: str, family: str, rules: list[str]
) -> None:
    """Transformers 5 took the class of layers away; accelerate has it."""
    files = {"f.yaml": _FSDP.format(version, word)}
    running = running_settings("accelerate launch --config_file f.yaml run_clm.py --bf16", beside=files.get)
    case = AuditCase(
        settings=running,
        program="transformers",
        version="5.24.0",
        is_told=True,
        facts={"model": frozenset({family})},
    )
    assert [item.rule for item in judge_settings(case, shipped_rules())] == rules


def test_answers_without_their_padding_and_servers_that_meet_by_a_network() -> None:
    script = "python -m verl.trainer.main_ppo actor_rollout_ref.model.use_remove_padding={}"
    assert "rl-padding-computed" in judged(script.format(False), "verl", "0.9.1")
    assert "rl-padding-computed" not in judged(script.format(True), "verl", "0.9.1")
    script = "export NCCL_SOCKET_IFNAME=lo\ntorchrun --nnodes 2 run_clm.py --bf16"
    assert "own-address-alone" in judged(script, "transformers", "5.0.0", nodes=2)
    assert "own-address-alone" not in judged(script, "transformers", "5.0.0", nodes=1)
