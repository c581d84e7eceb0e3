"""Settings of a measured start are judged like those of a running launch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import LaunchFacts, merge_facts
from ingest.questions.launches.running import running_settings
from kg.nouns.situation import FactOrigin
from recommender.answers.answer import Answer
from recommender.audit.launch_findings import FEW_REQUESTS
from recommender.audit.room_findings import NO_ROOM
from recommender.ranking.plan.plan import Plan
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import with_cases

QUESTION: dict[str, Any] = {
    "model": "qwen3-32b",
    "phase": "serving",
    "hardware": "h100-sxm",
    "count": 4,
    "software": {"vllm": "0.18.0"},
    "shape": {"input_len": 1024, "output_len": 256},
    "traits": {"concurrency": 64},
}


def served(**config: object) -> dict[str, object]:
    return {
        "task": {
            "kind": "serving", "op": "serve", "model": "qwen3-32b", "shape": QUESTION["shape"],
            "concurrency": 64,
        },
        "hardware": {"name": "h100-sxm", "count": 4},
        "software": {"vllm": "0.18.0"},
        "config": {"tensor_parallel_size": 4, **config},
        "outcome": {"metric": "throughput", "unit": "tokens/s", "value": 1000, "status": "ok"},
        "source": {"repo": "my runs"},
    }  # fmt: skip


def remedies_of(workspace: Workspace, text: str, rule: str) -> list[str]:
    """What a rule writes for a script on the devices of an H100 server."""
    asked = {**read_launch(text, "train.sh").question, "hardware": "h100-sxm"}
    audit = workspace.launches.check(asked, running_settings(text))
    return [item.remedy for item in audit.findings if item.rule == rule]


def answered(
    workspace: Workspace,
    text: str,
    name: str = "serve.sh",
    *,
    beside: Mapping[str, str] | None = None,
    **told: Any,
) -> tuple[Answer, Plan]:
    """The answer to a launch, of which more is told, and its plan."""
    files = (beside or {}).get
    problem, notes = workspace.problem({**read_launch(text, name, beside=files).question, **told})
    answer = workspace.launches.recommend(problem, running_settings(text, beside=files), 10, notes=notes)
    assert answer.plan is not None
    return answer, answer.plan


def test_what_a_measured_start_costs_is_found_and_priced(shipped_path: Path, tmp_path: Path) -> None:
    with with_cases(shipped_path, tmp_path, served(enforce_eager=True)) as workspace:
        answer = workspace.recommend(QUESTION)
    assert answer.plan is not None
    assert answer.plan.start.is_measured
    [eager] = [item for item in answer.findings if item.setting.key == "--enforce-eager"]
    assert eager.is_taken_back
    assert eager.priced is not None


def test_a_sound_measured_start_and_a_modelled_one_have_no_findings(
    shipped_path: Path, tmp_path: Path
) -> None:
    with with_cases(shipped_path, tmp_path, served()) as workspace:
        assert workspace.recommend(QUESTION).findings == ()
        assert workspace.recommend({**QUESTION, "count": 2}).findings == ()


def test_what_a_launch_is_advised_to_take_away_no_measured_run_brings_back(
    shipped_path: Path, tmp_path: Path
) -> None:
    text = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --enforce-eager\n"
    with with_cases(
        shipped_path, tmp_path, served(enforce_eager=True, framework="vllm", concurrency=64)
    ) as workspace:
        answer, plan = answered(workspace, text, **QUESTION)
    assert [item.setting.key for item in answer.findings if item.is_taken_back] == ["--enforce-eager"]
    listed = (*plan.start.settings, *(one for item in plan.changes for one in item.settings))
    assert "--enforce-eager" not in {item.key for item in listed}


@pytest.mark.parametrize(("share", "remedies"), [(0.95, ["0.7"]), (0.6, []), (0.7, [])])
def test_answers_are_made_beside_what_training_keeps(
    shipped: Workspace, share: float, remedies: list[str]
) -> None:
    """With files of data that nothing tells: they change no memory."""
    text = (
        "python3 -m verl.trainer.main_ppo data.train_files=$DATA data.train_batch_size=512 "
        "actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8 trainer.nnodes=1 "
        f"actor_rollout_ref.rollout.gpu_memory_utilization={share}\n"
    )
    found = remedies_of(shipped, text, "share-beside-training")
    assert [remedy.rpartition("=")[2] for remedy in found] == remedies


def test_a_launch_is_judged_as_that_of_its_own_program(shipped: Workspace) -> None:
    """Not of the one that is usual where no start is known for it."""
    text = "distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\n"
    asked = {**read_launch(text, "a.yaml").question, "hardware": "h100-sxm", "model": "llama-3.1-8b"}
    assert shipped.launches.check(asked, running_settings(text)).case.program == "accelerate"


def test_a_launch_that_admits_less_than_comes_is_told_so(shipped: Workspace) -> None:
    text = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-num-seqs 40\n"
    answer, plan = answered(shipped, text, **QUESTION)
    said = [one.words for one in answer.assumed]
    assert "40 of 64 requests at once, as many as the launch admits: the others wait" in said, said
    [more] = [one for one in plan.changes if one.title == "More requests at once"]
    assert dict(more.configuration) == {"max_num_seqs": 64}
    assert not more.provided


def test_a_start_writes_what_starts_for_what_does_not(shipped: Workspace) -> None:
    text = """{"ServerConfig": {"port": 1025}, "BackendConfig": {"npuDeviceIds": [[0, 1]], "ModelDeployConfig":
      {"maxSeqLen": 8192, "maxInputTokenLen": 4096, "ModelConfig": [{"modelName": "qwen3-8b",
      "modelWeightPath": "/data/Qwen3-8B", "worldSize": 2}]}, "ScheduleConfig":
      {"maxPrefillBatchSize": 50, "maxPrefillTokens": 8192, "maxBatchSize": 32}}}"""
    _, plan = answered(shipped, text, "config.json", hardware="ascend-910b3")
    written = {item.key.rpartition(".")[2]: item.value for item in plan.start.settings}
    assert (written["maxPrefillBatchSize"], written["maxBatchSize"]) == (32, 32)


@pytest.mark.parametrize(
    ("weights", "is_written"), [("nvidia/DeepSeek-R1-FP4", False), ("deepseek-ai/DeepSeek-R1", True)]
)
def test_kernels_of_another_number_format_are_not_written(
    shipped: Workspace, weights: str, *, is_written: bool
) -> None:
    text = f"trtllm-serve {weights} --tp_size 8 --ep_size 8"
    _, plan = answered(shipped, text, hardware="b200")
    backends = [item.value for item in plan.start.settings if item.key == "moe_config.backend"]
    assert ("DEEPGEMM" in backends) == is_written


@pytest.mark.parametrize(
    "words",
    ["RedHatAI/Llama-3.1-8B-Instruct-FP8", "meta-llama/Llama-3.1-8B-Instruct --quantization fp8"],
)
def test_weights_in_fp8_stay_so_on_devices_without_it(shipped: Workspace, words: str) -> None:
    """Marlin's kernels widen them in each product: half the bytes of 16 bit, at its rate."""
    found = {}
    for text in (
        f"vllm serve {words} --max-num-seqs 8",
        "vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 8",
    ):
        start = answered(shipped, text, hardware="a10g", shape={"max_len": 4096})[1].start
        assert (start.checkpoint, start.needs) == (text.split()[2], ())
        found[text] = start.expected[0].value
    narrow, wide = found.values()
    assert 1.2 < narrow / wide < 2


