"""Settings written into the files that a launch names."""

import pytest
import yaml

from ingest.questions.patches.script_edits import EditedScript, ScriptEdits, edited
from kg.errors import InputError

FILE = """# of the server
model: a/B
tensor-parallel-size: &n 4  # of eight
enforce-eager: true

max_num_seqs: 16   # few
compilation-config:
  cudagraph_mode: NONE  # for now
additional-config: '{"a": {"b": 1, "c": 2}}'
override-config: {x: 1}
pipeline-parallel-size: *n
"""
SCRIPT = "vllm serve --config s.yaml --port 8000\n"


def written(edits: ScriptEdits, script: str = SCRIPT, file: str = FILE) -> EditedScript:
    return edited(script, edits, 1, beside={"s.yaml": file}.get, stem="new")


def test_keys_are_changed_where_they_stand_and_the_launch_names_the_new_file() -> None:
    made = written(
        ScriptEdits(
            flags={"--max-num-seqs": ("64",), "--seed": ("1",)},
            fields={
                "--compilation-config": {"cudagraph_mode": "FULL", "level": 3},
                "--additional-config": {"a": {"b": 5}},
                "--override-config": {"y": "z"},
            },
            removed=("--enforce-eager",),
            elsewhere=frozenset({"--enforce-eager"}),
        )
    )
    assert made.unwritten == ()
    assert made.text == "vllm serve --config new-s.yaml --port 8000 \\\n    --seed 1\n"
    name, text = made.files["s.yaml"]
    assert name == "new-s.yaml"
    assert text == FILE.replace("enforce-eager: true\n", "").replace("seqs: 16", "seqs: 64").replace(
        "NONE  # for now\n", "FULL  # for now\n  level: 3\n"
    ).replace('"b": 1', '"b": 5').replace("{x: 1}", '{"x": 1, "y": "z"}')
    assert (made.edits, yaml.safe_load(text)["compilation-config"]) == (
        7,
        {"cudagraph_mode": "FULL", "level": 3},
    )


def test_a_value_that_an_anchor_shares_goes_to_the_command_which_wins() -> None:
    made = written(ScriptEdits(flags={"--tensor-parallel-size": ("8",)}))
    assert made.files == {}
    assert made.text.endswith("--port 8000 \\\n    --tensor-parallel-size 8\n")


def test_a_file_that_another_launch_reads_is_left_and_said() -> None:
    two = SCRIPT + "vllm serve c/D --config s.yaml --port 8001\n"
    edits = ScriptEdits(
        fields={"--compilation-config": {"level": 3}},
        removed=("--enforce-eager",),
        elsewhere=frozenset({"--enforce-eager"}),
    )
    made = written(edits, two)
    assert made.files == {}
    assert made.unwritten == ("without --enforce-eager: it stands in s.yaml, which another launch reads too",)
    assert """--compilation-config '{"cudagraph_mode": "NONE", "level": 3}'""" in made.text


@pytest.mark.parametrize("name", ["/srv/s.yaml", "../s.yaml"])
def test_no_file_is_written_outside_the_folder_of_the_script(name: str) -> None:
    edits = ScriptEdits(
        flags={"--max-num-seqs": ("64",)},
        removed=("--enforce-eager",),
        elsewhere=frozenset({"--enforce-eager"}),
    )
    made = edited(f"vllm serve --config {name}\n", edits, beside={name: FILE}.get)
    assert made.files == {}
    assert made.unwritten == (
        f"without --enforce-eager: it stands in {name}, which lies outside the folder of the script",
    )
    assert "--max-num-seqs 64" in made.text


def test_what_the_command_says_too_is_changed_in_the_command_alone() -> None:
    made = written(
        ScriptEdits(flags={"--max-num-seqs": ("64",)}), "vllm serve --config s.yaml --max-num-seqs 8\n"
    )
    assert (made.text, made.files) == ("vllm serve --config s.yaml --max-num-seqs 64\n", {})


@pytest.mark.parametrize("file", ["- 1\n", "", "other: true\n"])
def test_a_file_of_another_form_is_left(file: str) -> None:
    edits = ScriptEdits(removed=("--enforce-eager",), elsewhere=frozenset({"--enforce-eager"}))
    made = written(edits, file=file)
    assert made.files == {}
    assert made.unwritten == ("without --enforce-eager: it stands in a file that the script names",)


TASK = """# the task
model_name_or_path: a/B-8B  # base
stage: sft
finetuning_type: lora
per_device_train_batch_size: 1
deepspeed: z3.json

flash_attn: disabled
"""


def test_a_file_of_settings_that_is_the_launch_is_written_in_place() -> None:
    made = edited(
        TASK,
        ScriptEdits(
            flags={
                "--per_device_train_batch_size": ("4",),
                "--disable_gradient_checkpointing": ("true",),
                "--learning_rate": ("1e-4",),
            },
            variables={"OMP_NUM_THREADS": "8"},
            removed=("--flash_attn", "--not_there"),
        ),
    )
    assert made.text == TASK.replace("size: 1", "size: 4").replace(
        "flash_attn: disabled\n", "disable_gradient_checkpointing: true\nlearning_rate: 0.0001\n"
    )
    assert made.unwritten == ("OMP_NUM_THREADS=8: it is a variable of the environment",)
    assert made.edits == 4


def test_keys_of_a_server_file_are_written_as_its_others_are() -> None:
    flags = {"--max-num-seqs": ("64",)}
    fields = {"--speculative-config": {"method": "ngram"}}
    for others, keys in (("tensor-parallel-size", ["max-num-seqs", "speculative-config"]),
                         ("tensor_parallel_size", ["max_num_seqs", "speculative_config"])):  # fmt: skip
        made = edited(f"model: a/B\n{others}: 2\n", ScriptEdits(flags=flags, fields=fields))
        content = yaml.safe_load(made.text)
        assert [content.pop(key) for key in keys] == [64, {"method": "ngram"}]
        assert content == {"model": "a/B", others: 2}


@pytest.mark.parametrize(
    "text",
    ["{model: a/B, tensor-parallel-size: 2}\n", "model: &m a/B\nserved-model-name: *m\nmax-model-len: 8\n"],
)
def test_what_cannot_be_written_alone_is_said(text: str) -> None:
    """A mapping in brackets has no line for another key, and an anchor gives its value to two."""
    if text.startswith("{"):
        with pytest.raises(InputError, match="read and not written"):
            edited(text, ScriptEdits(flags={"--max-num-seqs": ("64",)}))
        return
    made = edited(text, ScriptEdits(flags={"--model": ("c/D",)}))
    assert yaml.safe_load(made.text)["served-model-name"] == "a/B"
