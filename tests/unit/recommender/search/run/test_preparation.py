"""Searches prepared with the shipped knowledge."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kg.errors import InputError
from recommender.search.run.task_file import TaskFile, read_task_file, shipped_names
from recommender.workspace.workspace import Workspace
from tests.shipped_hardware import add_hardware


def test_every_shipped_search_can_be_prepared(shipped: Workspace, tmp_path: Path) -> None:
    assert {"matmul", "bert-large-8x910", "bert-large-8x910b3"} <= set(shipped_names())
    for name in shipped_names():
        found = shipped.searches.prepare(
            replace(read_task_file(name), folder=tmp_path), base={"PATH": "/usr/bin:/bin"}
        )
        assert found.task.default is not None
        assert found.task.space.violated(found.task.default) is None


def test_a_command_that_cannot_be_run_is_refused_before_a_log_begins(
    shipped: Workspace, tmp_path: Path
) -> None:
    raw = {"parameters": {"x": [0, 1]}, "command": ["echo", "{y}"], "stop": {"evaluations": 2}}
    raw["metrics"] = {"kernel_time": {"path": "t", "unit": "s"}}
    with pytest.raises(InputError, match=r"names \{y\}"):
        shipped.searches.prepare(TaskFile(raw, name="toy", folder=tmp_path), base={})


@pytest.mark.parametrize("called", ["kernel_time", "run_time", "latency"])
def test_a_search_starts_from_tables_of_its_kernel_whatever_they_call_its_time(
    empty_path: Path, tmp_path: Path, called: str
) -> None:
    rows = [
        {
            "task": {"kind": "kernel", "op": "soft", "shape": {"M": 4096, "N": n}},
            "hardware": {"vendor": "nvidia", "name": "NVIDIA H100 PCIe"},
            "config": {"tile": tile},
            "outcome": {"metric": called, "unit": "us", "better": "lower", "status": "ok", "value": n / tile},
            "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
        }
        for n in (1024, 4096)
        for tile in (16, 32, 64, 128)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        add_hardware(editor, "nvidia", "h100-pcie")
        editor.ingest([tmp_path / "cases.jsonl"])
    raw = {
        "name": "mine",
        "problem": {
            "op": "soft",
            "phase": "kernel",
            "shape": {"M": 4096, "N": 2048},
            "hardware": "h100-pcie",
        },
        "parameters": {"tile": [16, 32, 64, 128]},
        "command": ["true", "{tile}"],
        "metrics": {"kernel_time": {"pattern": "(.*)", "unit": "us"}},
        "objectives": ["kernel_time"],
    }
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        found = workspace.searches.prepare(TaskFile(raw, folder=tmp_path), base={"PATH": "/usr/bin:/bin"})
    assert len(found.sources) == 2
