"""Sizes of a launch that must divide, equal or hold one another, and what is said where they do not."""

import json
import re
from typing import Any

import pytest

from ingest.questions.launches.running import running_settings
from kg.terms.dialects import positive, statement
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase, audit_case
from recommender.audit.judge import judge_settings
from recommender.audit.relation_findings import relation_findings, relations
from tests.unit.recommender.audit.judged import judged

_MEGATRON = "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 2 --global-batch-size"


def found(script: str, program: str, **facts: int | str) -> dict[str, str]:
    rules = judged(script, program, "", told=True, **facts)
    return {name: item.remedy for name, item in rules.items() if name.endswith("-not-divisible")}


@pytest.mark.parametrize(
    ("script", "facts", "remedies"),
    [
        ("vllm serve a/B -tp 3", {"heads": 40}, {"heads-not-divisible": "-tp 2"}),
        ("vllm serve a/B -tp 8", {"heads": 40}, {}),
        ("vllm serve a/B -tp 8", {"heads": 28, "devices": 8}, {"heads-not-divisible": "-tp 4"}),  # not 7
        ("vllm serve a/B -tp 3", {}, {}),
        ("vllm serve a/B -tp 3", {"heads": 40, "phase": "training"}, {}),
        (
            "python -m sglang.launch_server --model-path x --tp 8 --dp 3 --enable-dp-attention",
            {"heads": 64},
            {"copies-not-divisible": "--dp 2"},
        ),
        (
            "python -m sglang.launch_server --model-path x --tp 8 --dp 4 --enable-dp-attention",
            {"heads": 64},
            {},
        ),
        ("trtllm-serve x --tp_size 8 --ep_size 3", {}, {"ranks-not-divisible": "--ep_size 2"}),
    ],
)
def test_a_server_divides_its_sizes(script: str, facts: dict[str, int | str], remedies: object) -> None:
    programs = {"vllm": "vllm", "python": "sglang", "trtllm-serve": "tensorrt-llm"}
    assert found(script, programs[script.partition(" ")[0]], **facts) == remedies


@pytest.mark.parametrize(
    ("script", "model", "remedies"),
    [
        ("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 8", "qwen3-235b-a22b", ["--enable-expert-parallel"]),
        ("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 4", "qwen3-235b-a22b", []),
        ("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 4 -dp 2", "qwen3-235b-a22b", ["--enable-expert-parallel"]),
        ("vllm serve Qwen/Qwen3-235B-A22B-FP8 -tp 8 --enable-expert-parallel", "qwen3-235b-a22b", []),
        ("vllm serve Qwen/Qwen3-235B-A22B -tp 8 --quantization fp8", "qwen3-235b-a22b", []),
        ("vllm serve RedHatAI/Qwen3-235B-A22B-FP8-dynamic -tp 8", "qwen3-235b-a22b", []),
        ("vllm serve MiniMaxAI/MiniMax-M2 -tp 8", "minimax-m2", ["--enable-expert-parallel"]),
        (
            "python -m sglang.launch_server --model-path MiniMaxAI/MiniMax-M2 --tp 8",
            "minimax-m2",
            ["--ep-size 8"],
        ),
        ("python -m sglang.launch_server --model-path MiniMaxAI/MiniMax-M2 --tp 8 --ep 2", "minimax-m2", []),
    ],
)
def test_no_device_takes_a_part_of_a_block_with_one_scale(
    script: str, model: str, remedies: list[str]
) -> None:
    checkpoint = next(word for word in script.split() if "/" in word)
    case = audit_case(
        running_settings(script),
        {"model": checkpoint, "software": {"vllm" if script.startswith("vllm") else "sglang": ""}},
        stated={"model": frozenset({model}), "expert_intermediate": 1536},
    )
    found = [one for one in relation_findings(case) if one.rule == "expert-blocks-not-divisible"]
    assert [one.remedy.removeprefix("write ") for one in found] == remedies


