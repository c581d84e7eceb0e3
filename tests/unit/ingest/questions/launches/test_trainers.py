"""Trainers that nothing models are read for what they say."""

import pytest

from ingest.questions.launches.launch import read_launch
from kg.errors import InputError, UnknownEntityError
from kg.nouns.situation import STAYS
from kg.terms.dialects import statement


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "deepspeed --num_gpus 3 src/train_bash.py --model_name_or_path a/B --finetuning_type lora --cutoff_len 1024",
            {"software": {"llama-factory": ""}, "count": 3, "model": "a/B", "shape": {"seq_len": 1024}},
        ),
        (
            "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=a/B trainer.n_gpus_per_node=8 trainer.nnodes=2",
            {"software": {"verl": ""}, "count": 16, "model": "a/B"},
        ),
        (
            "megatron sft --load Qwen3-30B-A3B-mcore --max_length 8192",
            {"software": {"ms-swift": ""}, "model": "Qwen3-30B-A3B-mcore"},
        ),
        (
            (
                "torchrun --nproc_per_node 8 examples/nlp/language_modeling/tuning/megatron_gpt_finetuning.py"
                " trainer.devices=8 model.restore_from_path=a.nemo model.data.train_ds.max_seq_length=2048"
            ),
            {"software": {"nemo": ""}, "count": 8, "shape": {"seq_len": 2048}},
        ),
        (
            "accelerate launch --num_processes 8 -m trl.scripts.grpo --model_name_or_path a/B",
            {"software": {"trl": ""}, "count": 8, "model": "a/B"},
        ),
        ("trl reward --model_name_or_path a/B", {"software": {"trl": ""}, "traits": {"method": "rm"}}),
        (
            "python3 -m MaxText.train base.yml model_name=b ici_fsdp_parallelism=16 dcn_data_parallelism=2",
            {"software": {"maxtext": ""}, "count": 32, "model": "b"},
        ),
        (
            "python3 -m MaxText.train base.yml model_name=b ici_fsdp_parallelism=-1 dcn_data_parallelism=2",
            {"software": {"maxtext": ""}, "model": "b"},
        ),
        (
            "accelerate launch --num_processes 32 run_clm.py --model_name_or_path a/B --block_size 2048 --bf16",
            {"software": {"transformers": ""}, "count": 32, "precision": "bf16", "shape": {"seq_len": 2048}},
        ),
        (
            "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file ./llama3_8b.toml",
            {"software": {"torchtitan": "0.2.2"}, "count": 8, "model": "llama3_8b"},
        ),
    ],
)
def test_the_facts_of_a_trainer(command: str, expected: dict[str, object]) -> None:
    told = read_launch(command, "c").question
    assert {name: told.get(name) for name in expected} == expected
    assert told["phase"] == "training"


def test_what_states_a_fact_of_the_program_is_a_setting_of_it() -> None:
    words = "stage=dpo pref_loss=sigmoid finetuning_type=full seed=1"
    current = read_launch(f"llamafactory-cli train {words}", "c").question["current"]
    assert isinstance(current, dict)
    assert statement(current, "llama-factory").facts == {"objective_kind": "dpo", "lora_rank": 0}
    assert "seed" not in current


def test_adapters_are_said_and_files_that_are_there_are_read() -> None:
    text = "llamafactory-cli train a.yaml"
    assert read_launch(text, "c").notes == ("c: not read: the settings in a.yaml",)
    content = (
        "model_name_or_path: a/B\nfinetuning_type: lora\ncutoff_len: 512\ndeepspeed: z3.json\nbf16: true"
    )
    told = read_launch(text, "c", beside={"a.yaml": content}.get)
    assert told.question["model"] == "a/B"
    assert told.question["precision"] == "bf16"
    assert told.notes == (
        "c: only adapters are trained (finetuning_type lora), the model's own weights are not",
        "c: not read: the settings in z3.json",
    )
    assert not [note for note in read_launch("swift sft --train_type full", "c").notes if "adapters" in note]


def test_the_configuration_of_a_launcher_states_devices_and_precision() -> None:
    text = "accelerate launch --config_file fsdp.yaml run_clm.py --model_name_or_path a/B"
    content = (
        "distributed_type: FSDP\nnum_processes: 16\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}"
    )
    told = read_launch(text, "c", beside={"fsdp.yaml": content}.get).question
    assert (told["count"], told["precision"]) == (16, "bf16")
    assert told["current"]["fsdp_config.fsdp_version"] == 2  # type: ignore[index]
    assert "count" not in read_launch(text, "c").question


def test_a_flag_with_capitals_keeps_them() -> None:
    read = read_launch(
        "torchrun --nproc_per_node 4 pretrain_gpt.py --freeze-ViT --tensor-model-parallel-size 2", "p.sh"
    )
    assert read.question["places"] == {"freeze_vit": "--freeze-ViT"}


@pytest.mark.parametrize("said", ["model.peft.peft_scheme=lora", "model.peft.lora_tuning.adapter_dim=16"])
def test_a_script_of_nemo_says_its_adapters(said: str) -> None:
    assert statement(dict([said.split("=")]), "nemo").facts["lora_rank"] in {16, 32}


@pytest.mark.parametrize("command", ["swift sft --model a/B", "llamafactory-cli train a.yaml"])
def test_variables_of_a_trainer_state_its_devices(command: str) -> None:
    assert read_launch(f"NPROC_PER_NODE=8 NNODES=2 {command}", "c").question["count"] == 16
    assert read_launch(f"torchrun --nproc_per_node 4 {command}", "c").question["count"] == 4


