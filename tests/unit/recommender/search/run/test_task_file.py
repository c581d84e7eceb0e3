"""Search files: read from a path or by name."""

from pathlib import Path

import pytest

from kg.errors import CaseFormatError, InputError
from recommender.search.run.task_file import read_task_file


def test_a_file_is_yaml_of_names_and_values(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- 1\n")
    with pytest.raises(CaseFormatError, match="names and values"):
        read_task_file(str(tmp_path / "a.yaml"))
    with pytest.raises(InputError, match="no search file"):
        read_task_file(str(tmp_path / "b.yaml"))
