"""Files of a launch: those that its script writes itself."""

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_files import with_written
from ingest.questions.launches.running import running_settings
from kg.errors import InputError

SCRIPT = """cat > ./ds.json <<'J'
{"zero_optimization": {"stage": 3}}
J
deepspeed --num_gpus 4 train.py --model_name_or_path a/B --deepspeed ds.json
"""


@pytest.mark.parametrize(
    "begun", ["cat > a.json <<EOF", "cat <<-EOF > a.json", "cat <<'EOF' >a.json", 'sudo tee a.json <<"EOF"']
)
def test_a_here_document_is_the_file_that_it_is_written_to(begun: str) -> None:
    beside = with_written(f"{begun}\n{{}}\nEOF\nrun", {"b.json": "b", "a.json": "old"}.get)
    assert [beside(name) for name in ("a.json", "./a.json", "b.json", "c")] == ["{}\n", "{}\n", "b", None]


@pytest.mark.parametrize(
    "text", ["cat <<EOF\nx\nEOF", "cat > $F <<EOF\nx\nEOF", "run > a <<EOF\nx\nEOF", "cat a"]
)
def test_what_no_file_is_made_of_is_none(text: str) -> None:
    assert with_written(text, lambda _: None)("a") is None


def test_the_settings_of_a_written_file_are_those_of_the_launch() -> None:
    found = {item.key: (item.value, item.file) for item in running_settings(SCRIPT)}
    assert found["zero_optimization.stage"] == ("3", "ds.json")


TOML = """[job]
dump_folder = "out"
[training]
local_batch_size = 1
seq_len = 8192
[activation_checkpoint]
mode = "full"
[model]
name = "llama3"
flavor = "8B"
"""


@pytest.mark.parametrize(
    ("text", "place", "batch"),
    [
        (TOML, "a.toml", 1),
        (TOML, "settings", 1),
        ("torchrun -m torchtitan.train --job.config_file a.toml --training.local_batch_size 2", "a.sh", 2),
        ("NGPU=4 CONFIG_FILE=a.toml ./run_train.sh --training.local_batch_size=2", "a.sh", 2),
    ],
)
def test_a_file_of_tables_is_read_and_the_command_wins(text: str, place: str, batch: int) -> None:
    question = read_launch(text, place, beside={"a.toml": TOML}.get).question
    current = question["current"]
    assert isinstance(current, dict)
    assert (current["training.local_batch_size"], current["activation_checkpoint.mode"]) == (batch, "full")
    assert (question["model"], question["shape"]) == ("llama3-8B", {"seq_len": 8192})
    assert question.get("count") == (4 if "NGPU" in text else None)


def test_a_script_of_the_same_name_is_not_the_program() -> None:
    with pytest.raises(InputError, match="no launch is found"):
        read_launch("NGPU=4 ./run_train.sh --steps 3", "a.sh")


def test_a_field_that_means_something_else_keeps_its_path() -> None:
    """The number format of a cache is not the model's, the sizes of graphs are not the most requests."""
    text = (
        "cat > extra.yaml <<'E'\ncuda_graph_config:\n  max_batch_size: 64\nkv_cache_config:\n  dtype: fp8\nE\n"
        "trtllm-serve openai/gpt-oss-120b --tp_size 8 --max_batch_size 640 --extra_llm_api_options extra.yaml\n"
    )
    question = read_launch(text, "serve.sh").question
    assert "precision" not in question
    assert question["current"] == {
        "tp_size": 8, "max_batch_size": 640, "cuda_graph_config.max_batch_size": 64,
        "kv_cache_config.dtype": "fp8",
    }  # fmt: skip
