"""Example files are listed and written, and the commands that use them run."""

import shlex
from pathlib import Path
from typing import Any

import pytest

import data

SHIPPED = {name.partition("/")[2] for name in data.files("examples", "")} - {"index.json"}


def test_every_shipped_file_is_listed(run: Any) -> None:
    out = run("examples").out
    assert all(name in out for name in SHIPPED)
    assert "matmul" in out


def test_files_are_written_and_nothing_is_replaced_unasked(run: Any, tmp_path: Path) -> None:
    ran = run("examples", "config.json", "--to", tmp_path / "new")
    assert ran.code == 0
    assert ran.out.startswith("tunegraph recommend --config-json config.json")
    (tmp_path / "new" / "config.json").write_text("mine")
    refused = run("examples", "--all", "--to", tmp_path / "new")
    assert refused.code == 2
    assert "config.json is there already" in refused.fault
    assert run("examples", "config.json", "--to", tmp_path / "new", "--force").code == 0
    assert (tmp_path / "new" / "config.json").read_text() != "mine"


def test_unknown_names_and_folders_are_refused(run: Any) -> None:
    assert "no example named 'nosuch'" in run("examples", "nosuch").fault
    assert run("examples", "config.json", "--to", "/proc/nowhere").code == 2


@pytest.mark.long
def test_the_printed_commands_run(run: Any, tmp_path: Path) -> None:
    lines = run("examples", "--all", folder=tmp_path).out.splitlines()
    assert len(lines) >= 6
    for line in lines:
        ran = run(*shlex.split(line)[1:], folder=tmp_path)
        assert ran.code == 0, line
        assert ran.out
