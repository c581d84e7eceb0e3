"""Resolves the defaults of a release: runs its functions that settle unset values, on symbols.

Each setting that they settle is followed alone, from its stated default through these functions, as a list of
*cases*: terms that must hold and the value then; the first that holds wins. Terms are our words:
``platform == cpu``, ``memory >= 70`` (of a device, GiB), ``device has h100``, ``plain decoder``, other
settings, and ``?`` for whatever else a condition asks. A value that depends on anything else is computed;
nothing is guessed.
"""

import ast
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tools.oracle.settings.expressions import RETURN, TOLD, Expressions, State
from tools.oracle.settings.functions import FunctionIndex, SourceFunction, reads, set_by
from tools.oracle.settings.source import Mined, Sources, tail
from tools.oracle.settings.symbols import (
    COMPUTED,
    NOBODY,
    OWNERS,
    UNKNOWN,
    UNSEEN,
    Bound,
    Cases,
    Terms,
    chained,
    joined,
    operated,
    paired,
    same,
    short,
)

_BUDGET = 20_000
"""Statements after which a setting counts as computed."""
_UNSET = (None, "auto", "", -1)
"""Defaults that say nothing: what a program puts in their place is worth knowing."""
_MANY = 16
"""Cases beyond which the registry says that a value is computed."""


def add_resolutions(sources: Sources, entries: Iterable[str], settings: Iterable[Mined]) -> None:
    """Note at each setting what functions make of its default, where they change it.

    Args:
        sources: The modules.
        entries: Functions in their order: ``"EngineArgs.__post_init__"``, ``"validate_args"``.
        settings: Settings of the program.
    """
    names = {
        spelling.lstrip("-").replace("-", "_"): item
        for item in settings
        if item.place in {"flag", "env"}
        for spelling in (*item.aliases, item.key)
    }
    program = FunctionIndex(sources, names)
    begun = [found for entry in entries if (found := program.named(entry)) is not None]
    reached = frozenset[str]().union(*(program.sets(function) for function in begun))
    program.settled = reached
    apart = program.set_apart() if begun else frozenset()
    for name, item in names.items():
        unset = item.stated and not item.resolved and item.default in _UNSET
        if name not in reached or not unset or item.place != "flag":
            continue
        run = Follower(program, name)
        cases: Cases = (((), item.default),)
        for function in begun:
            cases = run.call(function, {}, {TOLD: cases}, 0)[TOLD]
        if name in apart:
            cases = short((((UNKNOWN,), COMPUTED), *cases))
        if cases != (((), item.default),):
            item.resolved = _written(cases)


def _written(cases: Cases) -> tuple[tuple[Any, ...], ...]:
    """Cases as the registry holds them."""
    return tuple(_case(terms, value) for terms, value in (cases if len(cases) <= _MANY else UNSEEN))


def _case(terms: Terms, value: Any) -> tuple[Any, ...]:
    when = " and ".join(terms)
    if isinstance(value, Bound):
        return (when, value.value, value.kind)
    return (when, value) if value is None or isinstance(value, bool | int | float | str) else (when,)


