"""Constraints as text, evaluated over whole columns of candidates and able to do nothing else.

An expression is Python's, of names, numbers, texts, arithmetic, comparisons, ``and or not in``, ``a if c
else b`` and a few functions. Kernel Tuner's and C's spellings are read as well: ``&&``, ``||``, ``!x``,
``true``, ``false``, ``p["name"]`` and ``p.name`` for a parameter called so. What divides by zero holds no
comparison. Nothing is called but the functions below; there is no ``eval``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError

MOST_CHARACTERS = 10_000
"""Longer expressions are nothing that anybody wrote; also keeps the parser's recursion in bounds."""

_MOST_POWER = 1024.0
"""Largest exponent; a choice that keeps ``9**9**9`` from filling the memory."""


def _divide(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def divided(left: Any, right: Any) -> Any:
        zero = np.asarray(right) == 0
        if not np.any(zero):
            return function(left, right)
        return np.where(zero, np.nan, function(left, np.where(zero, 1, right)))

    return divided


def _power(left: Any, right: Any) -> Any:
    if np.any(np.abs(np.asarray(right, float)) > _MOST_POWER):
        raise InputError(f"an exponent above {_MOST_POWER:g}")
    return np.asarray(left, float) ** np.asarray(right, float)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide(operator.truediv),
    ast.FloorDiv: _divide(operator.floordiv),
    ast.Mod: _divide(operator.mod),
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: lambda a, b: _equal(a, b),  # noqa: PLW0108 - defined below
    ast.NotEq: lambda a, b: ~_equal(a, b),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "ceil": lambda a: np.ceil(np.asarray(a, float)),
    "floor": lambda a: np.floor(np.asarray(a, float)),
    "round": lambda a: np.rint(np.asarray(a, float)),
    "int": lambda a: np.trunc(np.asarray(a, float)),
    "float": lambda a: np.asarray(a, float),
    "log2": lambda a: np.log2(np.asarray(a, float)),
    "log": lambda a: np.log(np.asarray(a, float)),
    "sqrt": lambda a: np.sqrt(np.asarray(a, float)),
    "min": lambda *a: _fold(np.minimum, a),
    "max": lambda *a: _fold(np.maximum, a),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked expression.

    Attributes:
        text: As it was written.
        names: Parameters it speaks of.
    """

    text: str
    names: frozenset[str]
    _tree: ast.expr
    _known: frozenset[str]

    @classmethod
    def parse(cls, text: str, parameters: frozenset[str]) -> Expression:
        """Check an expression.

        Args:
            text: The expression.
            parameters: Names of the parameters there are.

        Raises:
            InputError: It is not one, or speaks of something unknown.
        """
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"constraint of {len(text)} characters", hint=f"at most {MOST_CHARACTERS}")
        try:
            tree = ast.parse(_as_python(text), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as fault:
            raise InputError(f"not an expression: {text[:80]!r}", hint=str(fault)) from fault
        names: set[str] = set()
        try:
            _check(tree, parameters, names, text)
        except RecursionError as fault:
            raise InputError(f"expression nested too deeply: {text[:80]!r}") from fault
        return cls(text=text, names=frozenset(names), _tree=tree, _known=parameters)

    def evaluate(self, columns: Mapping[str, NDArray[np.generic]], count: int) -> NDArray[np.bool_]:
        """Evaluate the expression row by row.

        Args:
            columns: Values by name, each of shape (count,).
            count: Number of rows.

        Returns:
            Shape (count,).

        Raises:
            InputError: Values of kinds that cannot be compared or reckoned with.
        """
        try:
            with np.errstate(all="ignore"):
                found = _truth(_evaluate(self._tree, columns, self._known))
        except (TypeError, ValueError, OverflowError) as fault:
            raise InputError(f"constraint {self.text[:80]!r}: {fault}") from fault
        return np.broadcast_to(found, (count,))

    def numbers(self, columns: Mapping[str, NDArray[np.generic]]) -> NDArray[np.float64]:
        """The values of an arithmetic expression, row by row.

        Args:
            columns: Values by name, each of the same length.

        Raises:
            InputError: Values of kinds that cannot be reckoned with.
        """
        try:
            with np.errstate(all="ignore"):
                return np.asarray(_evaluate(self._tree, columns, self._known), dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as fault:
            raise InputError(f"{self.text[:80]!r}: {fault}") from fault


def _as_python(text: str) -> str:
    """C's spellings as Python's; texts in quotes are left alone."""
    parts = re.split(r"((?<!\\)(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"))", text.strip())
    for place in range(0, len(parts), 2):
        part = parts[place].replace("&&", " and ").replace("||", " or ")
        part = re.sub(r"!(?!=)", " not ", part)
        part = re.sub(r"\btrue\b", "True", part)
        parts[place] = re.sub(r"\bfalse\b", "False", part).replace("\n", " ")
    return "".join(parts).strip()


def _name_of(node: ast.expr, known: frozenset[str]) -> str | None:
    """The parameter a node names: ``x``, ``a.b``, ``p["x"]`` or ``p.x``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(name))):
            return name
        case ast.Attribute():
            dotted = ast.unparse(node)
            return dotted if dotted in known else dotted.split(".", 1)[1]
        case _:
            return None