@pytest.mark.parametrize(
    ("flags", "content"),
    [
        ("--use_fsdp --fsdp_sharding_strategy FULL_SHARD --mixed_precision bf16", ""),
        ("--config_file f.yaml", "mixed_precision: bf16\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}"),
    ],
)
def test_what_a_launcher_is_told_counts_and_is_of_the_launcher(flags: str, content: str) -> None:
    text = f"accelerate launch {flags} run_clm.py --model_name_or_path a/B --per_device_train_batch_size 1"
    told = read_launch(text, "c", beside={"f.yaml": content}.get).question
    current, places = told["current"], told["places"]
    assert isinstance(current, dict)
    assert isinstance(places, dict)
    assert statement(current, "transformers").facts["zero_stage"] == 3
    assert told["precision"] == "bf16"
    assert {places[name] for name in current if "sharding" in name or "precision" in name} == {STAYS}
    assert STAYS not in places["per_device_train_batch_size"]


def test_the_fields_of_a_json_file_stay_in_the_file() -> None:
    text = "deepspeed --num_gpus 8 run.py --model_name_or_path a/B --per_device_train_batch_size 1 --deepspeed ds.json"
    content = '{"zero_optimization": {"stage": 3}}'
    told = read_launch(text, "c", beside={"ds.json": content}.get).question
    current, places = told["current"], told["places"]
    assert isinstance(current, dict)
    assert isinstance(places, dict)
    assert current["deepspeed"] == "ds.json"
    assert places["zero_optimization.stage"] == STAYS
    assert statement(current, "transformers").facts["zero_stage"] == 3


@pytest.mark.parametrize("start", ["torchrun --nproc_per_node 4 train.py", "python finetune.py"])
@pytest.mark.parametrize("name", ["args.json", "args.yaml"])
def test_one_file_of_arguments_is_the_launch_whatever_the_script_is_called(start: str, name: str) -> None:
    content = '{"model_name_or_path": "a/B", "per_device_train_batch_size": 2, "lora_r": 8, "use_peft": true}'
    flags = read_launch(
        f"{start} --model_name_or_path a/B --per_device_train_batch_size 2 --lora_r 8 --use_peft true", "c"
    )
    told = read_launch(f"{start} {name}", "c", beside={name: content}.get)
    assert told.question == flags.question  # as if the script were given them as flags
    assert told.question["software"] == {"transformers": ""}
    assert [note for note in told.notes if note.startswith("c: not read")] == []
    with pytest.raises((UnknownEntityError, InputError)):
        read_launch(f"{start} {name}", "c", beside={name: '{"any": 1}'}.get)


@pytest.mark.parametrize("name", ["sft.json", "sft.yaml"])
def test_a_file_that_a_file_names_is_read_and_the_first_is_the_launch_itself(name: str) -> None:
    files = {
        name: '{"model_name_or_path": "a/B", "cutoff_len": 4096, "deepspeed": "ds.json", "bf16": true}',
        "ds.json": '{"zero_optimization": {"stage": 3}, "deepspeed": "ds.json"}',
    }
    told = read_launch(f"llamafactory-cli train {name}", "c", beside=files.get)
    current, places = told.question["current"], told.question["places"]
    assert isinstance(current, dict)
    assert isinstance(places, dict)
    assert (current["bf16"], current["zero_optimization.stage"]) == (True, 3)
    assert {key for key, place in places.items() if place == STAYS} == {"zero_optimization.stage"}
    assert not told.notes


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ("llama3_1/8B_full", "llama3.1-8B"),
        ("qwen2_5/0.5B_lora_single_device", "qwen2.5-0.5B"),
        ("phi3/mini_full", "phi3-mini"),
        ("./gemma2/2B_full.yaml", "gemma2-2B"),
        ("my.yaml", None),
    ],
)
def test_a_configuration_of_torchtune_names_its_model(config: str, model: str | None) -> None:
    told = read_launch(f"tune run full_finetune_distributed --config {config} dtype=fp16", "a.sh").question
    assert told.get("model") == model
    assert told["precision"] == "fp16"


def test_a_flag_of_the_user_s_own_trainer_keeps_its_name() -> None:
    told = read_launch(
        "torchrun --nproc_per_node 4 train.py --model_name_or_path a/B --use_lora --lora_r 16 --per_device_train_batch_size 2",
        "c",
    )
    places, current = told.question["places"], told.question["current"]
    assert isinstance(places, dict)
    assert isinstance(current, dict)
    assert (current["use_peft"], places["use_peft"]) == (True, "--use_lora")


def test_what_the_own_configuration_of_torchtune_says_holds_unless_told() -> None:
    text = "tune run --nproc_per_node 8 full_finetune_distributed --config llama3_1/70B_full batch_size=4"
    question = read_launch(text, "t.sh").question
    current, places = question["current"], question["places"]
    assert isinstance(current, dict)
    assert isinstance(places, dict)
    assert (current["batch_size"], current["fsdp_cpu_offload"]) == (4, True)
    assert (places["fsdp_cpu_offload"], places.get("batch_size")) == (STAYS, None)
    own = read_launch(text.replace("llama3_1", "./mine"), "t.sh").question["current"]
    assert isinstance(own, dict)
    assert "fsdp_cpu_offload" not in own
    alone = "tune run lora_finetune_single_device --config llama3_1/8B_lora_single_device"
    assert read_launch(alone, "t.sh").question["count"] == 1


def test_what_could_not_be_read_is_named_as_it_is_written() -> None:
    words = "data.train_files=$HOME/a.parquet actor_rollout_ref.model.path=a/B-7B"
    notes = read_launch(f"python3 -m verl.trainer.main_ppo {words}", "a.sh").notes
    assert any("could not be read: data.train_files is $HOME/a.parquet" in note for note in notes)
