"""``tunegraph init`` and the defaults of ``tunegraph.toml``."""

import tomllib
from pathlib import Path
from typing import Any

SERVING = ("--model", "qwen3-32b", "--phase", "serving")
FRAMEWORK = "vllm-ascend=0.18.0"


def test_what_init_writes_is_what_questions_are_about(run: Any, tmp_path: Path) -> None:
    made = run("init", "--hardware", "昇腾910B3", "--count", 4, "--framework", FRAMEWORK, folder=tmp_path)
    assert made.code == 0
    content = tomllib.loads((tmp_path / "tunegraph.toml").read_text())
    assert content == {
        "hardware": "ascend-910b3", "count": 4, "framework": "vllm-ascend", "version": "0.18.0"
    }  # fmt: skip
    answer = run("recommend", *SERVING, "-k", 1, "--json", folder=tmp_path).json
    start = answer["start"]
    assert (start["framework"], start["version"]) == ("vllm-ascend", "0.18.0")
    assert any("from" in note and "tunegraph.toml" in note for note in answer["notes"])
    other = run("recommend", *SERVING, "--hardware", "h200", "--count", 1, "-k", 1, "--json", folder=tmp_path)
    assert not any("tunegraph.toml" in note and "910b3" in note for note in other.json["notes"])
    assert run("init", folder=tmp_path).fault == "tunegraph.toml: is there already"


def test_a_framework_or_language_that_there_is_not_is_refused(run: Any, tmp_path: Path) -> None:
    assert "no framework named 'vlm'" in run("init", "--framework", "vlm", folder=tmp_path).fault
    assert "no language 'fr'" in run("init", "--language", "fr", folder=tmp_path).fault
    assert not (tmp_path / "tunegraph.toml").exists()


def test_a_broken_file_ends_every_command_with_line_and_word(run: Any, tmp_path: Path) -> None:
    (tmp_path / "tunegraph.toml").write_text('hardware = "910b3"\ncount of = 4\n')
    ran = run("kb", "stats", folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "tunegraph.toml: line 2, at 'of'" in ran.fault
