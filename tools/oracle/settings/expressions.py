"""Values of expressions by cases, where a setting is followed through the functions that settle it."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.functions import HOOKS, reads
from tools.oracle.settings.source import UnresolvedError, tail
from tools.oracle.settings.symbols import (
    COMPUTED,
    GIB,
    NOBODY,
    OWNERS,
    UNSEEN,
    Symbol,
    chained,
    compared,
    extreme,
    joined,
    measured,
    operated,
    paired,
    short,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.oracle.settings.functions import FunctionIndex, SourceFunction
    from tools.oracle.settings.symbols import Cases, Terms

State = dict[str, "Cases"]
TOLD = "."
"""The followed setting's value in a state."""
RETURN = "return"
_DEPTH = 7
_SMALL = 150
"""Lines of a function that is run only for its value."""


class Expressions(ABC):
    """Values of expressions of the function that is read.

    Attributes:
        program: Its functions.
        target: Name of the setting that is followed.
        at: The function that is read.
        depth: Calls above it.
    """

    def __init__(self, program: FunctionIndex, target: str) -> None:
        self.program = program
        self.target = target
        self.at: SourceFunction | None = None
        self.depth = 0

    @abstractmethod
    def call(self, function: SourceFunction, given: State, state: State, depth: int) -> State:
        """The state after a function, with what it returns; only the setting itself lives on."""

    def test(self, node: ast.expr, state: State) -> Cases:
        """Whether a condition holds, by cases."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return tuple((terms, not value) for terms, value in self.test(node.operand, state))
        if isinstance(node, ast.BoolOp):
            found = self.test(node.values[0], state)
            for part in node.values[1:]:
                found = _unless(found, self.test(part, state), ends=isinstance(node.op, ast.Or))
            return found
        if isinstance(node, ast.Compare):
            held: Cases = (((), True),)
            for (left, right), sign in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
                if _is_of_model(left):
                    return (((), isinstance(sign, ast.NotIn | ast.NotEq | ast.IsNot)),)
                held = _unless(held, self._compared(left, sign, right, state), ends=False)
            return held
        return chained(self.value(node, state), truth)

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr, state: State) -> Cases:
        sides = self.value(left, state), self.value(right, state)
        return chained(sides[0], lambda one: chained(sides[1], lambda two: compared(one, sign, two)))

    def value(self, node: ast.expr, state: State) -> Cases:
        """The value of an expression, by cases."""
        if isinstance(node, ast.Name) and node.id in state:
            return state[node.id]
        if isinstance(node, ast.Attribute) and tail(node.value) in OWNERS and node.attr == self.target:
            return state[TOLD]
        if (found := measured(node)) is not None:
            return found
        if isinstance(node, ast.Attribute) and tail(node.value) in OWNERS | {"envs"}:
            return self._setting(node.attr)
        return self._made(node, state)

    def _setting(self, name: str) -> Cases:
        item = self.program.names.get(name)
        if item is None:
            return UNSEEN
        settled = item.default is None and name in self.program.settled
        return (((), Symbol(item.key, default=item.default if item.stated else COMPUTED, settled=settled)),)

    def _made(self, node: ast.expr, state: State) -> Cases:
        if isinstance(node, ast.IfExp):
            return joined(
                self.test(node.test, state),
                {True: self.value(node.body, state), False: self.value(node.orelse, state)},
            )
        if isinstance(node, ast.BoolOp):
            return self._either(node, state)
        if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
            return self.test(node, state)
        if isinstance(node, ast.BinOp):
            return paired(
                self.value(node.left, state),
                self.value(node.right, state),
                lambda a, b: operated(node.op, a, b),
            )
        if isinstance(node, ast.Dict):
            return (((), self._table(node, state)),)
        if isinstance(node, ast.Tuple):
            return (((), tuple(self.value(part, state) for part in node.elts)),)
        if isinstance(node, ast.Subscript):
            return self._entry(node.value, node.slice, UNSEEN, state)
        if isinstance(node, ast.Call):
            return self._called(node, state)
        return self._stated(node)

    def _either(self, node: ast.BoolOp, state: State) -> Cases:
        *others, last = node.values
        found = self.value(last, state)
        ends = isinstance(node.op, ast.Or)
        for part in reversed(others):
            found = _unless(self.value(part, state), found, ends=ends)
        return found

    def _stated(self, node: ast.expr) -> Cases:
        if tail(node) == "GiB_bytes":
            return (((), GIB),)
        assert self.at is not None  # noqa: S101  a function is being read
        try:
            value = self.program.sources.value(node, self.at.module)
        except UnresolvedError:
            return UNSEEN
        return (
            ((), {key: (((), one),) for key, one in value.items()} if isinstance(value, dict) else value),
        )

    def _table(self, node: ast.Dict, state: State) -> dict[object, Cases]:
        found: dict[object, Cases] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            named = self.value(key, state) if key is not None else UNSEEN
            if len(named) == 1 and isinstance(named[0][1], str | int):
                found[named[0][1]] = self.value(value, state)
        return found

    def _entry(self, table: ast.expr, key: ast.expr, otherwise: Cases, state: State) -> Cases:
        def of(held: Any) -> Cases:
            if not isinstance(held, dict):
                return UNSEEN
            return chained(self.value(key, state), lambda name: self._looked_up(held, name, otherwise))

        return chained(self.value(table, state), of)

    def _looked_up(self, held: Mapping[Any, Any], name: Any, otherwise: Cases) -> Cases:
        if not isinstance(name, Symbol):
            return held.get(name, otherwise) if isinstance(name, str | int) else UNSEEN
        found: list[tuple[Terms, Any]] = []
        for key, cases in held.items():
            ways = [terms for terms, equal in compared(name, ast.Eq(), key) if equal]
            found.extend(((*terms, *more), value) for terms in ways for more, value in cases)
        return short((*found, *otherwise))

    def _called(self, node: ast.Call, state: State) -> Cases:
        name = tail(node.func)
        if name in {"lower", "strip"} and isinstance(node.func, ast.Attribute):
            return self.value(node.func.value, state)
        if name in {"min", "max"} and node.args:
            values = [self.value(part, state) for part in node.args]
            found: Cases = (((), ()),)
            for one in values:
                found = paired(
                    found, one, lambda held, value: (*held, value) if held is not COMPUTED else held
                )
            return chained(found, lambda held: (((), extreme(name, held)),))
        if name == "get" and isinstance(node.func, ast.Attribute) and node.args:
            otherwise = self.value(node.args[1], state) if len(node.args) > 1 else NOBODY
            return self._entry(node.func.value, node.args[0], otherwise, state)
        if name == "get" and isinstance(node.func, ast.Attribute):
            return self.value(node.func.value, state)  # envs.X.get()
        if name == "declare_resolution":
            for word in node.keywords:
                if word.arg == self.target:
                    state[TOLD] = self.value(word.value, state)
            return NOBODY
        assert self.at is not None  # noqa: S101  a function is being read
        function = self.program.called(node, self.at)
        return self._run_call(node, function, state) if function is not None else self._plain(node, state)

    def _plain(self, node: ast.Call, state: State) -> Cases:
        for word in node.keywords:  # a configuration made of the settings may state a value of its own
            if (
                word.arg == self.target
                and not isinstance(word.value, ast.Attribute)
                and reads(word.value, self.target)
            ):
                state[TOLD] = self.value(word.value, state)
        return self._stated(node)

    def _run_call(self, node: ast.Call, function: SourceFunction, state: State) -> Cases:
        name = tail(node.func)
        makes = function.node.name == "__post_init__"
        if makes:
            told = next((word.value for word in node.keywords if word.arg == self.target), None)
            if told is None or not reads(told, self.target):
                return UNSEEN
            state[TOLD] = self.value(told, state)
        is_wanted = self.target in self.program.sets(function)
        if name in HOOKS and not is_wanted:
            return UNSEEN
        long = (function.node.end_lineno or 0) - function.node.lineno > _SMALL
        if self.depth >= _DEPTH or (not is_wanted and (long or self.depth > 3)):
            if is_wanted:
                state[TOLD] = UNSEEN
            return UNSEEN
        args = function.node.args
        plain = [item.arg for item in args.args]
        plain = plain[1:] if plain[:1] in (["self"], ["cls"]) else plain
        given: State = {
            item.arg: self.value(value, state)
            for item, value in zip(
                reversed([*args.args, *args.kwonlyargs]),
                reversed([*args.defaults, *(one or ast.Constant(None) for one in args.kw_defaults)]),
                strict=False,
            )
        }
        if name not in HOOKS and not makes:
            given |= {word: self.value(value, state) for word, value in zip(plain, node.args, strict=False)}
            given |= {word.arg: self.value(word.value, state) for word in node.keywords if word.arg}
        given = {key: value for key, value in given.items() if key not in OWNERS and key != "usage_context"}
        after = self.call(function, given, state, self.depth + 1)
        state[TOLD] = after[TOLD]
        if name == "run_post_process_pass":
            before = state[TOLD]
            state[TOLD] = chained(
                after[RETURN],
                lambda held: held.get(self.target, before) if isinstance(held, dict) else UNSEEN,
            )
        return after[RETURN]


def _unless(found: Cases, after: Cases, *, ends: bool) -> Cases:
    """``or`` where ``ends`` is true, else ``and``: the first value that decides."""
    return chained(found, lambda one: joined(truth(one), {ends: (((), one),), not ends: after}))


def _is_of_model(node: ast.expr) -> bool:
    """Whether an expression is the path of the model, which is no word that tests give it."""
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    return tail(inner) == "model_path"
