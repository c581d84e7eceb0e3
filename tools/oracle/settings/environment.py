"""Environment variables: tables of getters, classes of fields, and single reads in Python and C++."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.oracle.settings.fields import kind_of
from tools.oracle.settings.source import (
    READERS,
    Mined,
    Module,
    Sources,
    as_literal,
    as_text,
    idle_tests,
    state_default,
    tail,
)

TABLES = {"environment_variables", "env_variables"}
_READS = {"getenv", "get"}
_HELPERS = {
    "get_bool_env_var": "bool", "_get_bool_env": "bool", "is_set_env": "bool", "env_bool": "bool",
    "env_opt_bool": "bool", "getenv_bool": "bool", "get_int_env_var": "int", "env_int": "int",
    "get_float_env_var": "float", "get_str_env_var": "str", "env_with_choices": "str", "env_str": "str",
    "get_env_or_set_default": "str", "env_opt_str": "str", "env_list_with_choices": "list",
    "env_set_with_choices": "list", "Env": "any", "getenv": "any",
}  # fmt: skip
_SIGNS = ("os.environ", "import environ", " Env(", *sorted(_HELPERS.keys() - {"Env"}))
_READER = re.compile(r"environ|\bEnv\(|" + "|".join(_HELPERS.keys() - {"Env"}))
_FIELDS = {"EnvBool": "bool", "EnvInt": "int", "EnvFloat": "float", "EnvStr": "str", "EnvTuple": "list"}
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{2,}$")
_PREFIX = re.compile(r"""["'](\w+_)["'] \+ name\.upper\(\)""")
_KEPT = {"int", "float", "bool", "lower", "strip", "upper"}
"""Calls around a read that say what its text becomes."""
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
    found: dict[str, Mined] = {}
    for module in sources.having(*TABLES, "= Env"):
        for item in (*_tables(sources, module), *_records(sources, module)):
            found.setdefault(item.key, item)
    for module in sources.having(*_SIGNS):
        for item in _reads(sources, module):
            known = found.setdefault(item.key, item)
            if not known.stated and item.stated and known.type == "any":
                found[item.key] = item
    for module in sources.having("Value("):
        for item in _switches(sources, module):
            found.setdefault(item.key, item)
    left_out = set(foreign)
    return (item for name, item in found.items() if name not in left_out)


def native_variables(root: Path, patterns: Iterable[str]) -> Iterator[Mined]:
    """Environment variables that C++ sources read; few state a type or a default there."""
    seen: set[str] = set()
    for path in (path for pattern in patterns for path in sorted(root.glob(pattern))):
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for _, name, default in _CPP.findall(line):
                if name not in seen:
                    seen.add(name)
                    item = Mined(key=name, place="env", path=path.relative_to(root).as_posix(), line=number)
                    if default:
                        item.default, item.stated = json.loads(default), True
                        item.type = type(item.default).__name__
                    yield item


def _tables(sources: Sources, module: Module) -> Iterator[Mined]:
    tables = [module.constants[name] for name in TABLES & module.constants.keys()]
    typed = {
        tail(node.target): node
        for node in (ast.walk(module.tree) if tables else ())
        if isinstance(node, ast.AnnAssign)
    }
    for table in tables:
        pairs = zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ()
        for key, value in pairs:
            if key is None or not (name := as_text(key)):
                continue
            item = _read(sources, module, name, value)
            item.line = key.lineno
            if name in typed:
                kind = kind_of(sources, typed[name].annotation, module)
                item.type = kind.type if kind.type != "any" else item.type
                item.choices = item.choices or kind.choices
                if (stated := typed[name].value) is not None and not item.stated:
                    state_default(sources, item, stated, module)
            yield _typed(item)


def _records(sources: Sources, module: Module) -> Iterator[Mined]:
    """Variables that stand as fields of a class: ``NAME = EnvBool(False)``."""
    for statement in (part for owner in module.classes.values() for part in owner.body):
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call(maker, given, words)) if tail(
                maker
            ).startswith("Env"):
                item = Mined(key=name, place="env", path=module.path, line=statement.lineno)
                item.type = next(
                    (kind for start, kind in _FIELDS.items() if tail(maker).startswith(start)), "any"
                )
                if given:
                    state_default(sources, item, given[0], module)
                old = [as_text(word.value) for word in words if word.arg == "deprecated_name"]
                item.aliases = tuple(filter(None, old))
                yield item


