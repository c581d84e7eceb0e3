"""Costs of findings here, and settings that the memory justifies."""

import math
from typing import Any

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.mindformers import read_mindformers
from ingest.questions.launches.running import RunningSetting, running_settings
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.setting import SettingPlace
from recommender.audit.case import AuditCase
from recommender.audit.finding import SettingFinding, factor_of
from recommender.audit.pricing import judged_by_memory
from recommender.workspace.workspace import Workspace

MEGATRON = """torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size {tp} \\
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --swiglu \\
  --seq-length {length} --micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer \\
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
"""


def checked(shipped: Workspace, script: str, hardware: str, **told: Any) -> dict[str, SettingFinding]:
    raw = {**read_launch(script, "launch.sh").question, "hardware": hardware, **told}
    return {item.rule: item for item in shipped.launches.check(raw, running_settings(script)).findings}


def test_the_library_judges_a_text(shipped: Workspace) -> None:
    audit = shipped.check("vllm serve Qwen/Qwen3-8B --enforce-eager", {"hardware": "910b3"})
    assert [item.rule for item in audit.findings] == ["eager-mode"]
    assert not audit.is_clean
    assert audit.to_json()["program"] == "vllm-ascend"


def test_eager_mode_is_priced_with_an_interval(shipped: Workspace) -> None:
    script = "vllm serve Qwen/Qwen3-8B --enforce-eager --max-num-seqs 32"
    priced = checked(shipped, script, "910b3", traits={"concurrency": 8})["eager-mode"].priced
    assert priced is not None
    assert priced.single_gain is None  # the load is told
    assert priced.gain is not None
    assert priced.gain.low < priced.gain.expected < priced.gain.high
    assert math.exp(priced.gain.expected) > 1.2
    assert factor_of(priced.gain).startswith(f"{math.exp(priced.gain.expected):.2f}x (")


def test_the_price_is_that_of_the_cost_model_for_the_same_question(shipped: Workspace) -> None:
    script = "vllm serve Qwen/Qwen3-8B --dtype float32 --max-num-seqs 32"
    priced = checked(shipped, script, "h100-sxm", traits={"concurrency": 8})["float32"].priced
    assert priced is not None
    assert priced.gain is not None
    assert priced.gain.expected > math.log(1.5)
    assert priced.memory_bytes < 0


def test_where_the_host_keeps_up_the_price_is_that_of_one_request(shipped: Workspace) -> None:
    script = "vllm serve Qwen/Qwen2.5-14B-Instruct --enforce-eager --max-num-seqs 256"
    priced = checked(shipped, script, "a100-sxm4-80gb")["eager-mode"].priced
    assert priced is not None
    assert priced.gain is None
    assert priced.single_gain is not None
    assert priced.most == priced.single_gain.expected > 0.2
    loaded = checked(shipped, script, "a100-sxm4-80gb", traits={"concurrency": 256})["eager-mode"].priced
    assert loaded is None


@pytest.mark.parametrize(("tp", "length", "is_waste"), [(8, 2048, True), (1, 32768, False)])
def test_recomputation_is_a_finding_where_the_memory_holds_the_work_without_it(
    shipped: Workspace, tp: int, length: int, is_waste: bool
) -> None:
    found = checked(shipped, MEGATRON.format(tp=tp, length=length), "h100-sxm")
    assert ("full-recomputation" in found) is is_waste
    if is_waste:
        finding = found["full-recomputation"]
        assert finding.level is FindingLevel.WARNING
        assert finding.priced is not None
        assert finding.priced.gain is not None
        assert 1.1 < math.exp(finding.priced.gain.expected) < 1.6
        assert finding.priced.memory_bytes > 0


@pytest.mark.parametrize(("length", "is_waste"), [(8192, True), (32768, False)])
def test_recomputation_gives_way_to_less_of_it_where_the_memory_holds_that(
    shipped: Workspace, length: int, is_waste: bool
) -> None:
    script = (
        "torchrun --nproc_per_node=8 -m torchtitan.train --model.name llama3 --model.flavor 8B"
        f" --training.seq_len {length} --activation_checkpoint.mode full"
    )
    assert ("titan-full-recomputation" in checked(shipped, script, "h100-sxm")) is is_waste


