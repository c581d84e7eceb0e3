"""Programs are recognised by their own signs, under whatever launcher."""

import shlex

import pytest

from ingest.questions.launches.program import StartedProgram, UnknownStart, program_signs, started_program


@pytest.mark.parametrize(
    ("command", "program", "phase"),
    [
        ("vllm serve a/B", "vllm", "serving"),
        ("numactl -m 0 python3 -m vllm.entrypoints.openai.api_server --model a/B", "vllm", "serving"),
        ("docker run --gpus all vllm/vllm-openai:v0.10.1 --model a/B", "vllm", "serving"),
        ("python -m sglang.launch_server --model-path a/B", "sglang", "serving"),
        ("mpirun -n 8 trtllm-serve a/B --tp_size 8", "tensorrt-llm", "serving"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m a.gguf", "llama.cpp", "serving"),
        ("torchrun pretrain_gpt.py --num-layers 2", "megatron-lm", "training"),
        ("torchrun posttrain_gpt.py --num-layers 2", "mindspeed-llm", "training"),
        ("deepspeed train.py --deepspeed ds.json", "deepspeed", "training"),
        ("accelerate launch --use_fsdp t.py --x 1", "accelerate", "training"),
        (
            "deepspeed src/train_bash.py --finetuning_type lora --deepspeed z.json",
            "llama-factory",
            "training",
        ),
        ("llamafactory-cli api a.yaml", "llama-factory", "serving"),
        ("megatron sft --model a/B --tensor_model_parallel_size 4", "ms-swift", "training"),
        (
            "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file a.toml",
            "torchtitan",
            "training",
        ),
        (
            "tune run --nproc_per_node 4 lora_finetune_distributed --config llama3/8B_lora",
            "torchtune",
            "training",
        ),
        ("torchx run -- torchrun dlrm_main.py --embedding_dim 128", "torchrec", "training"),
    ],
)
def test_a_program_by_its_signs(command: str, program: str, phase: str) -> None:
    started = started_program(shlex.split(command))
    assert isinstance(started, StartedProgram)
    assert (started.signs.id, started.phase) == (program, phase)


@pytest.mark.parametrize(
    "command",
    [
        "torchrun train.py --x 1",
        "deepspeed --num_gpus 8 train.py",
        "torchrun -m a.b",
        "torchrun train.py --num_layers 12 --hidden_size 768",
        "torchrun t.py --lora_rank 8 --target_modules q",
    ],
)
def test_a_launcher_alone_tells_no_program(command: str) -> None:
    assert isinstance(started_program(shlex.split(command)), UnknownStart)


@pytest.mark.parametrize(
    "command",
    ["python plot.py --x 1", "docker run --name llama-server img", "pip install vllm", "cd swift sft.d", ""],
)
def test_other_commands_launch_nothing(command: str) -> None:
    assert started_program(shlex.split(command)) is None


def test_launchers_state_devices() -> None:
    command = "srun --nodes 2 torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2"
    started = started_program(command.split())
    assert isinstance(started, StartedProgram)
    assert (started.devices("each"), started.devices("nodes"), started.devices("all")) == (8, 2, None)


def test_every_row_has_a_sign_a_reader_and_a_source() -> None:
    for signs in program_signs().values():
        assert signs.reader in {"server", "megatron", "mindformers", "trainer"}
        assert signs.source.startswith("https://")
        assert any(
            (signs.commands, signs.modules, signs.scripts, signs.paths, signs.alone, signs.launcher)
        ), signs.id
