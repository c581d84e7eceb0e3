"""Conditions over the facts of a question, with three truth values: holds, fails, unknown.

A ``names`` fact compares by membership: ``hardware == "ascend-a2"`` holds on all that is below that node.
A fact that the question does not state is unknown; Kleene's logic carries that through: ``and`` fails as soon
as one side fails, ``or`` holds as soon as one side holds. The grammar is :mod:`kg.terms.condition_grammar`'s.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kg.errors import InputError
from kg.nouns.release import release_key
from kg.terms.condition_grammar import ARITHMETIC, COMPARISONS, parsed
from kg.terms.facts import FACTS

FactValue: TypeAlias = "bool | int | float | str | frozenset[str]"
Facts: TypeAlias = "Mapping[str, FactValue]"
"""Value by fact; a keyed fact is written ``setting[--max-num-seqs]``."""


class Truth(StrEnum):
    """Truth of a condition for one question."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A condition judged for one question.

    Attributes:
        truth: Whether it holds.
        because: The facts that decided, each with its value, in words; for an unknown condition, what would
            have to hold, in words.
        missing: Names of the facts that are unknown and would decide.
    """

    truth: Truth
    because: str = ""
    missing: frozenset[str] = frozenset()


HOLDS = Judgement(truth=Truth.HOLDS)


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression over facts.

    Attributes:
        text: As it was written.

    Raises:
        InputError: The text is no condition, or reads a fact that is none; the hint names the nearest ones.

    Example:
        >>> moe = Condition('experts > 0 and hardware in ("ascend-a2", "ascend-a3")')
        >>> str(moe.judge({"experts": 0}).truth)
        'fails'
        >>> sorted(moe.judge({"experts": 128}).missing)
        ['hardware']
    """

    text: str

    def __post_init__(self) -> None:
        """Parse, so that a wrong text fails where it is written."""
        parsed(self.text)

    @property
    def facts(self) -> frozenset[str]:
        """Facts that it reads, without their keys."""
        return frozenset(_names(parsed(self.text)))

    @property
    def settings(self) -> frozenset[str]:
        """Keys of the settings that it reads: those of ``setting["--max-num-seqs"]``."""
        read = (_key(node) for node in ast.walk(parsed(self.text)) if isinstance(node, ast.Subscript))
        return frozenset(key[len("setting[") : -1] for key in read if key.startswith("setting["))

    def judge(self, facts: Facts) -> Judgement:
        """Judge it by the facts of a question."""
        return _judge(parsed(self.text), facts)


