"""Search files: read from a path or by name."""

from pathlib import Path

import pytest

from kg.errors import CaseFormatError, InputError
from recommender.search.run.task_file import number, read_task_file


def test_a_file_is_yaml_of_names_and_values(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- 1\n")
    with pytest.raises(CaseFormatError, match="names and values"):
        read_task_file(str(tmp_path / "a.yaml"))
    with pytest.raises(InputError, match="no search file"):
        read_task_file(str(tmp_path / "b.yaml"))


@pytest.mark.parametrize("value", [True, "3", None, -0.1, float("nan")])
def test_what_is_no_number_or_too_small_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"every: .* is no number of at least 0"):
        number("every", value)
    assert number("every", 0) == 0.0
