"""Searches prepared with the shipped knowledge."""

from dataclasses import replace
from pathlib import Path

from recommender.search.run.task_file import read_task_file, shipped_names
from recommender.workspace.workspace import Workspace


def test_every_shipped_search_can_be_prepared(shipped: Workspace, tmp_path: Path) -> None:
    assert {"matmul", "bert-large-8x910", "bert-large-8x910b3"} <= set(shipped_names())
    for name in shipped_names():
        found = shipped.searches.prepare(
            replace(read_task_file(name), folder=tmp_path), base={"PATH": "/usr/bin:/bin"}
        )
        assert found.task.default is not None
        assert found.task.space.violated(found.task.default) is None
