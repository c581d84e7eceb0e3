"""The reference and the table of models say what ships."""

from pathlib import Path

import pytest

from recommender.workspace.workspace import Workspace
from tools.reference import COVERAGE, PAGE, coverage, reference


@pytest.mark.long
def test_the_page_and_the_table_say_what_ships(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "workspace", cache=tmp_path / "cache", text_model=None)
    with Workspace.open(tmp_path / "workspace", cache=tmp_path / "cache") as shipped:
        models = coverage(shipped)
        page = reference(shipped, models)
    assert COVERAGE.read_text(encoding="utf-8") == models
    assert PAGE.read_text(encoding="utf-8") == page