def test_what_the_memory_is_not_known_for_is_a_note(shipped: Workspace) -> None:
    script = MEGATRON.format(tp=8, length=2048)
    raw = read_launch(script, "launch.sh").question
    found = {item.rule: item for item in shipped.launches.check(raw, running_settings(script)).findings}
    assert found["full-recomputation"].level is FindingLevel.NOTE


@pytest.mark.parametrize(("model", "is_waste"), [("Qwen/Qwen3-8B", True), ("Qwen/Qwen3-235B-A22B", False)])
def test_weights_on_the_host_are_a_finding_where_they_fit_the_device(
    shipped: Workspace, model: str, is_waste: bool
) -> None:
    found = checked(shipped, f"vllm serve {model} --cpu-offload-gb 20", "h100-sxm")
    assert ("weights-on-host" in found) is is_waste


def test_zero_offload_is_judged_by_the_memory(shipped: Workspace) -> None:
    script = "deepspeed --num_gpus 8 train.py --deepspeed ds.json --model_name_or_path {model} --bf16 true"
    content = '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}'
    for model, rule in (("Qwen/Qwen2.5-7B", True), ("Qwen/Qwen2.5-72B", False)):
        text = script.format(model=model)
        read = {"ds.json": content}.get
        raw = {**read_launch(text, "launch.sh", beside=read).question, "hardware": "a100-sxm4-80gb"}
        findings = shipped.launches.check(raw, running_settings(text, beside=read)).findings
        found = {item.rule: item for item in findings if item.level is not FindingLevel.NOTE}
        assert ("zero-offload" in found) is rule, model
        assert not rule or found["zero-offload"].priced is None  # what the host does is not modelled


def test_weights_on_the_host_are_judged_beside_states_that_stay_there(shipped: Workspace) -> None:
    text = "deepspeed --num_gpus 4 train.py --deepspeed ds.json --model_name_or_path meta-llama/Llama-3.1-8B \\\n"
    text += " --bf16 true --gradient_checkpointing true --per_device_train_batch_size 1 --max_length 4096"
    device = '{"device": "cpu"}'
    zero = f'{{"stage": 3, "offload_optimizer": {device}, "offload_param": {device}}}'
    read = {"ds.json": f'{{"zero_optimization": {zero}}}'}.get
    raw = {**read_launch(text, "launch.sh", beside=read).question, "hardware": "rtx-4090"}
    found = {item.rule for item in shipped.launches.check(raw, running_settings(text, beside=read)).findings}
    assert found & {"zero-offload", "zero-weights-offload"} == {"zero-weights-offload"}


def test_a_setting_that_is_written_anew_is_priced_against_what_takes_its_place(shipped: Workspace) -> None:
    text = "swift sft --model Qwen/Qwen2.5-7B-Instruct --deepspeed zero3_offload --max_length 4096"
    raw = {**read_launch(text, "launch.sh").question, "hardware": "a100-sxm4-80gb", "count": 8}
    found = {item.rule: item for item in shipped.launches.check(raw, running_settings(text)).findings}
    offload = found["swift-zero-offload"]
    assert offload.instead == ("--deepspeed", "zero3")
    assert offload.priced is None  # both shard all states; what the host does is not modelled


def test_other_lengths_are_other_work_and_no_cost(shipped: Workspace) -> None:
    config = """{"BackendConfig": {"npuDeviceIds": [[0, 1, 2, 3, 4, 5, 6, 7]], "ModelDeployConfig": {
      "maxSeqLen": 2560, "maxInputTokenLen": 4096,
      "ModelConfig": [{"modelName": "qwen2.5-72b", "modelWeightPath": "/m/Qwen2.5-72B", "worldSize": 8}]}}}"""
    found = checked(shipped, config, "910b4")["prompt-beyond-length"]
    assert found.priced is None