class Follower(Expressions):
    """Follows one setting through functions."""

    def __init__(self, program: FunctionIndex, target: str) -> None:
        super().__init__(program, target)
        self.left = _BUDGET

    def call(self, function: SourceFunction, given: State, state: State, depth: int) -> State:
        """The state after a function, with what it returns; only the setting itself lives on."""
        before, self.at, self.depth = (self.at, self.depth), function, depth
        inner: State = {TOLD: state[TOLD], **given}
        after = self._run(function.node.body, inner)
        self.at, self.depth = before
        if after is None:
            return {TOLD: state[TOLD], RETURN: UNSEEN}
        return {TOLD: after[TOLD], RETURN: after.get(RETURN, NOBODY)}

    def _run(self, body: Sequence[ast.stmt], state: State) -> State | None:
        """The state after statements; None where they end in an error."""
        for number, node in enumerate(body):
            self.left -= 1
            if self.left < 0:
                return {TOLD: UNSEEN}
            rest = body[number + 1 :]
            if isinstance(node, ast.Raise):
                return None
            if isinstance(node, ast.Return):
                state[RETURN] = self.value(node.value, state) if node.value is not None else NOBODY
                return state
            if isinstance(node, ast.If):
                ends = any(isinstance(part, ast.Return) for part in ast.walk(node))
                after = self._branch(node, rest if ends else (), state)
                if ends or after is None:
                    return after
                state = after
            elif isinstance(node, ast.For):
                unrolled = self._unrolled(node, state)
                if unrolled is not None:
                    return self._run([*unrolled, *rest], state)
                self._forget(node, state)
            elif isinstance(node, ast.With | ast.Try):
                return self._run([*node.body, *getattr(node, "finalbody", ()), *rest], state)
            elif isinstance(node, ast.While | ast.Match):
                self._forget(node, state)
            else:
                self._step(node, state)
        return state

    def _branch(self, node: ast.If, rest: Sequence[ast.stmt], state: State) -> State | None:
        tests = self.test(node.test, state)
        after: dict[bool, State | None] = {}
        for way, body in ((True, node.body), (False, node.orelse)):
            if any(value is way for _, value in tests):
                after[way] = self._run([*body, *rest], dict(state))
        alive = [one for one in after.values() if one is not None]
        if len(alive) < 2:
            return alive[0] if alive else None
        merged: State = {}
        for name in alive[0].keys() | alive[1].keys():
            ways = {way: one.get(name, UNSEEN) for way, one in after.items() if one is not None}
            equal = ways[True] == ways[False] and all(
                same(one, two) for (_, one), (_, two) in zip(ways[True], ways[False], strict=True)
            )
            merged[name] = ways[True] if equal else joined(tests, ways)
        return merged

    def _step(self, node: ast.stmt, state: State) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            value = self.value(node.value, state)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assign(target, value, state)
                if isinstance(target, ast.Name) and target.id == self.target and reads(node.value, target.id):
                    state[TOLD] = value
        elif isinstance(node, ast.AugAssign):
            sign = node.op
            value = paired(
                self.value(node.target, state),
                self.value(node.value, state),
                lambda a, b: operated(sign, a, b),
            )
            self._assign(node.target, value, state)
        elif isinstance(node, ast.Expr):
            self.value(node.value, state)

    def _assign(self, target: ast.expr, value: Cases, state: State) -> None:
        if isinstance(target, ast.Name):
            state[target.id] = value
        elif (
            isinstance(target, ast.Attribute) and target.attr == self.target and tail(target.value) in OWNERS
        ):
            state[TOLD] = value
        elif isinstance(target, ast.Tuple):
            for number, part in enumerate(target.elts):
                self._assign(part, chained(value, partial(_part, number)), state)

    def _forget(self, node: ast.stmt, state: State) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Assign | ast.AugAssign):
                for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                    self._assign(target, UNSEEN, state)
            elif isinstance(part, ast.Call):
                inner = self.program.called(part, self.at) if self.at is not None else None
                names = self.program.sets(inner) if inner is not None else frozenset(set_by(part))
                if self.target in names:
                    state[TOLD] = UNSEEN

    def _unrolled(self, node: ast.For, state: State) -> list[ast.stmt] | None:
        """A loop over a table that stands in the sources, as the statements of its rounds."""
        source = node.iter
        inner = (
            source.func.value
            if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute)
            else source
        )
        held = self.value(inner, state)
        items = held[0][1] if len(held) == 1 else None
        if not isinstance(items, dict | list) or len(items) > 16 or tail(source) in {"keys", "values"}:
            return None
        found: list[ast.stmt] = []
        for one in items.items() if isinstance(items, dict) else items:
            parts = (
                [ast.Constant(part[0][1] if isinstance(part, tuple) else part) for part in one]
                if isinstance(one, tuple)
                else [ast.Constant(one)]
            )
            value = ast.Tuple(elts=list(parts), ctx=ast.Load()) if len(parts) > 1 else parts[0]
            found += [ast.Assign(targets=[node.target], value=value), *node.body]
        return found


def _part(number: int, value: Any) -> Cases:
    """The value of one of several names that are set at once."""
    found: Cases = value[number] if isinstance(value, tuple) and len(value) > number else UNSEEN
    return found
