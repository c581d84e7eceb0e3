"""Combinations that a program refuses: conditions that end in ``raise``, assertions, and checks of features.

Only conditions that consist of settings alone are taken, two or more of them, as one expression in words of
our own: ``--reuse-fp32-param and not --bf16``. What depends on anything else is left out.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tools.oracle.settings.source import Mined, Sources, as_text, tail

Terms: TypeAlias = "list[tuple[str, str]]"
"""Settings, each with what is said of it."""
_SIGNS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Gt: (">", "<="), ast.GtE: (">=", "<"), ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
}  # fmt: skip
"""Comparisons as they are written where they hold, and where they do not."""
_OWNERS = {"args", "self", "config", "global_args"}
_CHECKS = {"incompatible_check": "", "dependency_check": "not "}


def add_refusals(sources: Sources, settings: Iterable[Mined]) -> None:
    """Note at each setting the combinations with others that the program refuses.

    Args:
        sources: The modules that check.
        settings: Settings of the program.
    """
    by_key = {item.key: item for item in settings}
    plain = {key: key.split(".")[-1].lstrip("-").replace("-", "_") for key in by_key}
    times = Counter(plain.values())
    names = {name: key for key, name in plain.items() if times[name] == 1}
    for terms in _refusals(sources, names):
        keys, text = {key for key, _ in terms}, " and ".join(sorted({text for _, text in terms}))
        for item in (by_key[key] for key in keys if len(keys) > 1):
            if text not in item.conflicts:
                item.conflicts = (*item.conflicts, text)


def _refusals(sources: Sources, names: Mapping[str, str]) -> Iterator[Terms]:
    """Conditions under which functions fail."""
    for module in sources.having("raise ", "assert ", *_CHECKS):
        owners: list[ast.ClassDef | ast.Module] = [*module.classes.values(), module.tree]
        for owner in owners:
            feature = _feature(owner) if isinstance(owner, ast.ClassDef) else ""
            for function in (*owner.body, owner):
                if isinstance(function, ast.FunctionDef | ast.Module):
                    yield from _conditions(function.body, names, feature)


def _conditions(body: list[ast.stmt], names: Mapping[str, str], feature: str) -> Iterator[Terms]:
    waiting: list[tuple[list[ast.stmt], list[tuple[ast.expr, bool]]]] = [(body, [])]
    while waiting:
        statements, above = waiting.pop()
        for node in statements:
            match node:
                case ast.If(test) if "__name__" in ast.unparse(test):
                    waiting.append((node.body, above))
                case ast.If(test):
                    waiting += [(node.body, [*above, (test, True)]), (node.orelse, [*above, (test, False)])]
                    if node.body and isinstance(node.body[-1], ast.Return | ast.Continue):
                        above = [*above, (test, False)]  # what follows is reached only otherwise
                case ast.Raise():
                    yield _joined(above, names)
                case ast.Assert(test):
                    yield _joined([*above, (test, False)], names)
                case ast.Expr(ast.Call(function, [_, ast.Constant(other), *_])) if tail(function) in _CHECKS:
                    keys = names.get(feature), names.get(str(other))
                    if keys[0] and keys[1]:
                        yield [(keys[0], keys[0]), (keys[1], _CHECKS[tail(function)] + keys[1])]


def _joined(tests: Iterable[tuple[ast.expr, bool]], names: Mapping[str, str]) -> Terms:
    """Conditions that hold together; nothing where one is about anything but settings."""
    found: Terms = []
    for test, truth in tests:
        if not (terms := _terms(test, names, truth)):
            return []
        found += terms
    return found


def _terms(node: ast.expr, names: Mapping[str, str], truth: bool) -> Terms:
    """A condition as settings with what is said of them; nothing if it is about anything else."""
    match node:
        case ast.UnaryOp(ast.Not(), inner):
            return _terms(inner, names, not truth)
        case ast.BoolOp(sign, parts):  # of the other sign it is an alternative: not one expression
            one = isinstance(sign, ast.And) == truth
            return _joined(((part, truth) for part in parts), names) if one else []
        case ast.Compare(left, [sign], [right]) if key := _key(left, names):
            return _comparison(key, (sign, right), names, truth)
        case _ if key := _key(node, names):
            return [(key, key if truth else f"not {key}")]
    return []


def _comparison(key: str, said: tuple[ast.cmpop, ast.expr], names: Mapping[str, str], truth: bool) -> Terms:
    match said:
        case (ast.Is() | ast.IsNot()) as sign, ast.Constant(value):
            unset = isinstance(sign, ast.Is) == truth
            return [(key, f"{key} is {'unset' if unset else 'set'}")] if value is None else []
        case (ast.In() | ast.NotIn()) as sign, (ast.List(items) | ast.Tuple(items) | ast.Set(items)):
            values = ", ".join(str(item.value) for item in items if isinstance(item, ast.Constant))
            plain = all(isinstance(item, ast.Constant) for item in items)
            among = "in" if isinstance(sign, ast.In) == truth else "not in"
            return [(key, f"{key} {among} ({values})")] if plain else []
        case sign, other if type(sign) in _SIGNS:
            written = _SIGNS[type(sign)][0 if truth else 1]
            if isinstance(other, ast.Constant):
                return [(key, f"{key} {written} {other.value!s}")]
            if second := _key(other, names):
                return [(key, text := f"{key} {written} {second}"), (second, text)]
    return []


def _key(node: ast.expr, names: Mapping[str, str]) -> str:
    """The setting of ``args.name``, ``self.name`` or ``getattr(args, "name", ...)``; empty if it is none."""
    match node:
        case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name)), *_]):
            return names.get(name, "") if _holds_settings(tail(owner)) else ""
        case ast.Attribute(owner, name):
            direct = ast.unparse(owner).startswith("args.")
            return names.get(name, "") if direct or _holds_settings(tail(owner)) else ""
    return ""


def _holds_settings(name: str) -> bool:
    return name in _OWNERS or name.endswith("_config")


def _feature(owner: ast.ClassDef) -> str:
    """The name that a feature gives itself in its constructor."""
    for node in ast.walk(owner):
        if isinstance(node, ast.Call) and tail(node.func) == "__init__":
            given = (*node.args, *(word.value for word in node.keywords))
            return next((text.replace("-", "_") for item in given if (text := as_text(item))), "")
    return ""