def test_what_does_not_start_has_no_price(shipped: Workspace) -> None:
    script = "text-generation-launcher --model-id meta-llama/Llama-3.1-8B --cuda-memory-fraction 0.5"
    found = checked(shipped, f"{script} --max-total-tokens 4096", "geforce-rtx-4090")["no-room-to-start"]
    assert (found.priced, found.remedy) == (None, "--cuda-memory-fraction 1.0")
    config = '{"BackendConfig": {"npuDeviceIds": [[0, 1]], "ModelDeployConfig": {"maxInputTokenLen": 2048, '
    config += '"ModelConfig": [{"modelWeightPath": "Qwen2.5-14B", "worldSize": 2}]}, '
    config += '"ScheduleConfig": {"maxPrefillTokens": 1024}}}'
    assert checked(shipped, config, "910b3")["prompt-beyond-prefill"].priced is None


@pytest.mark.parametrize(("hardware", "is_spare"), [("a10", True), ("tesla-t4", False)])
def test_adapters_need_no_host_where_zero_divides_the_weights(
    shipped: Workspace, hardware: str, is_spare: bool
) -> None:
    task = "model_name_or_path: Qwen/Qwen3-14B\nfinetuning_type: lora\ncutoff_len: 2048\n"
    task += "deepspeed: examples/deepspeed/ds_z3_offload_config.json\n"
    found = checked(shipped, task, hardware, count=4)
    assert ("llamafactory-zero-offload" in found) is is_spare


@pytest.mark.parametrize(
    ("model", "words", "rules"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", "--cpu-offload-gb 80", {"weights-over-host-link"}),
        ("meta-llama/Llama-3.1-8B-Instruct", "--cpu-offload-gb 80", {"weights-on-host"}),
        ("meta-llama/Llama-3.1-8B-Instruct", "--cpu-offload-gb 0", set()),
    ],
)
def test_weights_on_the_host_cost_the_time_of_the_link(
    shipped: Workspace, model: str, words: str, rules: set[str]
) -> None:
    found = checked(shipped, f"vllm serve {model} --max-model-len 8192 {words}", "h100-sxm", count=1)
    assert {*found} == rules
    if "weights-over-host-link" in rules:  # 80 GiB at 64 GB/s
        assert "1,342 ms" in found["weights-over-host-link"].says["en"]
        assert found["weights-over-host-link"].remedy == "--tensor-parallel-size 2"


def test_what_nothing_reads_has_no_price(shipped: Workspace) -> None:
    words = "--model Qwen/Qwen2.5-32B-Instruct --deepspeed zero3_offload --max_length 8192"
    script = f"NPROC_PER_NODE=8 swift sft {words} --train_type full --per_device_train_batch_size 1"
    found = checked(shipped, script, "h100-sxm")["removed-setting"]
    assert (found.setting.key, found.priced) == ("--train_type", None)


def test_what_one_finding_takes_away_is_not_found_again() -> None:
    optimizer, parameters = (
        SettingFinding(
            rule=f"{part}-offload",
            kind=FindingKind.OFFLOAD,
            level=FindingLevel.WARNING,
            setting=RunningSetting(key=f"zero.offload_{part}.device", value="cpu", place=SettingPlace.JSON),
            says={},
            removes=("zero.offload_optimizer", "zero.offload_param"),
            spare=True,
        )
        for part in ("optimizer", "param")
    )
    kept = judged_by_memory([optimizer, parameters], AuditCase(settings=()), None)
    assert [(item.rule, item.level) for item in kept] == [("optimizer-offload", FindingLevel.NOTE)]


def test_a_library_on_another_one_costs_what_that_one_does(shipped: Workspace) -> None:
    """TRL's arguments are those of Transformers, whose rules hold for them."""
    script = "trl sft --model_name_or_path meta-llama/Meta-Llama-3-8B --use_peft --gradient_checkpointing "
    script += "--dataloader_num_workers 0 --torch_empty_cache_steps 4 --per_device_train_batch_size 1"
    found = checked(shipped, script, "a100-sxm4-80gb")
    assert found.keys() == {"gradient-checkpointing", "no-loader-workers", "cache-emptied"}
    assert found["no-loader-workers"].remedy == "--dataloader_num_workers 4"


def test_samples_that_are_filled_up_are_packed(shipped: Workspace) -> None:
    task = "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\nsample_packing: false\n"
    assert "padded-samples" not in checked(shipped, task, "a100-sxm4-80gb")
    found = checked(shipped, f"{task}pad_to_sequence_len: true\n", "a100-sxm4-80gb")
    assert found["padded-samples"].remedy == "sample_packing=true"


