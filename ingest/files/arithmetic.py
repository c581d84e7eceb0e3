"""Arithmetic of whole numbers, as a shell does it."""

import ast
import operator
from collections.abc import Callable, Mapping

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MOST_LETTERS = 200


def whole_number(expression: str) -> int:
    """The value of an expression of whole numbers.

    Raises:
        ValueError: It is none, or its value is none of 64 bit.
    """
    try:
        return _whole(ast.parse(expression.strip()[:_MOST_LETTERS], mode="eval").body)
    except (SyntaxError, ZeroDivisionError, KeyError, RecursionError) as fault:
        raise ValueError(f"no arithmetic of whole numbers: {expression[:40]!r}") from fault


def _whole(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        value = _OPERATORS[type(node.op)](_whole(node.left), _whole(node.right))
        if abs(value) < 2**63:
            return value
    raise ValueError("no arithmetic of whole numbers")
