"""The file of answered questions: a convenience that never stands in the way."""

from pathlib import Path

import pytest

from kg.rows import answers
from kg.rows.answers import AnsweredQuestion, AnswerFile


def test_what_is_remembered_is_recalled_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "asked.sqlite3")
    assert file.remember({"abc123": "{1}", "abd456": "{2}"}, question='{"op": "toy"}', k=5, version="1-own")
    assert file.questions("abc") == [
        AnsweredQuestion(id="abc123", question='{"op": "toy"}', k=5, version="1-own")
    ]
    assert {item.id for item in file.questions("ab")} == {"abc123", "abd456"}
    assert file.questions("b") == []
    assert file.content("abd456") == "{2}"
    assert file.content("ab") is None


@pytest.mark.parametrize("prefix", ["%", "_", "' OR ''='", "*"])
def test_nothing_is_a_pattern(tmp_path: Path, prefix: str) -> None:
    file = AnswerFile(tmp_path / "asked.sqlite3")
    file.remember({"abc123": "{}"}, question="{}", k=5, version="1")
    assert file.questions(prefix) == []


def test_the_latest_question_stands(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "asked.sqlite3")
    for k in (1, 2):
        file.remember({"abc": "{}"}, question="{}", k=k, version="1")
    assert [item.k for item in file.questions("abc")] == [2]


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "KEPT", 3)
    file = AnswerFile(tmp_path / "asked.sqlite3")
    for number in range(6):
        file.remember({f"id{number}": "{}"}, question="{}", k=5, version="1")
    assert sorted(item.id for item in file.questions("id")) == ["id3", "id4", "id5"]
    assert [file.content(f"id{number}") is None for number in (2, 3)] == [True, False]


def test_a_damaged_memory_remembers_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "asked.sqlite3"
    path.write_bytes(b"garbage" * 1000)
    assert not AnswerFile(path).remember({"abc": "{}"}, question="{}", k=5, version="1")
    assert AnswerFile(path).questions("abc") == []


def test_a_memory_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert AnswerFile(tmp_path / "none.sqlite3").questions("a") == []
    assert not AnswerFile(tmp_path / "no" / "folder").remember({"a": "{}"}, question="{}", k=1, version="1")