def test_engines_of_old_and_scripts_without_one_cost_what_was_measured(shipped: Workspace) -> None:
    old = "export VLLM_USE_V1=0 VLLM_ATTENTION_BACKEND=XFORMERS\nvllm serve Qwen/Qwen2.5-7B-Instruct\n"
    release = {"software": {"vllm": "0.8.5"}}
    assert checked(shipped, old, "h100-sxm", **release).keys() == {
        "vllm-engine-of-old",
        "vllm-backend-of-old",
    }
    assert not checked(shipped, old, "h100-sxm", software={"vllm": "0.10.2"}).keys() - {"vllm-engine-of-old"}
    alone = "from transformers import pipeline\nask = pipeline(model='Qwen/Qwen2.5-7B', device_map='auto')\n"
    assert checked(shipped, alone, "h100-sxm").keys() == {"generate-alone"}
    assert checked(shipped, alone, "h100-sxm", count=2).keys() == {"generate-alone", "layers-in-turn"}


def test_what_costs_in_a_configuration_of_mindformers(shipped: Workspace) -> None:
    task = """use_parallel: True
run_mode: train
runner_config: {{batch_size: 1, sink_mode: {sink}}}
parallel_config: {{data_parallel: 2, model_parallel: 4, pipeline_stage: 1, micro_batch_num: 1}}
recompute_config: {{recompute: True}}
context: {{mode: {mode}}}
model:
  model_config: {{type: LlamaConfig, num_layers: 32, hidden_size: 4096, num_heads: 32, seq_length: 4096,
    vocab_size: 32000, intermediate_size: 11008, use_flash_attention: {flash}}}
"""

    def found(text: str) -> dict[str, SettingFinding]:
        raw = {**read_mindformers(text.encode(), "task.yaml").question, "hardware": "910b3"}
        raw["software"] = {"mindformers": "1.3.2"}
        findings = shipped.launches.check(raw, running_settings(text)).findings
        return {item.rule: item for item in findings}

    slow = found(task.format(sink=False, mode=1, flash=False))
    assert slow.keys() == {"mindformers-no-sinking", "mindformers-pynative", "mindformers-plain-attention"}
    assert slow["mindformers-plain-attention"].priced is not None
    fast = found(task.format(sink=True, mode=0, flash=True))  # whose activations fit without
    assert fast.keys() == {"mindformers-recomputation"}


def test_pipelines_of_diffusers_pay_for_room_that_they_do_not_need(shipped: Workspace) -> None:
    script = """from diffusers import StableDiffusionXLPipeline
pipe = StableDiffusionXLPipeline.from_pretrained("stabilityai/stable-diffusion-xl-base-1.0")
pipe.enable_model_cpu_offload()
pipe.enable_attention_slicing()
"""
    found = checked(shipped, script, "h100-sxm")
    assert found.keys() == {
        "pictures-offloaded", "pictures-in-slices", "pictures-in-32-bit", "pictures-not-compiled",
    }  # fmt: skip
    good = script.replace('1.0")', '1.0", torch_dtype=torch.float16)').replace("pipe.enable", "pipe.vae.to")
    assert checked(shipped, f"{good}torch.compile(pipe.unet)\n", "h100-sxm").keys() == set()
    assert "pictures-offloaded" not in checked(
        shipped,
        script.replace("stabilityai/stable-diffusion-xl-base-1.0", "black-forest-labs/FLUX.1-dev"),
        "rtx-4090",
    )


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ("", {"rl-log-prob-batch-untold", "rl-fixed-micro-batch"}),
        ("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8", {"rl-fixed-micro-batch"}),
        (
            "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.tensor_model_parallel_size=4",
            {"rl-rollout-split-of-what-fits"},
        ),
    ],
)
def test_rollouts_of_verl_are_judged(shipped: Workspace, more: str, rules: set[str]) -> None:
    script = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-1.7B "
        f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=32 trainer.n_gpus_per_node=8 {more}"
    )
    assert checked(shipped, script, "h100-sxm").keys() == rules
