"""The notebooks in examples/ run as they are, and show the kinds of output that are kept in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.recording.notebooks import FOLDER, kinds, run_cells

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def codes(notebook: Any) -> list[Any]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_three_and_each_shows_results_as_text_and_as_html() -> None:
    assert len(NOTEBOOKS) >= 3
    for path in NOTEBOOKS:
        outputs = [output for cell in codes(read(path)) for output in cell["outputs"]]
        assert ("execute_result", "text/html", "text/plain") in kinds(outputs), path.name
        assert all("Error" not in output.get("ename", "") for output in outputs)


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_keeps(
    path: Path, shipped_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNEGRAPH_WORKSPACE", str(shipped_path))
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    shown = [kinds(outputs) for outputs in run_cells(notebook)]
    assert shown == [kinds(cell["outputs"]) for cell in codes(notebook)]


def test_a_cell_shows_its_last_expression_unless_it_is_silenced() -> None:
    sources = ["x = 2\nprint(x)\nx + 1", "x;", "x"]
    notebook = {"cells": [{"cell_type": "code", "source": [source]} for source in sources]}
    first, second, third = run_cells(notebook)
    assert [item["output_type"] for item in first] == ["stream", "execute_result"]
    assert first[1]["data"] == {"text/plain": ["3"]}
    assert second == []
    assert third[0]["data"] == {"text/plain": ["2"]}
