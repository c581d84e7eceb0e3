"""Values that are texts of others, and numbers that no machine holds."""

import json

import pytest

from kg.nouns.values import MOST_DEPTH, MOST_DIGITS, as_integer, as_value, load_json, parse_json


@pytest.mark.parametrize("text", ['{"a": [1, null]}', "[]", "7", '"x"', "true", " {} "])
def test_a_text_in_json_is_its_value(text: str) -> None:
    assert parse_json(text) == json.loads(text)


def test_what_is_no_json_stays_the_text_that_it_is() -> None:
    deep = ["[" * depth + "]" * depth for depth in (MOST_DEPTH + 1, 5_000, 200_000)]
    for text in ("", "{", "{a: 1", "[1", "1" * 5_000, '{"a":' * 100, *deep):
        assert parse_json(text) == text
    assert parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH) != "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert parse_json("[" + "[]," * 500 + "[]]") == [[]] * 501


def test_a_whole_number_fits_64_bits() -> None:
    assert as_integer("9" * MOST_DIGITS) == int("9" * MOST_DIGITS)
    with pytest.raises(ValueError, match="digits"):
        as_integer("1" + "0" * MOST_DIGITS)
    for beyond in (10**400, -(10**309)):
        with pytest.raises(ValueError, match="inf is not a finite"):
            as_value([beyond])
    with pytest.raises(ValueError, match="inf"):
        as_value(float("inf"))


@pytest.mark.parametrize(
    ("raw", "is_whole"), [(1e15, True), (-3.0, True), (2.0**53, False), (1e300, False), (0.5, False)]
)
def test_a_whole_float_is_the_integer_as_long_as_it_is_exact(raw: float, is_whole: bool) -> None:
    value = as_value(raw)
    assert (value, type(value)) == (raw, int if is_whole else float)


def test_what_nests_too_deep_is_a_fault_of_the_text() -> None:
    assert load_json(b'{"a": NaN}').keys() == {"a"}
    for text in ("[" * 100_000, '{"a":' * 100_000, "{", b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011  whatever the reader says of it
            load_json(text)
