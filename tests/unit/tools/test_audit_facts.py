"""The draw of facts for a reader: every kind is in it, each fact has a place to look, equal seeds draw equally."""

import csv
from pathlib import Path

import pytest

from tools.audit_facts import draw, main


@pytest.mark.long
def test_a_draw_has_every_kind_and_its_sources() -> None:
    rows = draw(60, 1)
    assert len(rows) == 60
    assert {row.kind for row in rows} == {
        *("hardware", "model", "symptom", "cause", "setting", "condition"),
        *("relation", "fault", "effect", "recipe", "registry"),
    }
    assert all(row.subject and row.states and row.source and row.address and not row.verdict for row in rows)
    assert draw(60, 1) == rows
    assert draw(60, 2) != rows


def test_it_is_written_as_a_table(tmp_path: Path) -> None:
    assert main(["--number", "20", "--out", str(tmp_path / "facts.csv")]) == 0
    with (tmp_path / "facts.csv").open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 20
    assert main(["--number", "0"]) == 2


def test_one_kind_alone_has_each_of_its_sources() -> None:
    rows = draw(75, 3, "registry")
    assert len(rows) == 75
    assert {row.kind for row in rows} == {"registry"}
    assert len({row.source for row in rows}) > 25
    assert main(["--kind", "rumour"]) == 2
