"""A model's own file is told by its content and found where a launch says that the model lies."""

import json
from pathlib import Path

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import merge_facts
from ingest.questions.launches.model_files import read_model_file, with_named_files
from kg.errors import InputError
from tests.unit.ingest.questions.launches.test_gguf import SIZES, header, named
from tests.unit.ingest.questions.launches.test_mindformers import TASK

CONFIG = {"num_hidden_layers": 7, "hidden_size": 64, "num_attention_heads": 2}


@pytest.mark.parametrize(
    ("name", "content", "layers"),
    [
        ("config.json", json.dumps(CONFIG).encode(), 7),
        ("m.gguf", header(named("wolf", {**SIZES})), 36),
        ("weights.bin", header(named("wolf", {**SIZES})), 36),
        ("t.yaml", TASK.encode(), 80),
    ],
)
def test_a_file_is_told_by_its_content(tmp_path: Path, name: str, content: bytes, layers: int) -> None:
    (tmp_path / name).write_bytes(content)
    sizes = read_model_file(tmp_path / name).question["sizes"]
    assert isinstance(sizes, dict)
    assert sizes["layers"] == layers


@pytest.mark.parametrize("place", ["wolf", "hub/models--acme--wolf/snapshots/0a"])
def test_the_configuration_in_the_folder_of_a_model_is_read(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "config.json").write_text(json.dumps({**CONFIG, "torch_dtype": "bfloat16"}))
    launch = read_launch(f"vllm serve ./{place.partition('/snapshots')[0]} -tp 2 --dtype float16", "s.sh")
    question = merge_facts(with_named_files(launch, tmp_path))
    assert isinstance(question["sizes"], dict)
    assert question["sizes"]["layers"] == 7
    assert (question["precision"], question["count"]) == ("float16", 2)  # the script wins over the file


def test_a_task_of_mindspore_is_read_beside_its_launch(tmp_path: Path) -> None:
    command = "msrun --worker_num=8 run_mindformer.py --config t.yaml"
    launch = read_launch(command, "s.sh")
    assert with_named_files(launch, tmp_path) == [launch]
    (tmp_path / "t.yaml").write_text(TASK)
    facts = with_named_files(launch, tmp_path)
    assert [part.notes for part in facts] == [(), ()]
    assert merge_facts(facts)["count"] == 8  # as the launch says


@pytest.mark.parametrize("model", ["acme/wolf", "x" * 5000, ""])
def test_a_model_that_lies_elsewhere_leaves_the_launch_as_it_is(tmp_path: Path, model: str) -> None:
    launch = read_launch(f"vllm serve '{model}'", "s.sh")
    assert with_named_files(launch, tmp_path) == [launch]


def test_a_file_that_is_broken_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json: no JSON"):
        with_named_files(read_launch("vllm serve .", "s.sh"), tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read_model_file(tmp_path / "other")