@pytest.mark.parametrize(
    ("words", "remedies"),
    [
        ("250", {"batch-not-divisible": "--global-batch-size 256"}),
        ("256", {}),
        ("250 --pipeline-model-parallel-size 4", {}),
        ("250 --rampup-batch-size 8", {}),
        ("256 --expert-model-parallel-size 6", {"experts-not-divisible": "--expert-model-parallel-size 4"}),
        ("256 --num-experts 60 --expert-model-parallel-size 4", {}),
        (
            "256 --expert-model-parallel-size 8",  # with TP 2: 16 devices
            {"expert-devices-not-divisible": "--expert-model-parallel-size 4"},
        ),
        ("256 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1", {}),
        (
            "256 --pipeline-model-parallel-size 16",
            {"devices-not-divisible": "--pipeline-model-parallel-size 4"},
        ),
        ("256 --context-parallel-size 8", {"devices-not-divisible": "--tensor-model-parallel-size 1"}),
        (
            "256 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3",
            {"layers-not-divisible": "--num-layers-per-virtual-pipeline-stage 2"},
        ),
        ("256 --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2", {}),
    ],
)
def test_a_trainer_of_megatron_divides_its_sizes(words: str, remedies: object) -> None:
    """Sizes that the launch states count before those of a card."""
    facts = {"devices": 8, "layers": 16, "experts": 64, "heads": 16}
    assert found(f"{_MEGATRON} {words}", "megatron-lm", phase="training", **facts) == remedies


@pytest.mark.parametrize(
    ("sizes", "remedy"),
    [
        ((8, 1, 8, 2), "parallelism.pipeline_parallel_degree=1"),  # no number of shards mends it
        ((8, 1, 2, 1), "parallelism.data_parallel_shard_degree=4"),
        ((4, 1, 2, 1), ""),
        ((-1, 1, 2, 1), ""),
    ],
)
def test_shards_replicas_and_degrees_are_all_devices_of_torchtitan(
    sizes: tuple[int, ...], remedy: str
) -> None:
    names = ("data_parallel_shard", "data_parallel_replicate", "tensor_parallel", "pipeline_parallel")
    lines = (f"{name}_degree = {size}" for name, size in zip(names, sizes, strict=True))
    files = {"a.toml": "\n".join(('[model]\nname = "llama3"\n[parallelism]', *lines))}
    running = running_settings("NGPU=8 CONFIG_FILE=a.toml ./run_train.sh", beside=files.get)
    case = AuditCase(
        settings=running, program="torchtitan", version="0.2.2", is_told=True, facts={"devices": 8}
    )
    assert [item.remedy for item in relation_findings(case)] == ([remedy] if remedy else [])


_GRPO = "--per_device_train_batch_size 2 --num_generations"


@pytest.mark.parametrize(
    ("command", "program", "remedies"),
    [
        (f"trl grpo {_GRPO} 6", "trl", {"answers-not-divisible": "--num_generations 4"}),
        (f"trl grpo {_GRPO} 6 --gradient_accumulation_steps 3", "trl", {}),
        (f"trl grpo {_GRPO} 6 --steps_per_generation 3", "trl", {}),
        (f"trl grpo {_GRPO} 6 --generation_batch_size 12", "trl", {}),
        (
            f"swift rlhf --rlhf_type grpo {_GRPO} 5",
            "ms-swift",
            {"answers-not-divisible": "--num_generations 4"},
        ),
        (
            f"trl grpo {_GRPO} 8 --use_vllm --vllm_mode colocate --vllm_tensor_parallel_size 3",
            "trl",
            {"devices-not-divisible": "--vllm_tensor_parallel_size 2"},
        ),
        (
            f"swift rlhf {_GRPO} 8 --vllm_mode colocate --vllm_tensor_parallel_size 8",
            "ms-swift",
            {"heads-not-divisible": "--vllm_tensor_parallel_size 4"},
        ),
        (f"swift rlhf {_GRPO} 8 --vllm_mode server --vllm_tensor_parallel_size 3", "ms-swift", {}),
    ],
)
def test_answers_are_whole_groups_and_their_engines_divide_the_devices(
    command: str, program: str, remedies: object
) -> None:
    assert found(command, program, devices=8, heads=28, phase="training") == remedies


@pytest.mark.parametrize(
    ("samples", "remedies"), [(100, {"batch-not-divisible": "--train_batch_size 128"}), (128, {})]
)
def test_a_batch_of_openrlhf_is_whole_micro_batches(samples: int, remedies: object) -> None:
    script = f"python -m openrlhf.cli.train_sft --micro_train_batch_size 8 --train_batch_size {samples}"
    assert found(script, "openrlhf", devices=8) == remedies