def _check(node: ast.expr, known: frozenset[str], names: set[str], text: str) -> None:
    if (name := _name_of(node, known)) is not None:
        if name not in known:
            raise InputError(
                f"constraint {text[:80]!r} speaks of {name!r}, which is no parameter",
                hint=f"known: {', '.join(sorted(known)[:12])}",
            )
        names.add(name)
        return
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | int | float | str):
            return
        case ast.BinOp(op=op) if type(op) in _BINARY:
            pass
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd()) | ast.BoolOp() | ast.IfExp():
            pass
        case ast.Compare(ops=ops) if all(
            type(op) in _COMPARE or isinstance(op, ast.In | ast.NotIn) for op in ops
        ):
            pass
        case ast.Tuple() | ast.List() | ast.Set():
            pass
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if (
            function in _FUNCTIONS and arguments
        ):
            for argument in arguments:
                _check(argument, known, names, text)
            return
        case _:
            raise InputError(
                f"constraint {text[:80]!r}: {ast.unparse(node)[:40]!r} is not allowed",
                hint=f"names, numbers, comparisons, and/or/not/in, {', '.join(sorted(_FUNCTIONS))}",
            )
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child, known, names, text)


def _evaluate(node: ast.expr, columns: Mapping[str, NDArray[np.generic]], known: frozenset[str]) -> Any:
    def of(child: ast.expr) -> Any:
        return _evaluate(child, columns, known)

    if (name := _name_of(node, known)) is not None:
        return columns[name]
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_number(of(left)), _number(of(right)))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ~_truth(of(operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -of(operand)
        case ast.UnaryOp(operand=operand):
            return of(operand)
        case ast.BoolOp(op=op, values=values):
            fold = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return _fold(fold, [_truth(of(value)) for value in values])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return np.where(_truth(of(test)), of(body), of(orelse))
        case ast.Compare():
            return _compared(node, of)
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _FUNCTIONS[function](*map(of, arguments))
        case _:
            raise TypeError(f"{ast.unparse(node)[:40]} stands where a value should")


def _number(operand: Any) -> Any:
    """Pass an operand of arithmetic: text times a number would fill the memory, and ``%`` would format it.

    Raises:
        TypeError: It is text.
    """
    if np.asarray(operand).dtype.kind in "USO" and any(
        isinstance(item, str | bytes) for item in np.ravel(operand).tolist()
    ):
        raise TypeError("no arithmetic with text: compare it")
    return operand


def _compared(node: ast.Compare, of: Callable[[ast.expr], Any]) -> NDArray[np.bool_]:
    before, held = of(node.left), []
    for relation, comparator in zip(node.ops, node.comparators, strict=True):
        if isinstance(relation, ast.In | ast.NotIn):
            inside = _inside(before, comparator, of)
            held.append(inside if isinstance(relation, ast.In) else ~inside)
            continue
        after = of(comparator)
        held.append(np.asarray(_COMPARE[type(relation)](before, after)).astype(bool))
        before = after
    return np.asarray(_fold(np.logical_and, held))


def _inside(item: Any, container: ast.expr, of: Callable[[ast.expr], Any]) -> NDArray[np.bool_]:
    if not isinstance(container, ast.Tuple | ast.List | ast.Set):
        raise TypeError("'in' needs a list of values")
    if not container.elts:
        return np.zeros(np.shape(item), bool)
    return np.asarray(_fold(np.logical_or, [_equal(item, of(element)) for element in container.elts]))


def _equal(left: Any, right: Any) -> NDArray[np.bool_]:
    left, right = np.asarray(left), np.asarray(right)
    if {left.dtype.kind, right.dtype.kind} & {"U", "O"}:  # text against a number is unequal, not an error
        return np.asarray(left.astype(object) == right.astype(object), bool)
    return np.asarray(left == right, bool)


def _truth(value: Any) -> NDArray[np.bool_]:
    found = np.asarray(value)
    if found.dtype.kind == "f":
        return np.asarray((found != 0) & ~np.isnan(found))
    return found.astype(bool)


def _fold(function: Callable[[Any, Any], Any], items: Any) -> Any:
    result = items[0]
    for item in items[1:]:
        result = function(result, item)
    return result
