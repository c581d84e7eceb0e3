"""Combinations that a program refuses: conditions that end in ``raise``, assertions, and checks of features.

Only conditions that consist of settings alone are taken, two or more of them, as one expression in words of
our own: ``--reuse-fp32-param and not --bf16``. What depends on anything else is left out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tools.oracle.settings.source import tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.oracle.settings.source import Mined, Sources

_SIGNS = {ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}
_OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
_OWNERS = {
    "args",
    "self",
    "config",
    "global_args",
    "parallel_config",
    "scheduler_config",
    "model_config",
    "cache_config",
}


def add_refusals(
    sources: Sources, settings: Iterable[Mined], foreign: Mapping[str, str] | None = None
) -> None:
    """Note at each setting the combinations with others that the program refuses.

    Args:
        sources: The modules that check.
        settings: Settings of the program.
        foreign: Keys of other programs by the name that the checks use.
    """
    by_key = {item.key: item for item in settings}
    names: dict[str, str] = dict(foreign or {})
    doubled: set[str] = set()
    for item in by_key.values():
        name = item.key.split(".")[-1].lstrip("-").replace("-", "_")
        if name in names and names[name] != item.key:
            doubled.add(name)
        names[name] = item.key
    for name in doubled:
        names.pop(name, None)
    for keys, text in _refusals(sources, names):
        for key in keys:
            if key in by_key and text not in by_key[key].conflicts:
                by_key[key].conflicts = (*by_key[key].conflicts, text)


def _refusals(sources: Sources, names: Mapping[str, str]) -> Iterator[tuple[set[str], str]]:
    for module in sources.having("raise ", "assert ", "incompatible_check", "dependency_check"):
        owners: list[ast.ClassDef | ast.Module] = [*module.classes.values(), module.tree]
        for owner in owners:
            feature = _feature(owner) if isinstance(owner, ast.ClassDef) else ""
            for function in (*owner.body, owner):
                if isinstance(function, ast.FunctionDef | ast.Module):
                    for terms in _conditions(function, names, feature):
                        keys = {key for key, _ in terms}
                        if len(keys) > 1:
                            yield keys, " and ".join(sorted({text for _, text in terms}))


def _conditions(
    function: ast.FunctionDef | ast.Module, names: Mapping[str, str], feature: str
) -> Iterator[list[tuple[str, str]]]:
    """Conditions under which a function fails, each as settings with what is said of them."""
    waiting: list[tuple[list[ast.stmt], list[tuple[ast.expr, bool]]]] = [(function.body, [])]
    while waiting:
        body, above = waiting.pop()
        for node in body:
            if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
                waiting.append((node.body, above))
            elif isinstance(node, ast.If):
                waiting.append((node.body, [*above, (node.test, True)]))
                waiting.append((node.orelse, [*above, (node.test, False)]))
                if node.body and isinstance(node.body[-1], ast.Return | ast.Continue):
                    above = [*above, (node.test, False)]  # what follows is reached only otherwise
            elif isinstance(node, ast.Raise):
                yield from _terms(above, names)
            elif isinstance(node, ast.Assert):
                yield from _terms([*above, (node.test, False)], names)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield from _check(node.value, names, feature)


def _check(call: ast.Call, names: Mapping[str, str], feature: str) -> Iterator[list[tuple[str, str]]]:
    name = tail(call.func)
    other = call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else ""
    keys = names.get(feature), names.get(str(other))
    if name in {"incompatible_check", "dependency_check"} and keys[0] and keys[1]:
        negation = "not " if name == "dependency_check" else ""
        yield [(keys[0], keys[0]), (keys[1], negation + keys[1])]


def _terms(tests: list[tuple[ast.expr, bool]], names: Mapping[str, str]) -> Iterator[list[tuple[str, str]]]:
    found: list[tuple[str, str]] = []
    for test, truth in tests:
        terms = _term(test, names, truth=truth)
        if terms is None:
            return
        found.extend(terms)
    yield found


def _term(node: ast.expr, names: Mapping[str, str], *, truth: bool) -> list[tuple[str, str]] | None:
    """A condition as settings with what is said of them; None if it is about anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _term(node.operand, names, truth=not truth)
    if isinstance(node, ast.BoolOp):
        if isinstance(node.op, ast.And) != truth:
            return None  # an alternative: not one expression
        parts = [_term(value, names, truth=truth) for value in node.values]
        return (
            None if any(part is None for part in parts) else [term for part in parts for term in part or ()]
        )
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison(node, names, truth=truth)
    key = _key(node, names)
    return None if key is None else [(key, key if truth else f"not {key}")]


def _comparison(node: ast.Compare, names: Mapping[str, str], *, truth: bool) -> list[tuple[str, str]] | None:
    key, other = _key(node.left, names), node.comparators[0]
    if key is None:
        return None
    operator = node.ops[0]
    if isinstance(operator, ast.Is | ast.IsNot) and isinstance(other, ast.Constant):
        if other.value is not None:
            return None
        return [(key, f"{key} is {'unset' if isinstance(operator, ast.Is) == truth else 'set'}")]
    if isinstance(operator, ast.In | ast.NotIn) and isinstance(other, ast.List | ast.Tuple | ast.Set):
        if not all(isinstance(item, ast.Constant) for item in other.elts):
            return None
        values = ", ".join(str(item.value) for item in other.elts if isinstance(item, ast.Constant))
        return [(key, f"{key} {'in' if isinstance(operator, ast.In) == truth else 'not in'} ({values})")]
    sign = _SIGNS.get(type(operator))
    if sign is None:
        return None
    sign = sign if truth else _OPPOSITE[sign]
    if isinstance(other, ast.Constant):
        return [(key, f"{key} {sign} {other.value!s}")]
    second = _key(other, names)
    text = f"{key} {sign} {second}"
    return None if second is None else [(key, text), (second, text)]


def _key(node: ast.expr, names: Mapping[str, str]) -> str | None:
    """The setting of ``args.name``, ``self.name`` or ``getattr(args, "name", ...)``; None if it is none."""
    if isinstance(node, ast.Call) and tail(node.func) == "getattr" and len(node.args) > 1:
        name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
        return names.get(str(name)) if tail(node.args[0]) in _OWNERS else None
    if isinstance(node, ast.Attribute) and (
        tail(node.value) in _OWNERS
        or tail(node.value).endswith("_config")
        or ast.unparse(node).startswith("args.")
    ):
        return names.get(node.attr)
    return None


def _feature(owner: ast.ClassDef) -> str:
    """The name that a feature gives itself in its constructor."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Call) and tail(node.func) == "__init__":
            texts = [
                item.value
                for item in (*node.args, *(word.value for word in node.keywords))
                if isinstance(item, ast.Constant)
            ]
            return next((text.replace("-", "_") for text in texts if isinstance(text, str)), "")
    return ""
