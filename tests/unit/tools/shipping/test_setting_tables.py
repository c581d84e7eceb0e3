"""The compiled tables of settings are those that people write."""

import json

from kg.terms.meanings import table
from tools.shipping.setting_tables import COMPILED, CONFIGURATIONS, as_text, configurations, tables


def test_the_compiled_tables_are_those_of_the_files() -> None:
    assert COMPILED.read_text(encoding="utf-8") == as_text(), "run python -m tools.shipping.setting_tables"
    assert table("purposes") == tables()["purposes"]


def test_the_compiled_configurations_are_those_of_the_recipes() -> None:
    assert json.loads(CONFIGURATIONS.read_text(encoding="utf-8")) == configurations()
    assert len(configurations()) > 150