@pytest.mark.parametrize(
    ("facts", "remedy"),
    [
        ({"nodes": 2}, "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4"),
        ({"nodes": 2, "unified_bus": True}, ""),  # of one supernode
        ({"nodes": 1}, ""),
        ({}, ""),
    ],
)
def test_layers_are_not_shared_beyond_a_server(facts: dict[str, Any], remedy: str) -> None:
    words = "--tensor-model-parallel-size 16 --pipeline-model-parallel-size 2"
    rules = judged(
        f"torchrun pretrain_gpt.py {words}", "megatron-lm", "0.14.0", devices=16, phase="training", **facts
    )
    assert (rules["tensor-across-servers"].remedy if "tensor-across-servers" in rules else "") == remedy


@pytest.mark.parametrize(("size", "expected"), [(100, 128), (128, 0), ("auto", 0)])
def test_the_samples_of_deepspeed_are_those_of_its_steps(size: object, expected: int) -> None:
    """Its file states all three, so their product is refused where it is another."""
    script = (
        "deepspeed run.py --gradient_accumulation_steps 4 --per_device_train_batch_size 4 --deepspeed d.json"
    )
    content = json.dumps({"train_batch_size": size, "zero_optimization": {"stage": 3}})
    case = AuditCase(
        settings=running_settings(script, beside={"d.json": content}.get), program="transformers",
        version="5.0.0", is_told=True, facts={"devices": 8, "phase": "training"},
    )  # fmt: skip
    remedies = {item.rule: item.remedy for item in judge_settings(case, shipped_rules())}
    assert remedies.get("batch-not-divisible") == (f"train_batch_size={expected}" if expected else None)


@pytest.mark.parametrize(("devices", "size"), [(8, 4), (7, 7), (6, 2)])
def test_an_engine_of_rollouts_divides_heads_and_devices_at_once(devices: int, size: int) -> None:
    """verl refuses one size for two reasons, so what is written in its place suits both."""
    key = "actor_rollout_ref.rollout.tensor_model_parallel_size"
    script = f"python3 -m verl.trainer.main_ppo {key}=16"
    remedies = found(script, "verl", phase="training", heads=28, devices=devices)
    assert remedies == {"heads-not-divisible": f"{key}={size}"}
    assert not found(script.replace("=16", f"={size}"), "verl", phase="training", heads=28, devices=devices)


@pytest.mark.parametrize("parts", range(2, 13))
def test_the_remedy_of_a_division_divides(parts: int) -> None:
    """What is written in its place is a size with which the finding is gone."""
    for key, fact in (("--tensor-model-parallel-size", "tp"), ("--pipeline-model-parallel-size", "pp")):
        facts = {"layers": 24, "heads": 20}
        for remedy in found(f"torchrun pretrain_gpt.py {key} {parts}", "megatron-lm", **facts).values():
            name, _, value = remedy.partition(" ")
            size = positive(statement({name: value}, "megatron-lm").facts[fact])
            assert size
            assert size < parts
            assert not found(f"torchrun pretrain_gpt.py {remedy}", "megatron-lm", **facts)


def of_mindie(**changes: object) -> dict[str, str]:
    """The findings on the file of a MindIE server on four devices, with other sizes in it."""
    at = {name: changes.pop(name) for name in ("npuDeviceIds", "multiNodesInferEnabled") if name in changes}
    schedule = {
        "maxPrefillTokens": 8192,
        "maxPrefillBatchSize": 50,
        "maxBatchSize": 200,
        "templateType": "Standard",
    }
    deploy = {"maxSeqLen": 8192, "maxInputTokenLen": 4096}
    model = {"modelName": "a", "worldSize": 4} | {
        k: v for k, v in changes.items() if k not in schedule | deploy
    }
    file = {
        "BackendConfig": {"npuDeviceIds": [[0, 1, 2, 3]], **at}
        | {
            "ModelDeployConfig": {
                **deploy,
                **{k: v for k, v in changes.items() if k in deploy},
                "ModelConfig": [model],
            }
        }
        | {"ScheduleConfig": {**schedule, **{k: v for k, v in changes.items() if k in schedule}}}
    }
    rules = judged(json.dumps(file), "mindie", "3.0.0", told=True)
    return {name: item.remedy.rpartition(".")[2] for name, item in rules.items()}


