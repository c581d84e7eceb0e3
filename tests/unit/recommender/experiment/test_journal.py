"""Tests of what a log shows."""

from pathlib import Path

from tests.unit.recommender.experiment.test_concluding import ran


def test_a_page_has_the_track_of_a_test(tmp_path: Path) -> None:
    logged = ran(tmp_path, "ab")
    [treatment] = logged.page_content()["treatments"]
    assert len(treatment["track"]) > 1
    assert treatment["track"][-1][0] == treatment["pairs"]
