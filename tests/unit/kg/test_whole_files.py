"""Tests of files that are written whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kg.whole_files import write_bytes, write_json, write_text

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    write_json(tmp_path / "a", {"b": "é", "a": 1})
    assert (tmp_path / "a").read_text(encoding="utf-8") == '{\n  "a": 1,\n  "b": "é"\n}\n'
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "a", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_bytes(tmp_path / "a", b"new")
    assert {item.name: item.read_text() for item in tmp_path.iterdir()} == {"a": "old"}
