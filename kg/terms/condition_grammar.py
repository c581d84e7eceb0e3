"""The grammar of conditions: which texts are one, and which facts they may read.

In the syntax of Python's expressions, of which nothing is executed::

    condition  = condition "and" condition | condition "or" condition | "not" condition
               | "(" condition ")" | atom
    atom       = flag | term comparison term ... | fact "in" "(" value, ... ")"
    term       = fact | number | text | term ("+" | "-" | "*" | "/" | "%") term
    fact       = name | name "[" text "]"          (kg.terms.facts; keyed facts take a text)
    comparison = "==" | "!=" | "<" | "<=" | ">" | ">="
"""

import ast
import operator
from collections.abc import Callable
from functools import lru_cache

from kg.errors import InputError
from kg.terms.facts import FACTS, FactType, nearest_facts

COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[object, object], bool]]] = {
    ast.Eq: ("=", operator.eq),
    ast.NotEq: ("is not", operator.ne),
    ast.Lt: ("<", operator.lt),  # type: ignore[dict-item]  # of numbers, as the parser made sure
    ast.LtE: ("<=", operator.le),  # type: ignore[dict-item]
    ast.Gt: (">", operator.gt),  # type: ignore[dict-item]
    ast.GtE: (">=", operator.ge),  # type: ignore[dict-item]
}
ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
MOST_LETTERS = 2_000
"""Length of a condition at most: nobody reads a longer one."""


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The expression of a condition, checked.

    Raises:
        InputError: The text is no condition, or reads a fact that is none.
    """
    if len(text) > MOST_LETTERS:
        raise InputError(f"a condition of {len(text)} letters", hint=f"at most {MOST_LETTERS}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        reason = getattr(fault, "msg", None) or "not an expression"
        raise InputError(f"condition {text!r}: {reason}", hint="docs/knowledge-format.md") from None
    _check(tree, text)
    return tree


def _check(node: ast.expr, text: str) -> None:
    """Refuse whatever the grammar has not."""
    match node:
        case ast.BoolOp(values=values):
            for value in values:
                _check(value, text)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _check(operand, text)
        case ast.Compare(left=left, ops=ops, comparators=right):
            _check_comparison([left, *right], ops, text)
        case _:
            if _fact_type(node, text) is not FactType.FLAG:
                raise _fault(node, text, "is no condition: compare it with a value")


def _check_comparison(terms: list[ast.expr], ops: list[ast.cmpop], text: str) -> None:
    for first, op, second in zip(terms, ops, terms[1:], strict=False):
        kind = _term_type(first, text)
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(second, ast.Tuple | ast.List) or not all(
                isinstance(item, ast.Constant) for item in second.elts
            ):
                raise _fault(second, text, "is no list of values")
            continue
        if type(op) not in COMPARISONS:
            raise _fault(first, text, "is compared in a way that conditions have not")
        other = _term_type(second, text)
        ordered = not isinstance(op, ast.Eq | ast.NotEq)
        if ordered and kind not in {FactType.NUMBER, FactType.VERSION}:
            raise _fault(first, text, "has no order")
        texts = {FactType.TEXT, FactType.NAMES, FactType.VERSION}
        keyed_setting = isinstance(first, ast.Subscript) and kind is FactType.TEXT
        if kind is not other and not (kind in texts and other is FactType.TEXT) and not keyed_setting:
            raise _fault(second, text, f"cannot be compared with a {kind}")


def _term_type(node: ast.expr, text: str) -> FactType:
    match node:
        case ast.Constant(value=bool()):
            return FactType.FLAG
        case ast.Constant(value=int() | float()):
            return FactType.NUMBER
        case ast.Constant(value=str()):
            return FactType.TEXT
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return FactType.NUMBER
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            for side in (left, right):
                if _term_type(side, text) is not FactType.NUMBER:
                    raise _fault(side, text, "is no number")
            return FactType.NUMBER
        case _:
            return _fact_type(node, text)


def _fact_type(node: ast.expr, text: str) -> FactType:
    match node:
        case ast.Name(id=name):
            keyed = False
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
            keyed = True
        case _:
            raise _fault(node, text, "is no fact")
    fact = FACTS.get(name)
    if fact is None:
        near = nearest_facts(name)
        hint = f"did you mean {', '.join(near)}?" if near else "facts: docs/knowledge-format.md"
        raise InputError(f"condition {text!r}: no fact is called {name!r}", hint=hint)
    if fact.keyed is not keyed:
        raise _fault(node, text, f'takes a key: {name}["..."]' if fact.keyed else "takes no key")
    return fact.type


def _fault(node: ast.expr, text: str, problem: str) -> InputError:
    return InputError(f"condition {text!r}: {ast.unparse(node)!r} {problem}", hint="docs/knowledge-format.md")
