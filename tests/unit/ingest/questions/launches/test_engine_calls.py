"""Engines in Python and arguments in logs."""

import json

import pytest

from ingest.questions.launches.engine_calls import engine_calls, logged_arguments
from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import decode_text
from ingest.questions.launches.running import running_settings
from ingest.questions.patches.script_edits import ScriptEdits, edited
from kg.errors import InputError

CODE = """
import os, vllm
from vllm import LLM as Engine, SamplingParams
os.environ["VLLM_USE_V1"] = "1"
MODEL = "a/B"
llm = Engine(MODEL, tensor_parallel_size=2, enforce_eager=False, max_model_len=length,
             limit_mm_per_prompt={"image": 2}, cuda_graph_sizes=[1, 2])
"""


def test_an_engine_made_in_python() -> None:
    told = read_launch(CODE, "c").question
    assert (told["model"], told["count"], told["software"]) == ("a/B", 2, {"vllm": ""})
    assert told["current"] == {
        "VLLM_USE_V1": 1, "tensor_parallel_size": 2, "enforce_eager": False, "limit_mm_per_prompt.image": 2,
        "cuda_graph_sizes": "1 2",
    }  # fmt: skip
    assert read_launch(CODE, "c").notes == ("c: could not be read: --max-model-len is length",)
    assert next(engine_calls("import sglang\nsglang.Engine(model_path='a/B', tp_size=2)")).words[2:] == (
        "--model-path", "a/B", "--tp-size", "2",
    )  # fmt: skip


TRAINER = """
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
NAME = "a/B"
tokenizer = AutoTokenizer.from_pretrained("a/Other")
model = AutoModelForCausalLM.from_pretrained(
    NAME, quantization_config=BitsAndBytesConfig(load_in_4bit=True), attn_implementation="eager")
args = SFTConfig("out", per_device_train_batch_size=4, max_length=2048, bf16=True, gradient_checkpointing=False)
SFTTrainer(model, args=args, peft_config=LoraConfig(r=64)).train()
"""


ANSWERS = """import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("a/B", torch_dtype=torch.float16, device_map="auto")
print(model.generate(**ids, max_new_tokens=512))
"""
PIPELINE = """from transformers import pipeline
ask = pipeline("text-generation", model="a/B")
"""


def test_what_transformers_answers_itself_is_asked_of_a_server() -> None:
    asked = {"phase": "serving", "model": "a/B", "current": {}}
    assert read_launch(PIPELINE, "c").question == asked
    told = {"precision": "float16", "shape": {"output_len": 512}}
    assert read_launch(ANSWERS, "c").question == {**asked, **told}
    running = {item.key: item.line for item in running_settings(ANSWERS)}
    assert (running["device_map"], running["generate"]) == (3, 4)
    with pytest.raises(InputError, match="takes no settings of a server"):
        edited(ANSWERS, ScriptEdits(flags={"--max-num-seqs": ("8",)}))
    trains = ANSWERS + "loss.backward()\n"
    assert not [*engine_calls(trains)]


PICTURES = """import torch
from diffusers import FluxPipeline
pipe = FluxPipeline.from_pretrained("a/B", torch_dtype=torch.bfloat16)
pipe.enable_model_cpu_offload()
pipe.transformer = torch.compile(pipe.transformer)
pipe.vae.to(memory_format=torch.channels_last)
pipe("a cat", num_inference_steps=28, height=1024)
"""


def test_a_pipeline_of_diffusers_is_asked_of_pytorch() -> None:
    asked = read_launch(PICTURES, "c").question
    current = {"memory_format": "channels_last", "compile": True}
    assert asked == {
        "phase": "serving", "model": "a/B", "precision": "bfloat16", "count": 1, "current": current,
    }  # fmt: skip
    running = {item.key: item.value for item in running_settings(PICTURES)}
    assert running["enable_model_cpu_offload"].lower() == "true"
    assert running["num_inference_steps"] == "28"
    with pytest.raises(InputError, match="takes no settings of a server"):
        edited(PICTURES, ScriptEdits(flags={"--max-num-seqs": ("8",)}))
    assert not [*engine_calls("import diffusers\nfrom os import path\npath.from_pretrained('a/B')\n")]


