"""Markup: what enters as data leaves as text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from recommender.report.markup import Markup, joined, name, plain, table, tag


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.titles: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.titles += [value for key, value in attrs if key == "title"]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(max_size=200))
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    parser = Texts()
    parser.feed(tag("p", text, title=text))
    parser.close()
    clean = plain(text).replace("\r\n", "\n").replace("\r", "\n")
    assert parser.tags == ["p"]
    assert parser.text.replace("\r\n", "\n").replace("\r", "\n") == clean
    assert [str(title).replace("\r\n", "\n").replace("\r", "\n") for title in parser.titles] == [clean]


def test_attributes_and_empty_elements() -> None:
    made = tag(
        "input",
        type="range",
        aria_live="polite",
        class_="a",
        hidden=False,
        open=True,
        min=0,
        step=0.01,
        id=None,
    )
    assert made == '<input type="range" aria-live="polite" class="a" open min="0" step="0.01">'
    assert tag("p", None, Markup("<b>x</b>"), "<") == "<p><b>x</b>&lt;</p>"
    assert joined(["a", None, "b"], ", ") == "a, , b"


def test_a_long_name_keeps_its_start_its_end_and_its_title() -> None:
    made = name("a" * 50 + "b" * 50, 20)
    assert made.startswith('<bdi title="aaa')
    assert "a…b" in made
    assert name("short") == "<bdi>short</bdi>"


def test_a_table_names_its_rows_and_columns() -> None:
    made = table(("what", "n"), [("x", 1), ("y", 2)], numbers=(1,), class_="cards")
    assert made.count('scope="row"') == 2
    assert made.count('scope="col"') == 2
    assert made.count('class="n"') == 3
    assert made.count('role="row"') == 3
    assert "role" not in table(("what",), [("x",)]).replace('role="group"', "")
