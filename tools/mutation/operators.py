"""Mutants of a module: small changes of its code, each of which a test ought to see.

A mutant swaps an operator, negates a condition, drops a call, a ``not``, a sign or a refusal, or changes a
number. Messages, annotations and docstrings stay as they are: nobody tests their wording.
"""

from __future__ import annotations

import ast
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NAMES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil"}
_NAMES |= {other: name for name, other in _NAMES.items()}
_SILENT = frozenset({"debug", "info", "warning", "append", "echo", "print"})
"""Calls that are not dropped: words for people, and lists, whose loss every test of them would see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one module.

    Attributes:
        line: Where it is, from 1.
        before: Code as it stands.
        after: Code as the mutant has it.
        start: First byte of what is replaced.
        end: Byte after the last.
    """

    line: int
    before: str
    after: str
    start: int
    end: int

    def source(self, original: bytes) -> bytes:
        """The module's text with the change made."""
        return original[: self.start] + self.after.encode() + original[self.end :]

    def __str__(self) -> str:
        return f"{' '.join(self.before.split())[:70]}  ->  {' '.join(self.after.split())[:70]}"


def mutants(original: bytes) -> list[Mutant]:
    """All mutants of the functions of a module, in order of lines."""
    tree = ast.parse(original)
    starts = [0]
    for line in original.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    made = []
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    nested = {id(inner) for outer in functions for inner in ast.walk(outer) if inner is not outer}
    for function in functions:
        if id(function) in nested:
            continue
        for statement in function.body:
            for node, changed in _changes(statement):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
                text = ast.unparse(changed)
                after = text if isinstance(changed, ast.stmt) else f"({text})"
                before = original[start:end].decode()
                made.append(Mutant(line=node.lineno, before=before, after=after, start=start, end=end))
    return sorted(made, key=lambda mutant: (mutant.start, mutant.after))


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Pairs of a node and what stands in its place, in it and below."""
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a docstring
    ):
        return
    changed = _statement(node) if isinstance(node, ast.stmt) else _expression(node)
    if changed is not None and isinstance(node, ast.expr | ast.stmt):
        yield node, changed
    if isinstance(node, ast.Raise):
        return  # its message
    for name, child in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for item in child if isinstance(child, list) else [child]:
            if isinstance(item, ast.AST):
                yield from _changes(item)


def _statement(node: ast.stmt) -> ast.AST | None:
    match node:
        case ast.Raise():
            return ast.Pass()
        case ast.Expr(value=ast.Call(func=called)) if _called(called) not in _SILENT:
            return ast.Pass()
        case ast.AugAssign(op=operator) if type(operator) in _BINARY:
            return _with(node, op=_BINARY[type(operator)]())
        case _:
            return None


def _expression(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
            return None if _is_text(left) or _is_text(right) else _with(node, op=_BINARY[type(operator)]())
        case ast.Compare(ops=[operator]):
            return _with(node, ops=[_COMPARE[type(operator)]()])
        case ast.BoolOp(op=operator):
            return _with(node, op=ast.And() if isinstance(operator, ast.Or) else ast.Or())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            return operand
        case ast.Constant(value=value):
            return _number(value)
        case ast.IfExp(body=body, orelse=orelse):
            return _with(node, body=orelse, orelse=body)
        case ast.Name(id=name) if name in _NAMES:
            return ast.Name(id=_NAMES[name])
        case ast.Attribute(attr=name) if name in _NAMES:
            return _with(node, attr=_NAMES[name])
        case _:
            return None


def _number(value: object) -> ast.AST | None:
    match value:
        case bool():
            return ast.Constant(value=not value)
        case int():
            return ast.Constant(value=value + 1)
        case float():
            return ast.Constant(value=2 * value if value else 1.0)
        case _:
            return None


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy(node)
    for name, item in fields.items():
        setattr(changed, name, item)
    return changed


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
