"""The layout of the code: one name for one class, folders that can be taken in, imports that go one way."""

from __future__ import annotations

import re
from pathlib import Path

from tools import house
from tools.source_tree import ROOT, SourceModule


def test_every_command_that_make_help_names_is_one() -> None:
    text = (ROOT / "Makefile").read_text()
    named = set(re.findall(r'@echo "make ([\w-]+)', text))
    assert named - set(re.findall(r"^([\w-]+):", text, re.MULTILINE)) == set()
    assert {"test", "mutants"} <= named


def _made(folder: Path, **texts: str) -> list[SourceModule]:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [SourceModule(Path(f"{name}.py"), folder) for name in texts]


def test_a_name_in_two_modules_is_seen(tmp_path: Path) -> None:
    made = _made(tmp_path, one="class Gain: ...\nclass _Own: ...", two="class Gain: ...\nclass _Own: ...")
    assert house.shared_names(made) == {"Gain": ["one", "two"]}


def test_a_circle_through_an_import_for_types_is_seen(tmp_path: Path) -> None:
    late = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from one import A\n"
    made = _made(
        tmp_path, one="from two import B\nclass A: ...", two=f"{late}class B: ...", three="import one"
    )
    assert house.import_cycles(made) == [["one", "two"]]


def test_a_name_of_a_setting_in_the_code_is_seen_and_one_of_our_own_is_not(tmp_path: Path) -> None:
    made = _made(tmp_path, one='A = "--max-num-seqs"', two='B = {"batch_size": "dtype", "max_num_seqs_": 1}')
    assert house.names_of_settings(made) == ["one:1 --max-num-seqs"]
