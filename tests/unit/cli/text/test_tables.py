"""Tables that fit."""

from hypothesis import given
from hypothesis import strategies as st

from cli.text.tables import table_lines
from cli.text.width import columns_of

ADDRESS = "https://example.org/" + "x" * 70


def lines(columns: list[str], rows: list[list[str]], width: int) -> list[str]:
    return [line for line, _ in table_lines(columns, rows, width)]


def test_columns_stand_below_their_headings() -> None:
    assert lines(["", "name", "n"], [["1", "昇腾", "3"], ["2", "gemm", ""]], 80) == [
        "   name  n",
        "1  昇腾  3",
        "2  gemm",
    ]


def test_only_the_heading_is_one() -> None:
    assert [bold for _, bold in table_lines(["a"], [["x"], ["y"]], 80)] == [True, False, False]
    assert [bold for _, bold in table_lines(["", ""], [["x", "y"]], 80)] == [False]


def test_a_constant_column_is_said_once_where_the_table_does_not_fit() -> None:
    rows = [[str(place), "kernel_time of one call", "a" * 40] for place in range(3)]
    assert lines(["n", "metric", "name"], rows, 50)[0] == "all: metric kernel_time of one call"
    assert lines(["n", "metric", "name"], rows, 80)[0].split() == ["n", "metric", "name"]


def test_prose_is_wrapped_in_its_column() -> None:
    shown = lines(["what", "says"], [["first", "some words " * 8], ["second", "short"]], 40)
    assert len(shown) > 4
    assert all(columns_of(line) <= 40 for line in shown)
    assert shown[-1] == "second  short"


def test_what_cannot_be_wrapped_goes_below_its_row() -> None:
    shown = lines(["name", "source"], [["one", ADDRESS], ["two", "-"]], 60)
    assert ADDRESS in shown[2]
    assert shown[0] == "name"
    assert shown[1] == "one"


CELLS = st.text("ab 昇=", max_size=30)


@given(
    st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=6),
    st.integers(40, 100),
)
def test_every_table_of_short_words_fits_and_keeps_its_letters(rows: list[list[str]], width: int) -> None:
    columns = ["first", "second", "third", "fourth"]
    shown = lines(columns, rows, width)
    assert all(columns_of(line) <= width for line in shown)
    wanted = {letter for row in rows for cell in row for letter in cell} - {" "}
    assert wanted <= set("".join(shown))