def _switches(sources: Sources, module: Module) -> Iterator[Mined]:
    """Variables that override values: ``Value("name", default, env_var=...)``, or a prefix and the name."""
    makers = (one for one in sources.having("name.upper()") if "Value" in one.classes)
    prefix = next((found[1] for one in makers if (found := _PREFIX.search(one.text))), "")
    calls = (node for node in ast.walk(module.tree) if prefix and isinstance(node, ast.Call))
    for call in (node for node in calls if tail(node.func) == "Value" and len(node.args) > 1):
        words = {word.arg: word.value for word in call.keywords}
        name = as_text(words["env_var"] if "env_var" in words else call.args[0]) or ""
        key = name if "env_var" in words else prefix + name.upper()
        item = Mined(key=key, place="env", path=module.path, line=call.lineno)
        item.type = READERS.get(tail(words.get("env_var_type", ast.Name("boolean"))), "any")
        if isinstance(call.args[1], ast.Constant):
            state_default(sources, item, call.args[1], module)
        if name:
            yield _typed(item)


def _reads(sources: Sources, module: Module) -> Iterator[Mined]:
    for statement in _reading(module.tree.body, module.text.splitlines()):
        nodes = list(ast.walk(statement))
        found = [(node, name) for node in nodes if (name := _variable(sources, module, node))]
        if not found:
            continue
        parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        idle = idle_tests(statement)
        put = {  # none is not the default of what is set too
            _name(sources, module, node.slice)
            for node in nodes
            if isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and tail(node.value) == "environ"
        }
        for node, name in found:
            if id(node) in idle or not isinstance(node, ast.expr):
                continue
            outer = node
            while isinstance(above := parents.get(outer), ast.Call | ast.Attribute | ast.Compare) and (
                not isinstance(above, ast.Call) or tail(above.func) in _KEPT
            ):
                outer = above
            item = _read(sources, module, name, outer)
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


def _variable(sources: Sources, module: Module, node: ast.AST) -> str:
    """The variable that an expression reads; empty if it reads none."""
    match node:
        case (
            ast.Subscript(owner, name, ast.Load())
            | ast.Compare(name, [ast.In() | ast.NotIn()], [owner])
            | ast.Call(ast.Attribute(owner, "get"), [name, *_])
        ):
            return _name(sources, module, name) if tail(owner) == "environ" else ""
        case ast.Call(function, [name, *_]) if tail(function) in _HELPERS:
            return _name(sources, module, name)
    return ""


def _name(sources: Sources, module: Module, node: ast.expr) -> str:
    text = as_literal(sources, node, module)
    return text if isinstance(text, str) and _NAME.match(text) else ""


def _read(sources: Sources, module: Module, name: str, node: ast.expr) -> Mined:
    """The type, default and choices of a variable, from the expression around its read."""
    item = Mined(key=name, place="env", path=module.path, line=node.lineno)
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    call = next((part for part in calls if _variable(sources, module, part) == name), None)
    if call is not None and tail(call.func) == "Env":
        reader = call.args[1] if len(call.args) > 1 else call.func
        item.type = READERS.get(tail(reader.func if isinstance(reader, ast.Call) else reader), "any")
    elif call is not None:
        item.type = _HELPERS.get(tail(call.func), item.type)
        others = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "default")]
        if others:
            state_default(sources, item, others[0], module)
        else:
            item.stated = tail(call.func) in _READS
        if tail(call.func).endswith("_with_choices") and len(call.args) > 2:
            item.choices = tuple(as_literal(sources, call.args[2], module) or ())
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


def _cast(node: ast.expr) -> str:
    """The type that an expression gives to the text it reads."""
    match node:
        case ast.Lambda(body=inner) | ast.IfExp(body=inner):
            return _cast(inner)
        case ast.Compare():
            parts = [one for part in node.comparators for one in ast.walk(part)]
            texts = [one.value for one in parts if isinstance(one, ast.Constant)]
            compared = {text.lower() for text in texts if isinstance(text, str)}
            switches = {"1", "0", "true", "false", "on", "off", "yes", "no"}
            return "bool" if compared and compared <= switches else "any"
        case ast.BoolOp():
            kinds = {_cast(value) for value in node.values}
            return kinds.pop() if len(kinds) == 1 else "any"
        case ast.Call(function):
            name = tail(function)
            plain = {"split": "list"} | dict.fromkeys(_READS, "str")
            plain |= {key: kind for key, kind in READERS.items() if kind in {"bool", "int", "float"}}
            if name in plain:
                return plain[name]
            if isinstance(function, ast.Attribute) and name in {"lower", "upper", "strip"}:
                return _cast(function.value)
            return next((kind for kind in map(_cast, node.args) if kind != "any"), "any")
    return "str" if isinstance(node, ast.Subscript) else "any"
