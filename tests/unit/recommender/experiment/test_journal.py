"""Tests of what a log shows."""

from pathlib import Path

from tests.unit.recommender.experiment.test_concluding import ran


def test_a_log_is_shown_in_a_notebook(tmp_path: Path) -> None:
    logged = ran(tmp_path, "ab")
    shown = logged._repr_mimebundle_()
    assert "<svg" in shown["text/html"]
    assert "ab" in shown["text/plain"]
    [treatment] = logged.page_content()["treatments"]
    assert len(treatment["track"]) > 1
    assert treatment["track"][-1][0] == treatment["pairs"]
