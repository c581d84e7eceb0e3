"""The draw of facts for a reader: every kind is in it, each fact has a place to look, equal seeds draw equally."""

import pytest

from tools.audit_facts import draw


@pytest.mark.long
def test_a_draw_has_every_kind_and_its_sources() -> None:
    rows = draw(60, 1)
    assert len(rows) == 60
    assert {row[0] for row in rows} >= {"Fact", "Recipe", "Setting", "Relation", "ScopeClause"}
    assert all(map(all, rows))
    assert draw(60, 1) == rows
    assert draw(60, 2) != rows
