"""Known faults in logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.logs import read_log
from recommender.store.shipped_knowledge import knowledge

KNOWN = [noun for noun in knowledge() if isinstance(noun, FaultPattern)]


def faults(tmp_path: Path, text: str) -> dict[str, tuple[int, ...]]:
    log = tmp_path / "train.log"
    log.write_text(text, encoding="utf-8")
    return {item.fault.id: item.lines for item in read_log(log, KNOWN)}


@pytest.mark.parametrize(
    "written", ["error code 507014", "ret=507014", "[ERROR] rtStreamSync failed, error code:507014,"]
)
def test_a_code_is_found_where_a_word_says_it_is_one(tmp_path: Path, written: str) -> None:
    found = faults(tmp_path, f"step 1 ok\n{written}\n")
    assert list(found.values()) == [(2,)]


@pytest.mark.parametrize("text", ["iteration 100000 loss 2.1", "global_batch 507014 tokens", "1005070140"])
def test_a_bare_number_is_no_code(tmp_path: Path, text: str) -> None:
    assert faults(tmp_path, text + "\n") == {}


def test_every_code_that_is_known_is_found(tmp_path: Path) -> None:
    for fault in KNOWN:
        for code in fault.codes:
            assert fault.id in faults(tmp_path, f"ERROR: ACL error code: {code}\n"), code


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(b"\xff\xfe\nret=507014\n")
    assert [item.lines for item in read_log(log, KNOWN)] == [(2,)]
