"""Values of expressions by cases, where a setting is followed through the functions that settle it."""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from tools.oracle.settings.functions import HOOKS, FunctionIndex, SourceFunction, reads, set_by
from tools.oracle.settings.source import UnresolvedError, tail
from tools.oracle.settings.symbols import (
    COMPUTED,
    GIB,
    NOBODY,
    OWNERS,
    UNSEEN,
    Cases,
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
        """The truth of a condition, by cases."""
        match node:
            case ast.UnaryOp(ast.Not(), inner):
                return tuple((terms, not value) for terms, value in self.test(inner, state))
            case ast.BoolOp(way, parts):
                ends = isinstance(way, ast.Or)
                tests = (self.test(part, state) for part in parts)
                return reduce(lambda found, after: _unless(found, after, ends=ends), tests)
            case ast.Compare(left, signs, others):
                held: Cases = (((), True),)
                for (one, two), sign in zip(pairwise([left, *others]), signs, strict=True):
                    if _is_of_model(one):
                        return (((), isinstance(sign, ast.NotIn | ast.NotEq | ast.IsNot)),)
                    said = partial(lambda sign, a, b: compared(a, sign, b), sign)
                    held = _unless(held, self._of_both(one, two, said, state), ends=False)
                return held
        return chained(self.value(node, state), truth)

    def _of_both(
        self, left: ast.expr, right: ast.expr, then: Callable[[Any, Any], Cases], state: State
    ) -> Cases:
        ends = self.value(right, state)
        return chained(self.value(left, state), lambda one: chained(ends, partial(then, one)))

    def value(self, node: ast.expr, state: State) -> Cases:  # noqa: PLR0912  one case a kind of node
        """The value of an expression, by cases."""
        match node:
            case ast.Name(name) if name in state:
                return state[name]
            case ast.Attribute(owner, name) if tail(owner) in OWNERS and name == self.target:
                return state[TOLD]
            case _ if (found := measured(node)) is not None:
                return found
            case ast.Attribute(owner, name) if tail(owner) in OWNERS | {"envs"}:
                item = self.program.names.get(name)
                if item is None:
                    return UNSEEN
                settled = item.default is None and name in self.program.settled
                default = item.default if item.stated else COMPUTED
                return (((), Symbol(item.key, default=default, settled=settled)),)
            case ast.IfExp(condition, body, otherwise):
                ways = {True: self.value(body, state), False: self.value(otherwise, state)}
                return joined(self.test(condition, state), ways)
            case ast.BoolOp(sign, parts):
                values = reversed([self.value(part, state) for part in parts])
                return reduce(lambda last, one: _unless(one, last, ends=isinstance(sign, ast.Or)), values)
            case ast.Compare() | ast.UnaryOp(ast.Not()):
                return self.test(node, state)
            case ast.BinOp(left, sign, right):
                return self._of_both(left, right, lambda a, b: (((), operated(sign, a, b)),), state)
            case ast.Dict():
                return (((), self._table(node, state)),)
            case ast.Tuple(parts):
                return (((), tuple(self.value(part, state) for part in parts)),)
            case ast.Subscript(table, key):
                return self._entry(table, key, UNSEEN, state)
            case ast.Call():
                return self._called(node, state)
        return self._stated(node)

    def _table(self, node: ast.Dict, state: State) -> dict[object, Cases]:
        found: dict[object, Cases] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            named = self.value(key, state) if key is not None else UNSEEN
            if len(named) == 1 and isinstance(named[0][1], str | int):
                found[named[0][1]] = self.value(value, state)
        return found

    def _stated(self, node: ast.expr) -> Cases:
        if tail(node) == "GiB_bytes":
            return (((), GIB),)
        assert self.at is not None  # noqa: S101  a function is being read
        try:
            value = self.program.sources.value(node, self.at.module)
        except UnresolvedError:
            return UNSEEN
        held = {key: (((), one),) for key, one in value.items()} if isinstance(value, dict) else value
        return (((), held),)

    def _entry(self, table: ast.expr, key: ast.expr, otherwise: Cases, state: State) -> Cases:
        def of(held: Any, name: Any) -> Cases:
            if not isinstance(held, dict) or not isinstance(name, Symbol | str | int):
                return UNSEEN
            if not isinstance(name, Symbol):
                entry: Cases = held.get(name, otherwise)
                return entry
            found = [
                ((*terms, *more), value)
                for one, cases in held.items()
                for terms, equal in compared(name, ast.Eq(), one)
                if equal
                for more, value in cases
            ]
            return short((*found, *otherwise))

        return self._of_both(table, key, of, state)

    def _called(self, node: ast.Call, state: State) -> Cases:
        match node:
            case ast.Call(ast.Attribute(owner, "lower" | "strip")) | ast.Call(
                ast.Attribute(owner, "get"), []
            ):
                return self.value(owner, state)  # envs.X.get()
            case ast.Call(ast.Name("min" | "max" as name), [_, *_] as parts):
                found: Cases = (((), ()),)
                for part in parts:
                    found = paired(found, self.value(part, state), _appended)
                return chained(found, lambda held: (((), extreme(name, held)),))
            case ast.Call(ast.Attribute(table, "get"), [key, *rest]):
                return self._entry(table, key, self.value(rest[0], state) if rest else NOBODY, state)
            case ast.Call(called) if tail(called) == "declare_resolution":
                for word in node.keywords:
                    if word.arg == self.target:
                        state[TOLD] = self.value(word.value, state)
                return NOBODY
        assert self.at is not None  # noqa: S101  a function is being read
        function = self.program.called(node, self.at)
        if function is not None:
            return self._run_call(node, function, state)
        for word in node.keywords:  # a configuration made of the settings may state a value of its own
            if word.arg == self.target and set(set_by(ast.Call(ast.Name(""), [], [word]))):
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


def _appended(held: Any, value: Any) -> Any:
    return held if held is COMPUTED else (*held, value)


def _unless(found: Cases, after: Cases, *, ends: bool) -> Cases:
    """``or`` where ``ends`` is true, else ``and``: the first value that decides."""
    return chained(found, lambda one: joined(truth(one), {ends: (((), one),), not ends: after}))


def _is_of_model(node: ast.expr) -> bool:
    """True if an expression is the path of the model, which tests leave out."""
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    return tail(inner) == "model_path"
