"""Columns of text, and lines broken between words."""

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.text.width import LEAST_WIDTH, PIPE_WIDTH, columns_of, line_width, wrapped

WORDS = st.lists(st.text("abcdefghij-/.=昇腾训练", min_size=1, max_size=12), min_size=1, max_size=30)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_wide_characters_take_two_columns() -> None:
    assert [columns_of(text) for text in ("910B3", "昇腾910B3", "e\u0301", "")] == [5, 9, 1, 0]


@given(WORDS, st.integers(40, 90))
def test_every_line_fits_and_nothing_is_lost(words: list[str], width: int) -> None:
    lines = list(wrapped(" ".join(words), width))
    assert all(columns_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(words)


@pytest.mark.parametrize(
    ("line", "below"),
    [
        ("   gain        " + "word " * 20, 15),
        ("  # " + "word " * 20, "  # word"),
        ("  text " + "word " * 20, 4),
        ("Not here: " + "word " * 20, 2),
    ],
)
def test_later_lines_stand_below_the_text(line: str, below: int | str) -> None:
    first, *others = wrapped(line, 60)
    assert first.startswith(line[:8])
    assert others
    for other in others:
        begins = len(other) - len(other.lstrip())
        assert begins == below if isinstance(below, int) else other.startswith(below)


def streams() -> Iterator[tuple[io.StringIO, dict[str, str], int]]:
    yield io.StringIO(), {}, PIPE_WIDTH
    yield io.StringIO(), {"COLUMNS": "120"}, 120
    yield Terminal(), {"COLUMNS": "100"}, 100
    yield io.StringIO(), {"COLUMNS": "7"}, LEAST_WIDTH
    yield io.StringIO(), {"COLUMNS": "wide"}, PIPE_WIDTH
    yield io.StringIO(), {"COLUMNS": "0"}, PIPE_WIDTH


@pytest.mark.parametrize(("stream", "environment", "width"), list(streams()))
def test_the_width_is_what_is_stated_or_that_of_a_pipe(
    stream: io.StringIO, environment: dict[str, str], width: int
) -> None:
    assert line_width(stream, environment) == width