@pytest.mark.parametrize("accumulated", [0, 16])
def test_a_script_is_priced_with_the_samples_of_its_own_step(shipped: Workspace, accumulated: int) -> None:
    """A trainer accumulates nothing unless it is told."""
    words = (
        "--model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --max_seq_length 2048"
    )
    more = f" --gradient_accumulation_steps {accumulated}" if accumulated else ""
    text = f"accelerate launch --num_processes 8 --use_fsdp train.py {words} --bf16{more} --fsdp full_shard\n"
    asked = {**read_launch(text, "t.sh").question, "hardware": "h100-sxm"}
    _, plan = answered(shipped, text, hardware="h100-sxm")
    [said] = [one.value for one in plan.start.expected if one.metric == "throughput"]
    assert said == pytest.approx(shipped.estimate(asked).steps[0].throughput, rel=1e-6)


def test_fields_of_the_options_file_stay_in_it(shipped: Workspace) -> None:
    text = "trtllm-serve meta-llama/Llama-3.1-8B-Instruct --extra_llm_api_options o.yml"
    beside = {"o.yml": "kv_cache_config: {enable_block_reuse: false}\nprint_iter_log: true\n"}
    _, plan = answered(shipped, text, beside=beside, hardware="h100-sxm", count=1)
    lines = [line.strip() for line in plan.start.paste_lines]
    assert lines.index("enable_block_reuse: false") < lines.index("EOF")


