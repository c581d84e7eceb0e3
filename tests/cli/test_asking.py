"""Questions from what people have: launch scripts, a model's config.json, the output of device tools."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.app import app
from kg.errors import InputError, NoEvidenceError, UnknownEntityError

SCRIPT = """
export HCCL_BUFFSIZE=200
ARGS="--tensor-model-parallel-size 2 --num-layers 36 --hidden-size 4096 --ffn-hidden-size 12288 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \\
  --seq-length 4096 --micro-batch-size 1 --use-flash-attn --use-distributed-optimizer --bf16"
torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py $ARGS $DATA_ARGS
"""
SMI = """
| npu-smi 24.1.rc2                 Version: 24.1.rc2                                             |
| 0     910B3               | OK            | 90.1        35                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3162 / 65536         |
"""
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 36, "head_dim": 128,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288, "vocab_size": 151936,
    "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "pretrain_qwen3_8b_4K_ptd.sh").write_text(SCRIPT)
    (tmp_path / "smi.txt").write_text(SMI)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "own.json").write_text(json.dumps({**CONFIG, "hidden_size": 4160}))
    return tmp_path


@pytest.fixture
def ask(shipped_path: Path) -> Any:
    """Runs a command in this process; its JSON, or the error it ends with."""

    def call(*arguments: object, workspace: Path | None = None, stdin: str | None = None) -> Any:
        words = ["--workspace", str(workspace or shipped_path), *map(str, arguments), "--json"]
        done = CliRunner(env={"TUNEGRAPH_CACHE": str(shipped_path.parent / "cache")}).invoke(
            app, words, input=stdin
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return json.loads(done.stdout)

    return call


def test_a_script_and_a_device_table_are_a_whole_question(ask: Any, texts: Path) -> None:
    found = ask(
        "recommend",
        "--from-command",
        texts / "pretrain_qwen3_8b_4K_ptd.sh",
        "--smi",
        texts / "smi.txt",
        "-k",
        50,
    )
    problem = found["problem"]
    assert (problem["model"], problem["hardware"], problem["count"]) == ("qwen3-8b", "ascend-910b3", 8)
    assert problem["shape"] == {"seq_len": 4096}
    assert "pretrain_qwen3_8b_4K_ptd.sh: could not be read: --nnodes is $NNODES" in found["notes"]
    assert any("$DATA_ARGS is not set" in note for note in found["notes"])


def test_what_is_set_already_is_not_advised_again(ask: Any, texts: Path) -> None:
    script = texts / "pretrain_qwen3_8b_4K_ptd.sh"
    plain = ask("recommend", "--model", "qwen3-8b", "--hardware", "910B3", "-k", 50)
    told = ask("recommend", "--from-command", script, "--hardware", "910B3", "-k", 50)
    assert "--use-flash-attn" in {item["key"] for item in told["start"]["settings"]}
    assert "Flash attention" not in {item["title"] for item in told["changes"]}
    change = next(item for item in plain["changes"] if [one["where"] for one in item["settings"]] == ["env"])
    [one] = change["settings"]
    current = ("--current", f"{one['key']}={one['value']}")
    again = ask("recommend", "--model", "qwen3-8b", "--hardware", "910B3", "-k", 50, *current)
    assert change["title"] not in {item["title"] for item in again["changes"]}
    [kept] = [item for item in again["start"]["settings"] if item["key"] == one["key"]]
    assert (kept["from"], str(kept["value"])) == ("current", str(one["value"]))


def test_standard_input_and_the_other_commands_read_the_same(ask: Any, texts: Path) -> None:
    command = "vllm serve /models/Qwen3-8B-W8A8 -tp 2 --quantization ascend"
    found = ask("similar", "--from-command", "-", "--hardware", "910B3", stdin=command)
    assert found["neighbours"]
    where = ("--hardware", "ascend-910b1", "--server", "atlas-800t-a2")
    estimate = ask("estimate", "--from-command", "-", *where, stdin=command)
    assert (estimate["model"], estimate["count"], estimate["phase"]) == ("qwen3-8b", 2, "serving")
    settings = estimate["estimates"][0]["settings"]
    assert (settings["tensor_parallel"], settings["precision"], settings["data_parallel"]) == (2, "int8", 1)
    prediction = ask("predict", "--from-command", "-", *where, stdin=command)
    assert prediction["model"] == "qwen3-8b"
    assert prediction["now"]["kind"] == "modelled"


def test_a_config_json_is_the_model_that_has_its_sizes_or_ones_own(ask: Any, texts: Path) -> None:
    where = ("--hardware", "910B3", "--phase", "serving")
    known = ask("recommend", "--config-json", texts / "config.json", *where)
    assert known["problem"]["model"] == "qwen3-8b"
    own = ask("recommend", "--config-json", texts / "own.json", *where)
    assert own["problem"]["model"] == "own-model"
    assert own["problem"]["shape"]["hidden_size"] == 4160


def test_explain_remembers_what_could_not_be_read(run: Any, texts: Path) -> None:
    script = texts / "pretrain_qwen3_8b_4K_ptd.sh"
    asked = run("recommend", "--from-command", script, "--hardware", "910B3", "-k", 1, "--json")
    assert asked.code == 0
    told = run("explain", asked.json["changes"][0]["id"])
    assert told.code == 0
    assert "$NNODES" in told.out
    people = run("recommend", "--from-command", script, "--smi", texts / "smi.txt")
    assert "note: pretrain_qwen3_8b_4K_ptd.sh" in people.err
    assert "Test next" in people.out


def test_a_prediction_for_people(run: Any) -> None:
    told = run(
        *(
            "predict",
            "--model",
            "llama-2-7b",
            "--hardware",
            "910B1",
            "--count",
            8,
            "--server",
            "atlas-800t-a2",
        ),
        *("--shape", "seq_len=4096", "--intensity", 313, "-k", 20),
    )
    assert told.code == 0
    for word in ("now", "throughput", "energy", "carbon", "modelled", "rests on"):
        assert word in told.out


def test_bad_input_is_one_clear_line(ask: Any, run: Any, texts: Path, empty_path: Path) -> None:
    smi = texts / "bare.txt"
    smi.write_text(SMI.replace("910B3", "910B "))
    with pytest.raises(UnknownEntityError, match="fits several devices"):
        ask("recommend", "--model", "llama-2-7b", "--smi", smi)
    with pytest.raises(InputError, match="no launch is found"):
        ask("recommend", "--from-command", texts / "smi.txt", "--hardware", "910B3")
    with pytest.raises(InputError, match="No such file"):
        ask("recommend", "--config-json", texts / "none.json", "--hardware", "910B3")
    with pytest.raises(InputError, match="contradict each other"):
        ask("recommend", "--model", "llama-2-7b", "--hardware", "910B3", "--limit", "peak_memory<=2GB",
            "--limit", "peak_memory<=1GB")  # fmt: skip
    with pytest.raises(NoEvidenceError, match="the workspace is empty"):
        ask("recommend", "--model", "llama-2-7b", "--hardware", "910B3", workspace=empty_path)
    told = run("predict", "--model", "llama-2-7b", "--hardware", "910B3", workspace=empty_path)
    assert told.code == 3
    assert "tunegraph ingest" in told.err
    assert run("predict", "--model", "llama-2-7b", "--hardware", "910B3", "--intensity", "-1").code == 2


def test_a_device_without_facts_and_a_model_with_only_a_name_are_answered_and_what_is_missing_is_said(
    ask: Any,
) -> None:
    bare = ask("recommend", "--model", "glm-large", "--hardware", "910B3")
    said = "layouts are not priced: glm-large: hidden_size is not known; --config-json FILE tells it"
    assert said in bare["notes"]
    unknown = ask("predict", "--model", "llama-2-7b", "--hardware", "ascend-310", "--shape", "seq_len=4096")
    assert unknown["now"] is None
    assert any(note.startswith("not modelled: ascend-310") for note in unknown["notes"])


def test_a_limit_on_the_memory_that_nothing_keeps_is_infeasible(run: Any) -> None:
    ran = run(
        *("recommend", "--model", "bert-large", "--phase", "training", "--hardware", "910B3", "--count", 1),
        *("--shape", "seq_len=128", "--limit", "peak_memory<=1MB", "-k", 50, "--json"),
    )
    assert ran.code == 4
    assert (ran.json["start"]["fits"], ran.json["changes"], ran.json["unchecked_limits"]) == (False, [], [])


TRAINED = ("--model", "llama-3-8b", "--phase", "training", "--hardware", "a100-sxm4-80gb", "--count", "4")


def test_a_trainer_that_replicates_is_told_what_makes_it_fit(run: Any) -> None:
    full = run("recommend", *TRAINED, "--software", "llamafactory", "--trait", "lora_rank=0", "--json").json
    values = {item["key"]: item["value"] for item in full["start"]["settings"]}
    assert values["finetuning_type"] == "full"
    assert "ds_z3" in values["deepspeed"]
    adapted = run("recommend", *TRAINED, "--software", "llamafactory")
    assert "Assumed: adapters of rank 8 (LoRA)" in adapted.out
    assert "llamafactory-cli train TASK.yaml bf16=true" in adapted.out
    large = ("--model", "llama-3-70b", *TRAINED[2:])
    ran = run("recommend", *large, "--software", "ms-swift", "--trait", "lora_rank=0")
    assert ran.code == 4
    assert "a device needs" in ran.err
    assert "--train.micro_batch_size" in run("recommend", *TRAINED, "--software", "openrlhf").out
    assert run("recommend", *TRAINED, "--software", "xtuner").code == 3


@pytest.mark.parametrize(
    ("software", "told", "written"),
    [
        ("trl", {"lora_rank": 8}, ["--lora_r=8", "--use_peft=True"]),
        ("llama-factory", {"lora_rank": 16, "frozen_bits": 4}, ["lora_rank=16", "quantization_bit=4"]),
        ("ms-swift", {"lora_rank": 8}, ["--lora_rank=8"]),
        ("transformers", {"lora_rank": 16}, []),
    ],
)
def test_adapters_that_are_told_are_written_once_with_what_they_need_or_refused(
    run: Any, software: str, told: dict[str, int], written: list[str]
) -> None:
    current = [word for name, value in told.items() for word in ("--current", f"{name}={value}")]
    ran = run("recommend", *TRAINED, "--software", software, *current, "--json")
    if not written:
        assert (ran.code, f"{software} has no setting that says" in ran.err) == (2, True)
        return
    items = [f"{item['key']}={item['value']}" for item in ran.json["start"]["settings"]]
    assert [items.count(item) for item in written] == [1] * len(written)
    assert "as the program does unless told" not in str(ran.json["situation"])


def test_a_recipe_of_megatron_bridge_is_told_the_layout_by_its_fields(run: Any, tmp_path: Path) -> None:
    words = "--recipe qwen3_30b_a3b_sft_config -tp 2 -sl 8192 model.expert_model_parallel_size=8 logger.new=1"
    script = tmp_path / "sft.sh"
    script.write_text(f"torchrun --nproc-per-node 8 scripts/training/run_recipe.py {words}\n")
    asked = ("recommend", "--from-command", script, "--hardware", "h100-sxm5-80gb")
    made = run(*asked, "--json").json
    values = {item["key"]: item["value"] for item in made["start"]["settings"]}
    assert (values["model.tensor_model_parallel_size"], values["model.expert_model_parallel_size"]) == (2, 8)
    assert values["ddp.use_distributed_optimizer"] is True
    out = run(*asked).out
    assert "qwen3-30b-a3b train (seq_len=8192) on 8 x h100-sxm" in out
    assert " logger.new=1" in out
    told = ("recommend", *TRAINED, "--software", "megatron-bridge")
    adapted = run(*told, "--trait", "lora_rank=16").out
    assert "peft.dim=16" in adapted
    assert "--mode lora" in adapted
    assert run(*told, "--precision", "fp32").code == 2


ROLLED = """python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
  data.max_prompt_length=1024 data.max_response_length=3072 trainer.n_gpus_per_node=8 trainer.nnodes=1 \\
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 actor_rollout_ref.rollout.tensor_model_parallel_size=4"""


def test_learning_from_rewards_is_told_its_engine_beside_its_update(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "grpo.sh"
    script.write_text(ROLLED)
    asked = ("recommend", "--from-command", script, "--hardware", "h100-sxm5-80gb")
    ran = run(*asked)
    assert "qwen2-5-7b train (seq_len=4096) on 8 x h100-sxm" in ran.out
    assert "tokens/s are of the update alone" in ran.err
    assert "main_ppo" in ran.out
    values = {item["key"]: item["value"] for item in run(*asked, "--json").json["start"]["settings"]}
    engine = "actor_rollout_ref.rollout."
    assert values[f"{engine}tensor_model_parallel_size"] == 4
    assert 0.3 <= values[f"{engine}gpu_memory_utilization"] <= 0.7
    assert values[f"{engine}log_prob_micro_batch_size_per_gpu"] == 2
    assert "actor_rollout_ref.actor.use_dynamic_bsz" not in values  # it counts samples
    script.write_text(f"{ROLLED} actor_rollout_ref.actor.strategy=megatron")
    start = run(*asked, "--json").json["start"]
    told = {item["key"]: item["value"] for item in start["settings"]}
    assert start["framework"] == "verl-megatron"
    assert told["actor_rollout_ref.actor.megatron.pipeline_model_parallel_size"] == start["layout"]["pp"]
    rl = ("recommend", "--model", "qwen3-32b", *TRAINED[2:4], "--software", "mindspeed-rl", "--json")
    ran = run(*rl, "--hardware", "910b3", "--count", "32", "--shape", "seq_len=8192")
    made = ran.json["start"]["settings"]
    told = {item["key"]: item["value"] for item in made}
    assert told["megatron_training.use_fused_rmsnorm"] is True  # as recipes of MindSpeed-LLM have it
    assert 0.3 <= told["generate_config.gpu_memory_utilization"] <= 0.7
    assert told["rl_config.actor_resource.num_npus"] == 32
    assert not [item for item in made if item["where"] == "flag"]


def test_a_script_of_a_trainer_keeps_what_it_says_in_its_own_words(run: Any, tmp_path: Path) -> None:
    words = "--train_type full --torch_dtype bfloat16 --deepspeed zero3 --max_length 2048"
    script = tmp_path / "sft.sh"
    script.write_text(f"NPROC_PER_NODE=4 swift sft --model Qwen/Qwen2.5-7B {words}\n")
    ran = run(
        "recommend", "--from-command", script, *TRAINED[4:6], "--software", "ms-swift=3.9.0", "--json"
    ).json
    values = {item["key"]: item["value"] for item in ran["start"]["settings"]}
    assert {"--train_type", "--deepspeed", "--max_length"} <= values.keys()
    assert (values["--train_type"], values["--deepspeed"]) == ("full", "zero3")


def test_a_server_is_told_the_length_that_its_cache_holds(run: Any) -> None:
    small = ("recommend", "--model", "llama-3.1-8b", "--phase", "serving", "--hardware", "a10", "--json")
    values = {item["key"]: item["value"] for item in run(*small).json["start"]["settings"]}
    assert 4096 <= values["--max-model-len"] <= 40960  # 16 of 24 GB are weights; a token takes 128 KiB
    large = run(*(word.replace("a10", "h200") for word in small)).json["start"]["settings"]
    assert "--max-model-len" not in {item["key"] for item in large}


def test_only_a_told_number_format_is_refused_by_a_trainer(run: Any) -> None:
    old = (
        "--model",
        "llama-3-8b",
        "--phase",
        "training",
        "--hardware",
        "tesla-v100s-pcie-32gb",
        "--count",
        "32",
    )
    asked = run("recommend", *old, "--software", "torchtitan")
    assert asked.code == 0  # a V100 computes no bfloat16, and torchtitan is told no other
    new = (*old[:5], "h100-sxm", *old[6:])
    told = run("recommend", *new, "--software", "torchtitan", "--precision", "fp8")
    assert (told.code, "torchtitan has no setting that says precision=fp8" in told.err) == (2, True)


def test_a_launch_of_a_trainer_that_divides_the_model_is_priced_so(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "titan.sh"
    words = "--model.flavor 8B --parallelism.tensor_parallel_degree 2 --training.local_batch_size 1"
    script.write_text(f"torchrun --nproc_per_node=8 -m torchtitan.train --model.name llama3 {words}\n")
    start = run("recommend", "--from-command", script, "--hardware", "h100-sxm", "--json").json["start"]
    assert (start["layout"]["tp"], start["layout"]["dp"]) == (2, 4)
    assert start["expected"]
    megatron = "--tensor_model_parallel_size 4 --micro_batch_size 1 --torch_dtype bfloat16"
    script.write_text(f"NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B {megatron}\n")
    start = run("recommend", "--from-command", script, "--hardware", "h100-sxm", "--json").json["start"]
    assert (start["layout"]["tp"], start["layout"]["dp"]) == (4, 2)
    assert "--deepspeed" not in {item["key"] for item in start["settings"]}


def test_a_number_format_that_the_device_lacks_is_written_anew_in_the_start(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(
        "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --dtype bfloat16 --max-model-len 8192\n"
    )
    for hardware in ("ascend-310p", "tesla-t4"):
        asked = ("recommend", "--from-command", script, "--hardware", hardware, "--count", "2", "--json")
        settings = {item["key"]: item["value"] for item in run(*asked).json["start"]["settings"]}
        assert settings["--dtype"] == "float16"


def test_the_file_of_a_question_is_no_launch(run: Any, tmp_path: Path) -> None:
    (tmp_path / "ask.yaml").write_text("model: qwen3-8b\nphase: serving\nhardware: 910B3\ncount: .nan\n")
    ran = run("check", tmp_path / "ask.yaml")
    assert (ran.code, "this is a question" in ran.err, "tunegraph recommend" in ran.err) == (2, True, True)


def test_a_task_is_trained_from_its_own_file(run: Any, tmp_path: Path) -> None:
    task = "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: lora\ncutoff_len: 2048\nbf16: true\n"
    (tmp_path / "sft.yaml").write_text(task)
    ran = run("recommend", tmp_path / "sft.yaml", "--hardware", "a100-sxm4-80gb", "--count", 4)
    assert "llamafactory-cli train sft.yaml" in ran.out


def test_a_rate_beyond_the_devices_names_the_question_that_sizes_them(run: Any) -> None:
    lengths = "input_len=500,output_len=100,request_rate=100"
    words = (
        "--model",
        "llama-3.1-8b",
        "--phase",
        "serving",
        "--hardware",
        "l4",
        "--limit",
        "latency_p95<=15s",
    )
    ran = run("recommend", *words, "--shape", lengths)
    command = " ".join(ran.err.partition("carries them: ")[2].split()).partition("/s")[0] + "/s"
    assert "Not checked" not in ran.out
    assert "chance" in run(*shlex.split(command)[1:]).out


AXOLOTL = """
base_model: meta-llama/Llama-3.1-70B
load_in_4bit: true
adapter: qlora
lora_r: 16
sequence_len: 4096
micro_batch_size: {size}
gradient_accumulation_steps: 8
learning_rate: 0.0002
flash_attention: false
gradient_checkpointing: {checkpointing}
"""


def test_a_configuration_of_axolotl_is_judged_and_kept_as_it_is_written(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(AXOLOTL.format(size=2, checkpointing="false"))
    ran = run("recommend", tmp_path / "a.yml", "--hardware", "a100-sxm4-80gb")
    assert ran.code == 4
    assert "with micro-batches of 1 and gradient checkpointing it takes" in " ".join(ran.out.split())
    (tmp_path / "a.yml").write_text(AXOLOTL.format(size=1, checkpointing="true"))
    ran = run("recommend", tmp_path / "a.yml", "--hardware", "a100-sxm4-80gb", "--json")
    items = [f"{item['key']}={item['value']}" for item in ran.json["start"]["settings"]]
    kept = {"adapter=qlora", "lora_r=16", "learning_rate=0.0002", "flash_attention=False"}
    assert kept <= {*items}
    assert len({item.partition("=")[0] for item in items}) == len(items)  # each once
