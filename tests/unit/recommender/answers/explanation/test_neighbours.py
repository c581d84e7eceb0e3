"""Neighbours for people: a value that a model gave says so, and a measured one stands before it."""

import json
import shutil
from pathlib import Path

import pytest

from recommender.workspace.workspace import Workspace


@pytest.mark.parametrize("kinds", [("modelled",), ("modelled", "measured"), ("measured",)])
def test_a_modelled_best_says_so_and_what_was_measured_stands_before_it(
    kinds: tuple[str, ...], shipped_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(shipped_path, tmp_path / "workspace")
    rows = [
        {
            "task": {"kind": "kernel", "op": "toy_add", "shape": {"n": 4096}},
            "hardware": {"name": "A100-SXM4-80GB"},
            "config": {"tile": 2**at},
            "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.0 + at},
            "source": {"title": kind},
            "kind": kind,
        }
        for at, kind in enumerate(kinds)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Workspace.open(tmp_path / "workspace", cache=shipped_path.parent / "cache") as workspace:
        workspace.ingest(tmp_path / "rows.jsonl")
        question = {"op": "toy_add", "hardware": "A100-SXM4-80GB", "shape": {"n": 4096}}
        problem, _ = workspace.problem(question)
        [first, *_] = workspace.ask.neighbours(problem, 1)
    assert first["best_kind"] == ("measured" if "measured" in kinds else "modelled")
    assert str(first["best_text"]).startswith("modelled 0.001 s") is ("measured" not in kinds)
    assert first["best_value"] == pytest.approx(0.001 * (1 + kinds.index(str(first["best_kind"]))))
