"""Constraints as text."""

import numpy as np
import pytest

from kg.errors import InputError
from recommender.space.expressions import Expression

COLUMNS = {
    "a": np.array([1, 2, 3, 4]),
    "b": np.array([0, 2, 0, 8]),
    "c": np.array(["x", "y", "x", "y"], object),
    "block.x": np.array([1, 1, 2, 2]),
}
KNOWN = frozenset(COLUMNS)


def held(text: str) -> list[bool]:
    return [bool(x) for x in Expression.parse(text, KNOWN).evaluate(COLUMNS, 4)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 2", [False, False, True, True]),
        ("1 < a <= 3", [False, True, True, False]),
        ("a == 1 or a == 4", [True, False, False, True]),
        ("a == 1 || a == 4", [True, False, False, True]),
        ("!(a == 1) && b != 8", [False, True, True, False]),
        ("not a % 2", [False, True, False, True]),
        ("c not in ['x']", [False, True, False, True]),
        ("c == '!a && b'", [False] * 4),
        ("p['a'] + p.b >= 4", [False, True, False, True]),
        ("max(a, b) == b", [False, True, False, True]),
        ("(a if b else 9) == 9", [True, False, True, False]),
        ("a ** 2 <= 4", [True, True, False, False]),
        ("log2(a) == ceil(log2(a))", [True, True, False, True]),
        ("true", [True] * 4),
    ],
)
def test_what_holds(text: str, expected: list[bool]) -> None:
    assert held(text) == expected


@pytest.mark.parametrize("text", ["a % b == 0", "8 / b > 0", "a // b >= 0"])
def test_division_by_zero_holds_no_comparison(text: str) -> None:
    assert held(text)[0] is False
    assert held(text)[2] is False


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "a.__class__",
        "[x for x in a]",
        "open('f')",
        "unknown > 1",
        "a >",
        "",
        "(a := 2)",
        "a" * 20_000,
    ],
)
def test_nothing_else_is_allowed(text: str) -> None:
    with pytest.raises(InputError):
        Expression.parse(text, KNOWN)


def test_a_huge_power_is_refused_and_not_reckoned() -> None:
    with pytest.raises(InputError, match="exponent"):
        held("9 ** 99999 > a")


@pytest.mark.parametrize(
    "text",
    [
        "'a' * 2000000000 == c",
        "2000000000 * c == 'x'",
        "'%99999999999d' % a == c",
        "c + c == 'xx'",
        "c % a == 'x'",
    ],
)
def test_text_is_compared_and_never_reckoned_with(text: str) -> None:
    with pytest.raises(InputError, match="no arithmetic with text"):
        held(text)


def test_the_values_of_arithmetic_are_numbers() -> None:
    rule = Expression.parse("a * 2 + ceil(b / 3)", frozenset({"a", "b"}))
    values = {"a": np.array([1.0, 2.0]), "b": np.array([4.0, 3.0])}
    assert rule.numbers(values).tolist() == [4.0, 5.0]
    with pytest.raises(InputError, match="'a"):
        rule.numbers({"a": np.array(["x"]), "b": np.array([1.0])})