@pytest.mark.parametrize(
    ("changes", "remedies"),
    [
        ({}, {}),
        ({"worldSize": 8}, {"devices-not-world": "worldSize=4"}),
        ({"worldSize": 8, "multiNodesInferEnabled": True}, {}),
        ({"npuDeviceIds": [[0, 1, 2, 3], [4, 5, 6, 7]]}, {}),
        ({"maxPrefillBatchSize": 300}, {"prefill-beyond-batch": "maxPrefillBatchSize=200"}),
        ({"tp": 2}, {"layout-not-world": "worldSize=2"}),
        ({"tp": 2, "dp": 2, "moe_tp": 1, "moe_ep": 4}, {}),
    ],
)
def test_the_sizes_of_the_file_of_mindie_go_together(changes: dict[str, object], remedies: object) -> None:
    assert of_mindie(**changes) == remedies


@pytest.mark.parametrize(("tokens", "remedy"), [(4096, "--max-batch-prefill-tokens 8000"), (8000, "")])
def test_a_prefill_of_tgi_takes_the_longest_prompt(tokens: int, remedy: str) -> None:
    script = f"text-generation-launcher --max-input-tokens 8000 --max-batch-prefill-tokens {tokens}"
    rules = judged(script, "tgi", "3.3.6")
    assert (rules["prefill-below-prompt"].remedy if "prefill-below-prompt" in rules else "") == remedy


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("data.train_batch_size=512", {}),
        ("data.train_batch_size=500", {"answers-not-divisible": "data.train_batch_size=504"}),
        ("data.train_batch_size=500 actor_rollout_ref.rollout.n=8", {}),
        (
            "data.train_batch_size=128",
            {"batch-below-mini-batch": "actor_rollout_ref.actor.ppo_mini_batch_size=128"},
        ),
        ("data.train_batch_size=128 actor_rollout_ref.actor.use_dynamic_bsz=true", {}),
    ],
)
def test_the_batches_of_verl_go_together(words: str, expected: object) -> None:
    script = f"python -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_mini_batch_size=256 {words}"
    rules = judged(script, "verl", "", told=True, devices=8, phase="training")
    assert {
        name: item.remedy for name, item in rules.items() if name.startswith(("answers", "batch"))
    } == expected


def test_a_relation_blames_a_size_that_it_reads() -> None:
    for one in relations():
        assert one.blamed in {one.whole, *one.parts} or one.whole in {"answers", "blocks"}
        assert one.says.keys() == {"en", "zh"}


@pytest.mark.parametrize(("load", "graphs"), [(120, "60"), (64, None)])
def test_graphs_rise_with_a_limit_that_the_load_lifts(load: int, graphs: str | None) -> None:
    script = "vllm serve a/B --data-parallel-size 2 --max-num-seqs 32"
    script += " --compilation-config.max_cudagraph_capture_size 32"
    rule = judged(script, "vllm", "", told=True, concurrency=load).get("graphs-below-requests")
    assert (None if rule is None else rule.rewrites[0][1]) == graphs
    assert rule is None or rule.is_rewritten


@pytest.mark.parametrize(
    ("script", "remedy"),
    [
        (
            "python -m sglang.launch_server --model-path x --max-running-requests 256 {}--cuda-graph-max-bs 64",
            256,
        ),
        ("trtllm-serve x --max_batch_size 96 {}--config a.yml", None),  # of a file that is not there
        ("vllm serve a/B --max-num-seqs 48 {}--compilation-config.max_cudagraph_capture_size 32", 48),
        ("vllm serve a/B --max-num-seqs 32 {}--compilation-config.max_cudagraph_capture_size 32", None),
    ],
)
def test_graphs_are_captured_for_as_many_requests_as_may_run(script: str, remedy: int | None) -> None:
    program = {"vllm": "vllm", "python": "sglang", "trtllm-serve": "tensorrt-llm"}[script.partition(" ")[0]]
    rule = judged(script.format(""), program, "", told=True).get("graphs-below-requests")
    assert (None if rule is None else re.split("[ =]", rule.remedy)[-1]) == (remedy and str(remedy))
    eager = "--enforce-eager " if program == "vllm" else "--disable-cuda-graph "
    assert "graphs-below-requests" not in judged(script.format(eager), program, "", told=True)
