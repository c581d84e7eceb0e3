"""Patterns by bytes that their lines must hold."""

import re
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.diagnosis.statements import compile_pattern
from recommender.diagnosis.text_index import TextIndex, rows_of

T = TypeVar("T")


def found(items: list[tuple[str, T]], line: str) -> list[T]:
    index = TextIndex(items)
    first, again = index.find([line.encode()] * 2)
    assert [again] == list(index.find([line.encode()]))
    return first


@pytest.mark.parametrize(
    ("pattern", "line", "is_found"),
    [
        ("ub overflow, requires {bits} bits", "Stub Overflow, REQUIRES 12 bits", True),  # the edge may go on
        ("ub overflow, requires {bits} bits", "ub overflow,  requires 9 bits", True),
        ("ub overflow, requires {bits} bits", "overflow of a buffer requires thought", False),
        ("ub overflow, requires {bits} bits", "overflowing requires nothing", False),
        ("ray", "at ray/worker.py", True),  # three letters, with whatever follows
        ("507046", "error code 507046, stream", True),  # without a letter it may be anywhere
        ("oom", "out of memory", False),
    ],
)
def test_a_pattern_is_looked_for_where_its_words_stand(pattern: str, line: str, *, is_found: bool) -> None:
    assert found([(pattern, "it")], line) == (["it"] if is_found else [])


def test_things_are_found_once_in_their_order() -> None:
    items = [("a second one of two", 2), ("a third one of it", 3), ("the second time it was", 2)]
    assert found(items, "a third one of it, a second one of two, the second time it was") == [2, 3]


def test_places_of_a_text_are_those_of_things_and_of_whole_numbers() -> None:
    index = TextIndex([("buffer overflow of {n}", 1), ("WARN", 2), ("507035", 3)])
    text = b"all is well\nit WARNs\nBuffer  overflow of 3\nid 15070350\ncode 507035"
    assert rows_of(text, index.places(text)) == [1, 2, 4]


def test_what_has_told_is_looked_for_no_longer() -> None:
    index = TextIndex([("one word", 1), ("another word", 2)])
    assert list(index.find([b"one word", b"another word"])) == [[1], [2]]
    index.drop(lambda item: item == 1)
    assert list(index.find([b"one word", b"another word"])) == [[], [2]]


_TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["{n}", "\u2026", " ", ", ", "="]),
        st.from_regex(r"[A-Za-z0-9_.:-]{1,6}", fullmatch=True),
    ),
    min_size=1,
    max_size=8,
)


@given(_TEXTS, st.sampled_from(["", "x", " ", "7:"]), st.sampled_from(["", "y", ".", " z"]))
def test_no_line_that_an_expression_finds_is_passed_over(parts: list[str], before: str, behind: str) -> None:
    pattern = "".join(parts)
    line = before + pattern.replace("{n}", "12").replace("\u2026", "some words").upper() + behind
    is_number = pattern.isdigit()  # a code, that stands alone
    if not is_number and re.compile(compile_pattern(pattern).pattern, re.IGNORECASE).search(line):
        assert found([(pattern, 1)], line) == [1]