def test_a_trainer_is_told_its_model_by_what_loads_it() -> None:
    asked = read_launch(TRAINER, "c").question
    assert (asked["model"], asked["phase"], asked["software"]) == ("a/B", "training", {"trl": ""})
    assert asked["shape"] == {"seq_len": 2048}
    assert asked["current"] == {
        "load_in_4bit": True, "attn_implementation": "eager", "use_peft": True, "lora_r": 64, "bf16": True,
        "per_device_train_batch_size": 4, "output_dir": "out", "gradient_checkpointing": False,
    }  # fmt: skip
    lines = (
        "from transformers import TrainingArguments",
        "model.gradient_checkpointing_enable()",
        "model = get_peft_model(model, config)",
        'args = TrainingArguments("out", bf16=True)',
        'Trainer(model="a/B", args=args)',
    )
    other = read_launch("\n".join(lines), "c").question
    assert (other["model"], other["software"]) == ("a/B", {"transformers": ""})
    preferred = 'from trl import DPOConfig\nDPOTrainer("a/B", args=DPOConfig("out"))'
    assert read_launch(preferred, "c").question["traits"] == {"method": "dpo"}
    assert other["current"] == {
        "gradient_checkpointing": True, "lora_r": 8, "output_dir": "out", "bf16": True,
    }  # fmt: skip


def test_a_script_says_what_the_program_makes_that_it_runs() -> None:
    files = {"sft.py": TRAINER, "serve.py": CODE}.get
    trained = read_launch("torchrun --nproc_per_node 4 sft.py --seed 1", "c", beside=files).question
    assert (trained["model"], trained["count"]) == ("a/B", 4)
    served = read_launch("CUDA_VISIBLE_DEVICES=0,1 python serve.py", "c", beside=files).question
    assert (served["model"], served["software"]) == ("a/B", {"vllm": ""})


RAY = """
from ray.serve.llm import LLMConfig
config = LLMConfig(
    model_loading_config={"model_id": "b", "model_source": "a/B"},
    accelerator_type="L4",
    engine_kwargs=dict(tensor_parallel_size=2, enforce_eager=True),
)
"""


def test_the_configuration_of_an_engine_of_ray() -> None:
    asked = read_launch(RAY, "c").question
    assert (asked["model"], asked["hardware"], asked["count"]) == ("a/B", "L4", 2)
    assert asked["current"] == {"tensor_parallel_size": 2, "enforce_eager": True}


def test_other_programs_make_none() -> None:
    assert [*engine_calls("from vllm import LLM\nLLM(")] == []
    assert [*engine_calls("from mine import LLM\nimport vllm\nLLM('a/B')")] == []


def test_the_line_that_a_server_prints() -> None:
    log = (
        "INFO 06-17 11:00:08 [api_server.py:1034] vLLM API server version 0.9.2\n"
        "INFO 06-17 11:00:08 [cli_args.py:309] non-default args: {'model': 'a/B', 'max_num_seqs': 8, "
        "'enable_prefix_caching': False, 'compilation_config': {'level': 3}}\nnext line}\n"
    )
    told = read_launch(log, "c").question
    assert (told["model"], told["software"]) == ("a/B", {"vllm": "0.9.2"})
    assert told["current"] == {"max_num_seqs": 8, "enable_prefix_caching": False, "level": 3}
    other = "server_args=ServerArgs(model_path='a/B', tp_size=4, skip_tokenizer_init=False, dtype=None)"
    assert logged_arguments(other)[0].words == ("sglang", "serve", "--model-path", "a/B", "--tp-size", "4")
    assert logged_arguments("non-default args: {'a': nothing}") == []
    usual = "server_args=ServerArgs(model_path='a/B', schedule_policy='fcfs', mem_fraction_static=0.85)"
    assert logged_arguments(usual)[0].words[4:] == ("--mem-fraction-static", "0.85")


def test_a_notebook_is_the_code_of_its_cells() -> None:
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "source": ["vllm serve a/Other"]},
        {"cell_type": "code", "source": ["!pip install vllm\n", "from vllm import LLM"]},
        {"cell_type": "code", "source": "llm = LLM('a/B', enforce_eager=True)"},
    ]
    text = decode_text(json.dumps({"cells": cells, "nbformat": 4}).encode(), "n.ipynb")
    assert text.splitlines()[0] == "# !pip install vllm"
    assert read_launch(text, "n.ipynb").question["model"] == "a/B"
    assert decode_text(b'{"nbformat": 4}', "n.ipynb") == '{"nbformat": 4}'
