"""The memory of answers: a convenience that never stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recommender.store import answered_questions as asked

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_remembered_is_recalled_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    path = tmp_path / "asked.sqlite3"
    assert asked.remember(path, ["abc123", "abd456"], question='{"op": "toy"}', k=5, version="1-own")
    assert asked.recall(path, "abc") == [("abc123", '{"op": "toy"}', 5, "1-own")]
    assert {row[0] for row in asked.recall(path, "ab")} == {"abc123", "abd456"}
    assert asked.recall(path, "b") == []


@pytest.mark.parametrize("prefix", ["%", "_", "' OR ''='", "*"])
def test_nothing_is_a_pattern(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "asked.sqlite3"
    asked.remember(path, ["abc123"], question="{}", k=5, version="1")
    assert asked.recall(path, prefix) == []


def test_the_latest_question_stands(tmp_path: Path) -> None:
    path = tmp_path / "asked.sqlite3"
    for k in (1, 2):
        asked.remember(path, ["abc"], question="{}", k=k, version="1")
    assert [row[2] for row in asked.recall(path, "abc")] == [2]


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "REMEMBERED", 3)
    path = tmp_path / "asked.sqlite3"
    for number in range(6):
        asked.remember(path, [f"id{number}"], question="{}", k=5, version="1")
    assert sorted(row[0] for row in asked.recall(path, "id")) == ["id3", "id4", "id5"]


def test_a_damaged_memory_remembers_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "asked.sqlite3"
    path.write_bytes(b"garbage" * 1000)
    assert not asked.remember(path, ["abc"], question="{}", k=5, version="1")
    assert asked.recall(path, "abc") == []


def test_a_memory_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert asked.recall(tmp_path / "none.sqlite3", "a") == []
    assert not asked.remember(tmp_path / "no" / "folder", ["a"], question="{}", k=1, version="1")