def test_a_launch_that_does_not_fit_is_not_told_to_admit_more(shipped: Workspace) -> None:
    found = {}
    for length in (4096, 32768):
        text = f"llama-server -m Qwen2.5-32B-Instruct-Q4_K_M.gguf -ngl 99 -c {length} --parallel 2\n"
        asked = {**read_launch(text, "serve.sh").question, "hardware": "geforce-rtx-4090"}
        audit = shipped.launches.check(asked, running_settings(text))
        found[length] = {item.rule for item in audit.findings} & {FEW_REQUESTS, NO_ROOM}
    assert found == {4096: set(), 32768: {NO_ROOM}}  # the default is one slot: fewer


@pytest.mark.parametrize("words", ["--n-cpu-moe 90", "--cpu-moe", "-ot '.ffn_.*_exps.=CPU'"])
def test_a_model_whose_experts_stay_on_the_host_starts_with_all_its_layers(
    shipped: Workspace, words: str
) -> None:
    text = f"llama-server -m /m/Qwen3-235B-A22B-Q4_K_M-00001-of-00003.gguf -ngl 99 {words} -c 16384\n"
    asked = {**read_launch(text, "serve.sh").question, "hardware": "geforce-rtx-4090"}
    audit = shipped.launches.check(asked, running_settings(text))
    assert NO_ROOM not in {item.rule for item in audit.findings}
    _, plan = answered(shipped, text, hardware="geforce-rtx-4090")
    assert plan.start.fits is not False
    assert "--gpu-layers 99" in " ".join(" ".join(plan.start.paste_lines).split())


def test_a_cache_that_is_told_bounds_the_load_and_is_found_where_more_is_free(shipped: Workspace) -> None:
    rate, rules = {}, {}
    for size in (2, 8, -1):
        model = {
            "modelName": "m",
            "modelWeightPath": "/w/Qwen2.5-72B-Instruct",
            "worldSize": 4,
            "npuMemSize": size,
        }
        backend = {
            "npuDeviceIds": [[0, 1, 2, 3]], "ScheduleConfig": {"maxBatchSize": 400},
            "ModelDeployConfig": {"maxSeqLen": 2560, "maxInputTokenLen": 2048, "ModelConfig": [model]},
        }  # fmt: skip
        text = json.dumps({"BackendConfig": backend})
        launch = read_launch(text, "config.json")
        asked = {**launch.question, "hardware": "ascend-910b3"}
        audit = shipped.launches.check(asked, running_settings(text))
        rules[size] = "cache-below-room" in {item.rule for item in audit.findings}
        _, plan = answered(shipped, text, name="config.json", hardware="ascend-910b3")
        rate[size] = plan.start.expected[0].value
    assert rules == {2: True, 8: False, -1: False}
    assert rate[2] < rate[8] < rate[-1]


def test_more_slots_of_llama_cpp_come_with_a_context_that_holds_them(shipped: Workspace) -> None:
    text = "llama-server -m Qwen2.5-14B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192 --parallel 4\n"
    _, plan = answered(shipped, text, hardware="geforce-rtx-4090")
    change = next(one for one in plan.changes if one.title == "More requests at once")
    slots, context = (int(str(change.configuration[name])) for name in ("parallel", "ctx_size"))
    assert context == slots * 1280  # prompts of 1,024 and answers of 128 tokens, in pages of 256