def _names(node: ast.AST) -> Iterator[str]:
    return (item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def _judge(node: ast.expr, facts: Facts) -> Judgement:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return _joined([_judge(value, facts) for value in values], Truth.FAILS, "and")
        case ast.BoolOp(op=ast.Or(), values=values):
            return _joined([_judge(value, facts) for value in values], Truth.HOLDS, "or")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _judge(operand, facts)
            if inner.truth is Truth.UNKNOWN:
                return Judgement(truth=Truth.UNKNOWN, because=f"not: {inner.because}", missing=inner.missing)
            opposite = Truth.FAILS if inner.truth is Truth.HOLDS else Truth.HOLDS
            return Judgement(truth=opposite, because=inner.because)
        case ast.Compare(left=left, ops=ops, comparators=right):
            terms = [left, *right]
            parts = [
                _compared(first, op, second, facts)
                for first, op, second in zip(terms, ops, terms[1:], strict=False)
            ]
            return parts[0] if len(parts) == 1 else _joined(parts, Truth.FAILS, "and")
        case _:
            key = _key(node)
            value = facts.get(key)
            if value is None:
                return Judgement(truth=Truth.UNKNOWN, because=_label(node), missing=frozenset({key}))
            truth = Truth.HOLDS if value else Truth.FAILS
            return Judgement(truth=truth, because=f"{_label(node)}: {'yes' if value else 'no'}")


def _joined(parts: list[Judgement], decisive: Truth, word: str) -> Judgement:
    """Kleene's ``and`` (a failing part decides) and ``or`` (a holding part decides)."""
    for part in parts:
        if part.truth is decisive:
            return part
    unknown = [part for part in parts if part.truth is Truth.UNKNOWN]
    if unknown:
        texts = list(dict.fromkeys(part.because for part in unknown))
        missing = frozenset[str]().union(*(part.missing for part in unknown))
        return Judgement(truth=Truth.UNKNOWN, because=f" {word} ".join(texts), missing=missing)
    texts = list(dict.fromkeys(part.because for part in parts))
    return Judgement(truth=parts[0].truth, because="; ".join(texts))


def _compared(first: ast.expr, op: ast.cmpop, second: ast.expr, facts: Facts) -> Judgement:
    missing = frozenset(key for node in (first, second) for key in _keys(node) if key not in facts)
    if missing:
        return Judgement(truth=Truth.UNKNOWN, because=_in_words(first, op, second), missing=missing)
    one = _value(first, facts)
    if isinstance(op, ast.In | ast.NotIn):
        options = _options(second)
        result = any(_equal(one, option, first) for option in options) is isinstance(op, ast.In)
    else:
        try:
            result = _holds(one, op, _value(second, facts), first)
        except ValueError:  # a text that is neither a number nor a release
            unread = frozenset(key for node in (first, second) for key in _keys(node))
            return Judgement(truth=Truth.UNKNOWN, because=_in_words(first, op, second), missing=unread)
    truth = Truth.HOLDS if result else Truth.FAILS
    fact, value = (second, _value(second, facts)) if isinstance(first, ast.Constant) else (first, one)
    return Judgement(truth=truth, because=f"{_label(fact)}: {_shown(value)}")


def _options(node: ast.expr) -> list[bool | int | float | str]:
    items = [item.value for item in getattr(node, "elts", ()) if isinstance(item, ast.Constant)]
    return [item for item in items if isinstance(item, bool | int | float | str)]


def _holds(one: object, op: ast.cmpop, two: object, node: ast.expr) -> bool:
    if isinstance(op, ast.Eq | ast.NotEq):
        return _equal(one, two, node) is isinstance(op, ast.Eq)
    compare = COMPARISONS[type(op)][1]
    if isinstance(one, str) or isinstance(two, str):
        return compare(release_key(str(one)), release_key(str(two)))
    return compare(one, two)


def _equal(one: object, two: object, node: ast.expr) -> bool:
    if isinstance(one, frozenset):
        return str(two) in one
    if _fact_of(node) == "software":
        return release_key(str(one)) == release_key(str(two))
    if isinstance(one, str) or isinstance(two, str):
        return _plain(one) == _plain(two)
    return one == two


def _plain(value: object) -> str:
    text = str(value).strip().lower()
    return {"true": "1", "on": "1", "yes": "1", "false": "0", "off": "0", "no": "0"}.get(text, text)


def _value(node: ast.expr, facts: Facts) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.BinOp(left=left, op=op, right=right):
            one, two = _value(left, facts), _value(right, facts)
            if not isinstance(one, int | float) or not isinstance(two, int | float):
                raise InputError(f"{ast.unparse(node)!r}: not numbers")
            if not two and isinstance(op, ast.Div | ast.Mod):
                return float("nan")
            return ARITHMETIC[type(op)](one, two)
        case _:
            return facts[_key(node)]


def _key(node: ast.expr) -> str:
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)):
            return f"{name}[{key}]"
        case ast.Name(id=name):
            return name
    return ""


def _keys(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp):
        return _keys(node.left) + _keys(node.right)
    return [key] if (key := _key(node)) else []


def _fact_of(node: ast.expr) -> str:
    return _key(node).split("[", 1)[0]


def _label(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):
        return ast.unparse(node)
    fact = FACTS.get(_fact_of(node))
    if fact is None:
        return ast.unparse(node)
    key = _key(node).partition("[")[2].removesuffix("]")
    label = fact.label.partition(" (")[0]  # without the words that it may take
    return f"{label} {key}" if key else label


def _in_words(first: ast.expr, op: ast.cmpop, second: ast.expr) -> str:
    if isinstance(op, ast.In | ast.NotIn):
        options = ", ".join(str(option) for option in _options(second))
        return f"{_label(first)} {'one of' if isinstance(op, ast.In) else 'none of'} {options}"
    word = COMPARISONS[type(op)][0]
    shown = _label(second) if _keys(second) else ast.unparse(second).strip("'\"")
    return f"{_label(first)} {word} {shown}"


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return min(value, key=lambda name: (-len(name), name), default="none")
    return f"{value:.3g}" if isinstance(value, float) else str(value)
