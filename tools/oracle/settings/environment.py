"""Environment variables: tables of getters, classes of fields, and single reads in Python, C++ and shell."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from tools.oracle.settings.fields import kind_of
from tools.oracle.settings.source import (
    READERS,
    Mined,
    UnresolvedError,
    as_literal,
    idle_tests,
    state_default,
    tail,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tools.oracle.settings.source import Module, Sources

TABLES = {"environment_variables", "env_variables"}
_READS = {"getenv", "get"}
_HELPERS = {
    "get_bool_env_var": "bool",
    "get_int_env_var": "int",
    "get_float_env_var": "float",
    "get_str_env_var": "str",
    "env_with_choices": "str",
    "env_list_with_choices": "list",
    "env_set_with_choices": "list",
    "get_env_or_set_default": "str",
    "_get_bool_env": "bool",
    "is_set_env": "bool",
    "env_bool": "bool",
    "env_opt_bool": "bool",
    "env_int": "int",
    "env_str": "str",
    "env_opt_str": "str",
    "getenv_bool": "bool",
    "Env": "any",
}
_READER = re.compile(r"environ|getenv|\bEnv\(|" + "|".join(_HELPERS.keys() - {"Env"}))
_FIELDS = {"EnvBool": "bool", "EnvInt": "int", "EnvFloat": "float", "EnvStr": "str", "EnvTuple": "list"}
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{2,}$")
_CPP = re.compile(
    r"""\b(?:getenv|GetEnv|get_value_from_env|getBoolEnv|getStrEnv|get_env|get_and_log_env)\w*(?:<(\w+)[^>]*>)?\(\s*"([A-Z][A-Z0-9_]{2,})"
    (?:\s*,\s*(-?\d+|true|false|"[^"]*")\s*\))?""",
    re.VERBOSE,
)


def variables(sources: Sources, foreign: Iterable[str] = ()) -> Iterator[Mined]:
    """Every environment variable that the modules read; what a table says of one goes before a read.

    Args:
        sources: The modules.
        foreign: Names that belong to another program, such as those of the operating system.
    """
    left_out = set(foreign)
    found: dict[str, Mined] = {}
    for module in sources.having(*TABLES, "= Env"):
        for item in (*_tables(sources, module), *_records(sources, module)):
            if item.key not in left_out:
                found.setdefault(item.key, item)
    signs = ("os.environ", "getenv", "import environ", " Env(", *_HELPERS.keys() - {"Env"})
    for module in sources.having(*signs):
        for item in _reads(sources, module):
            known = found.setdefault(item.key, item)
            if not known.stated and item.stated and known.type == "any":
                found[item.key] = item
    for name in left_out:
        found.pop(name, None)
    yield from found.values()


def native_variables(root: Path, patterns: Iterable[str]) -> Iterator[Mined]:
    """Environment variables that C++ sources read; few state a type or a default there."""
    seen: set[str] = set()
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            text = path.read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                for match in _CPP.finditer(line):
                    name = match.group(2)
                    if name not in seen:
                        seen.add(name)
                        yield _native(name, match.group(3), path.relative_to(root).as_posix(), number)


def _native(name: str, default: str | None, path: str, line: int) -> Mined:
    item = Mined(key=name, place="env", path=path, line=line)
    if default is not None:
        item.default = json.loads(default)
        item.type, item.stated = type(item.default).__name__, True
    return item


def _tables(sources: Sources, module: Module) -> Iterator[Mined]:
    names = TABLES & module.constants.keys()
    nodes = ast.walk(module.tree) if names else ()
    typed = {
        node.target.id: node
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for name in names:
        table = module.constants[name]
        if not isinstance(table, ast.Dict):
            continue
        for key, value in zip(table.keys, table.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            item = _read(sources, module, key.value, value)
            item.line = key.lineno
            declared = typed.get(key.value)
            if declared is not None:
                _declare(sources, module, item, declared)
            yield item


def _declare(sources: Sources, module: Module, item: Mined, node: ast.AnnAssign) -> None:
    kind = kind_of(sources, node.annotation, module)
    if kind.type != "any":
        item.type = kind.type
    item.choices = item.choices or kind.choices
    if node.value is not None and not item.stated:
        state_default(sources, item, node.value, module)
    _typed(item)


def _records(sources: Sources, module: Module) -> Iterator[Mined]:
    """Variables that stand as fields of a class: ``NAME = EnvBool(False)``."""
    for owner in module.classes.values():
        for statement in owner.body:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
                continue
            kind = next(
                (kind for name, kind in _FIELDS.items() if tail(statement.value.func).startswith(name)), ""
            )
            if not kind and not tail(statement.value.func).startswith("Env"):
                continue
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield _record(sources, module, target, statement.value, kind or "any")


def _record(sources: Sources, module: Module, target: ast.Name, call: ast.Call, kind: str) -> Mined:
    item = Mined(key=target.id, place="env", path=module.path, line=target.lineno, type=kind)
    if call.args:
        state_default(sources, item, call.args[0], module)
    old = next((word.value for word in call.keywords if word.arg == "deprecated_name"), None)
    if isinstance(old, ast.Constant) and isinstance(old.value, str):
        item.aliases = (old.value,)
    return item


def _reads(sources: Sources, module: Module) -> Iterator[Mined]:
    for statement in _reading(module.tree.body, module.text.splitlines()):
        nodes = list(ast.walk(statement))
        found = [(node, name) for node in nodes if (name := _variable(sources, module, node)) is not None]
        if not found:
            continue
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        idle = idle_tests(statement)
        put = {_put(sources, module, node) for node in nodes}
        for node, name in found:
            if id(node) in idle or not isinstance(node, ast.expr):
                continue
            outer: ast.AST = node
            while isinstance(parents.get(outer), ast.Call | ast.Attribute | ast.Compare) and not _is_boundary(
                parents[outer]
            ):
                outer = parents[outer]
            item = _read(sources, module, name, outer if isinstance(outer, ast.expr) else node)
            item.line = node.lineno
            item.stated = item.stated and not (item.default is None and name in put)
            yield item


def _reading(body: Iterable[ast.stmt], lines: Sequence[str]) -> Iterator[ast.stmt]:
    """Statements of a module and of its classes whose text reads a variable; the others need no walk."""
    for statement in body:
        decorators = getattr(statement, "decorator_list", ())
        first = min(node.lineno for node in (statement, *decorators))
        if not any(_READER.search(line) for line in lines[first - 1 : statement.end_lineno]):
            continue
        if isinstance(statement, ast.ClassDef):
            yield from _reading(statement.body, lines)
        else:
            yield statement


def _is_boundary(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and tail(node.func) not in {
        "int",
        "float",
        "bool",
        "lower",
        "strip",
        "upper",
    }


def _variable(sources: Sources, module: Module, node: ast.AST) -> str | None:
    """The variable that an expression reads; None if it reads none."""
    if isinstance(node, ast.Subscript) and tail(node.value) == "environ" and isinstance(node.ctx, ast.Load):
        return _name(sources, module, node.slice)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        return _name(sources, module, node.left) if tail(node.comparators[0]) == "environ" else None
    if not isinstance(node, ast.Call) or not node.args:
        return None
    called = tail(node.func)
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_read = called == "getenv" or (called == "get" and inner is not None and tail(inner) == "environ")
    return _name(sources, module, node.args[0]) if is_read or called in _HELPERS else None


def _put(sources: Sources, module: Module, node: ast.AST) -> str | None:
    """The variable that an expression sets, so that none is not its default; None if it sets none."""
    is_put = (
        isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and tail(node.value) == "environ"
    )
    return _name(sources, module, node.slice) if is_put and isinstance(node, ast.Subscript) else None


def _name(sources: Sources, module: Module, node: ast.expr) -> str | None:
    try:
        text = sources.value(node, module)
    except UnresolvedError:
        return None
    return text if isinstance(text, str) and _NAME.match(text) else None


def _read(sources: Sources, module: Module, name: str, node: ast.expr) -> Mined:
    """What an expression around a read says of the variable: type, default, choices."""
    item = Mined(key=name, place="env", path=module.path, line=node.lineno)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _variable(sources, module, call) == name:
            item.type = _HELPERS.get(tail(call.func), item.type)
            if tail(call.func) == "Env":
                reader = call.args[1] if len(call.args) > 1 else call.func
                item.type = READERS.get(tail(reader.func if isinstance(reader, ast.Call) else reader), "any")
                break
            _default(sources, module, item, call)
            if tail(call.func).endswith("_with_choices") and len(call.args) > 2:
                item.choices = tuple(as_literal(sources, call.args[2], module) or ())
            break
    if item.type == "any":
        item.type = _cast(node)
    return _typed(item)


def _typed(item: Mined) -> Mined:
    """A variable whose default has the type that its text is read as."""
    if item.type == "str" and str(item.default).lower() in {"true", "false"}:
        item.type = "bool"
    if item.type == "bool" and isinstance(item.default, int | str):
        item.default = str(item.default).lower() in {"1", "true", "yes", "on", "y"}
    elif item.type in {"int", "float"} and isinstance(item.default, str):
        try:
            item.default = float(item.default) if item.type == "float" else int(item.default)
        except ValueError:
            item.stated = False
    return item


def _default(sources: Sources, module: Module, item: Mined, call: ast.Call) -> None:
    others = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "default")]
    if not others:
        item.default, item.stated = None, tail(call.func) in _READS
        return
    state_default(sources, item, others[0], module)


def _cast(node: ast.expr) -> str:
    """The type that an expression gives to the text it reads."""
    if isinstance(node, ast.Lambda):
        return _cast(node.body)
    if isinstance(node, ast.Compare):
        compared = [value for part in node.comparators for value in _texts(part)]
        switches = {"1", "0", "true", "false", "on", "off", "yes", "no"}
        return "bool" if compared and {text.lower() for text in compared} <= switches else "any"
    if isinstance(node, ast.BoolOp):
        kinds = {_cast(value) for value in node.values}
        return kinds.pop() if len(kinds) == 1 else "any"
    if isinstance(node, ast.IfExp):
        return _cast(node.body)
    if isinstance(node, ast.Call):
        name = tail(node.func)
        if READERS.get(name) in {"bool", "int", "float"}:
            return READERS[name]
        if name == "split":
            return "list"
        if name in _READS:
            return "str"
        if isinstance(node.func, ast.Attribute) and name in {"lower", "upper", "strip"}:
            return _cast(node.func.value)
        return next((kind for kind in (_cast(part) for part in node.args) if kind != "any"), "any")
    return "str" if isinstance(node, ast.Subscript) else "any"


def _texts(node: ast.expr) -> list[str]:
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