@pytest.mark.parametrize(
    ("micro_batch", "length", "remedies"),
    [
        (4, 12288, ["--micro-batch-size 1"]),
        (4, 16384, ["--recompute-granularity full"]),  # one of them has no room beside the weights
        (2, 65536, ["--micro-batch-size 1 --recompute-granularity full"]),
        (4, 2048, []),
    ],
)
def test_a_micro_batch_beyond_a_device_is_told_with_the_one_that_fits(
    shipped: Workspace, micro_batch: int, length: int, remedies: list[str]
) -> None:
    """Whatever is divided: no stage of ZeRO takes activations away."""
    text = (
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --bf16 --swiglu "
        "--ffn-hidden-size 11008 --num-attention-heads 32 --use-flash-attn --use-distributed-optimizer "
        f"--global-batch-size 64 --micro-batch-size {micro_batch} --seq-length {length}\n"
    )
    assert remedies_of(shipped, text, NO_ROOM) == remedies


def test_a_start_that_fits_and_a_finding_of_room_tell_one_change(shipped: Workspace) -> None:
    """What keeps the micro-batch and computes activations again is not told a smaller micro-batch besides."""
    text = (
        "accelerate launch --num_processes 4 train.py --model_name_or_path mistralai/Mistral-7B-v0.3 --bf16 True "
        "--per_device_train_batch_size 8 --gradient_accumulation_steps 2 --max_seq_length 4096 --output_dir out\n"
    )
    answer, plan = answered(shipped, text, hardware="a100-sxm4-80gb")
    assert plan.start.fits
    told = {item.setting.key: item.remedy for item in answer.findings if item.rule == NO_ROOM}
    assert told["--per_device_train_batch_size"] == "--gradient_checkpointing"
    assert remedies_of(shipped, text, NO_ROOM)[-1] == "--per_device_train_batch_size 2"  # by itself


def test_what_is_written_has_no_truth_behind_a_switch(shipped: Workspace) -> None:
    image, model = "docker run vllm/vllm-openai:v0.11.0", "--model Qwen/Qwen3-8B --tensor-parallel-size 1"
    text = f"{image} {model} --enable-chunked-prefill false --enable-prefix-caching true --max-num-seqs 8\n"
    answer, _ = answered(shipped, text, hardware="h100-sxm")
    words = answer.tuned_script(text, "s.sh").text.split()
    assert not {"true", "false"} & {*words}
    assert {"--no-enable-chunked-prefill", "--enable-prefix-caching"} <= {*words}
    audit = shipped.check(" ".join(words).replace("\\ ", ""), {"hardware": "h100-sxm"})
    assert "value-not-taken" not in {item.rule for item in audit.findings}


@pytest.mark.parametrize(
    ("words", "asked", "formats"),
    [
        ("Qwen/Qwen2.5-72B-Instruct-AWQ --dtype half", {"hardware": "a100-sxm4-80gb"}, {"--dtype": "half"}),
        (
            "tencent/Hunyuan-A13B-Instruct --dtype bfloat16",
            {"hardware": "instinct-mi325x", "precision": "fp16"},
            {"--dtype": "float16"},
        ),
        ("tencent/Hunyuan-A13B-Instruct", {"hardware": "instinct-mi325x"}, {}),  # its recipes: an fp8 cache
    ],
)
def test_number_formats_of_what_runs_stay_unless_others_are_told(
    shipped: Workspace, words: str, asked: dict[str, str], formats: dict[str, str]
) -> None:
    text = f"vllm serve {words} --tensor-parallel-size 2"
    told = LaunchFacts(question=asked, origin=FactOrigin.TOLD)
    problem, notes = shipped.problem(merge_facts([read_launch(text, "serve.sh"), told]))
    answer = shipped.launches.recommend(problem, running_settings(text), notes=notes)
    assert answer.plan is not None
    written = {item.key: item.value for item in answer.plan.start.settings if "dtype" in item.key}
    assert written == formats


def test_logits_of_verl_have_their_gradient_in_place(shipped: Workspace) -> None:
    """The micro-batch of verl's own example for Qwen3-8B fits 80 GB (examples/grpo_trainer/run_qwen3-8b.sh)."""
    text = (
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B data.max_prompt_length=512"
        " data.max_response_length=1024 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=32"
        " actor_rollout_ref.model.enable_gradient_checkpointing=True trainer.n_gpus_per_node=8 trainer.nnodes=1"
    )
    answer, _ = answered(shipped, text, hardware="h100-sxm")
    assert not any("does not fit" in note for note in answer.notes), answer.notes
