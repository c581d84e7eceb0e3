"""The compiled tables of settings are those that people write."""

from kg.terms.meanings import table
from tools.shipping.setting_tables import COMPILED, as_text, tables


def test_the_compiled_tables_are_those_of_the_files() -> None:
    assert COMPILED.read_text(encoding="utf-8") == as_text(), "run python -m tools.shipping.setting_tables"
    assert table("purposes") == tables()["purposes"]
