"""Mutants of small modules."""

from __future__ import annotations

import ast

import pytest

from tools.mutation.operators import mutants


def changed(source: str) -> set[str]:
    text = f"def f(a, b):\n    {source}\n"
    found = set()
    for mutant in mutants(text.encode()):
        after = mutant.source(text.encode()).decode()
        ast.parse(after)
        found.add(ast.unparse(ast.parse(after)).partition("\n    ")[2])
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("return a < b", {"return a >= b"}),
        ("return a + b", {"return a - b"}),
        ("return a and (not b)", {"return a or not b", "return a and b"}),
        ("return -a", {"return a"}),
        ("return min(a, b)", {"return max(a, b)"}),
        ("return a.argmin()", {"return a.argmax()"}),
        ("return 0.5", {"return 1.0"}),
        ("return True", {"return False"}),
        ("a += b", {"a -= b"}),
        ("sync(a)", {"pass"}),
        ("raise ValueError(f'{a + 1} is no {b}')", {"pass"}),
        ("return a if b else None", {"return None if b else a"}),
        ("return 'a' + b", set()),
        ("return f'{a + b}'", set()),
        ("'A docstring of 3 words.'", set()),
        ("log.warning(a)", set()),
        ("c: dict[str, 3] = a", set()),
    ],
)
def test_each_change_is_one_that_a_test_should_see(source: str, expected: set[str]) -> None:
    assert changed(source) == expected


def test_a_mutant_says_where_it_is_and_keeps_the_rest() -> None:
    text = 'X = 1 < 2\n\n\ndef f(é: int) -> bool:\n    """Words."""\n    return "ü" != é and é < 3  # three\n'
    by_change = {str(mutant): mutant for mutant in mutants(text.encode())}
    mutant = by_change["é < 3  ->  (é >= 3)"]
    assert mutant.line == 6
    assert mutant.source(text.encode()).decode() == text.replace("é < 3", "(é >= 3)")
    assert all(item.line == 6 for item in by_change.values())  # module level constants and annotations stay
