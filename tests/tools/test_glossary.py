"""The glossary is what the code says."""

from tools import glossary


def test_the_page_is_not_stale() -> None:
    assert glossary.PAGE.read_text(encoding="utf-8") == glossary.page(), "run python -m tools.glossary"


def test_every_word_has_a_line_and_one_home() -> None:
    terms = glossary.nouns()
    assert len({one.name for one in terms}) == len(terms)
    assert [one.name for one in terms if not one.line.endswith(".")] == []


def test_units_come_from_the_names_of_fields() -> None:
    units = {one.name: one.units for one in glossary.nouns()}
    assert units["Gain"] == ("nats",)
