"""Tests of what a log shows."""

import os
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from recommender.experiment.journal import append_whole, cut_torn_line, open_alone
from tests.unit.recommender.experiment.test_concluding import ran


def test_a_page_has_the_track_of_a_test(tmp_path: Path) -> None:
    logged = ran(tmp_path, "ab")
    [treatment] = logged.page_content()["treatments"]
    assert len(treatment["track"]) > 1
    assert treatment["track"][-1][0] == treatment["pairs"]


def test_lines_that_do_not_fit_or_were_torn_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    descriptor = open_alone(path, "it", "wait")
    append_whole(path, descriptor, b"1\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as filled:
        filled.setattr(os, "fsync", full)
        with pytest.raises(WorkspaceError, match="No space"):
            append_whole(path, descriptor, b"2\n")
    assert path.read_bytes() == b"1\n"
    os.write(descriptor, b'{"to')
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    cut_torn_line(path, descriptor)
    assert (path.read_bytes(), synced) == (b"1\n", [descriptor])
    os.close(descriptor)
