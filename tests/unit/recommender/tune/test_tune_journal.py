"""Journals of tunes: flushed, torn, taken up again, and of one tune alone."""

from pathlib import Path

import pytest

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from recommender.tune.tune_journal import TuneJournal, folder_of, read_events, tune_names
from recommender.tune.tune_result import TuneResult


def test_what_was_noted_is_there_again(tmp_path: Path) -> None:
    result = TuneResult(value=3.5, probes=2, others={"ttft_p50_s": 0.1}, answers=("a", "b"), void=("busy",))
    with TuneJournal(tmp_path / "t", {"script": "a.sh"}) as journal:
        journal.start("a\u2028b\x85")
        journal.note("measured", digest="d", name="x", result=result.to_json())
    with TuneJournal(tmp_path / "t", {"script": "a.sh"}) as again:
        assert list(again.measured()) == [("d", result)]
        assert again.start("b") == 1
        assert again.last("resumed") is not None
        assert again.last("nothing") is None


def test_a_line_that_a_crash_tore_goes_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    with TuneJournal(tmp_path / "t", {}) as journal:
        journal.note("start", number=0, name="x")
    path = tmp_path / "t" / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event": "meas')
    with TuneJournal(tmp_path / "t", {}) as journal:
        assert [item["event"] for item in journal.events] == ["begun", "start", "resumed"]
    path.write_bytes(whole + b'{"number": 1}\n{"event": "resumed"}\n')
    with pytest.raises(WorkspaceError, match="damaged at line 3"):
        read_events(tmp_path / "t")
    path.write_bytes(b"x" + whole)
    with pytest.raises(WorkspaceError, match="damaged at line 1"):
        read_events(tmp_path / "t")


def test_a_journal_is_of_one_tune_and_one_process(tmp_path: Path) -> None:
    with (
        TuneJournal(tmp_path / "t", {"load": "4"}),
        pytest.raises(WorkspaceError, match="being run by another process"),
        TuneJournal(tmp_path / "t", {}),
    ):
        pass
    with TuneJournal(tmp_path / "t", {"load": "4"}):
        pass  # nothing holds it


def test_tunes_are_found_by_name_or_as_the_newest(tmp_path: Path) -> None:
    with pytest.raises(UnknownEntityError, match="no tune was begun"):
        folder_of(tmp_path, "")
    for name in ("one", "two"):
        with TuneJournal(tmp_path / name, {}):
            pass
    assert set(tune_names(tmp_path)) == {"one", "two"}
    assert folder_of(tmp_path, "one").name == "one"
    assert folder_of(tmp_path, "").name == "two"
    for name in ("three", "../one"):
        with pytest.raises(InputError):
            folder_of(tmp_path, name)
