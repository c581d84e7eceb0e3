"""Flags of argument parsers: calls of ``add_argument``, and parsers made from configuration classes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.fields import Field, fields_of
from tools.oracle.settings.source import Mined, UnresolvedError, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.settings.source import Module, Sources

_TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "str2bool": "bool",
    "loads": "object",
    "human_readable_int": "int",
    "nullable_str": "str",
    "json_list_type": "list",
    "positive_int": "int",
}
_SEVERAL = {"+", "*"}
_SWITCHES = {
    "store_true": "bool",
    "store_false": "bool",
    "BooleanOptionalAction": "bool",
    "append": "list",
    "count": "int",
}
_FLAG = re.compile(r"--[a-z][a-z0-9.]*(?:[-_][a-z0-9]+)*")


def flags(sources: Sources) -> Iterator[Mined]:
    """Every flag that modules add to a parser; of a flag of another program, the choices that they add."""
    choices: dict[str, list[str]] = {}
    places: dict[str, tuple[str, int]] = {}
    found: list[Mined] = []
    for module in sources.having("add_argument", "ArgumentGroupFactory", "add_parser_argument"):
        for scope, owner in _scopes(module.tree):
            maps = _maps(scope)
            for call in _calls(scope):
                name = tail(call.func)
                if name == "add_argument":
                    found.extend(_argument(sources, call, module, maps, owner))
                elif name == "ArgumentGroupFactory":
                    found.extend(_group(sources, call, module))
                elif name == "add_parser_argument_choices_value" and len(call.args) == 3:
                    key, value = (_text(item) for item in call.args[1:])
                    choices.setdefault(key, []).append(value)
                    places[key] = (module.path, call.lineno)
    for item in found:
        added = [choice for name in (item.key, *item.aliases) for choice in choices.pop(name, ())]
        if item.choices and added:
            item.choices = (*item.choices, *(choice for choice in added if choice not in item.choices))
    yield from found
    for key, (path, line, values) in ((key, (*places[key], values)) for key, values in choices.items()):
        yield Mined(key=key, place="flag", path=path, line=line, choices=tuple(dict.fromkeys(values)))


def annotated_flags(sources: Sources) -> Iterator[Mined]:
    """Flags that a parser makes of fields annotated with their help: ``name: A[int, "help"] = 1``."""
    for module in sources.having(": A[", "Annotated["):
        for owner in module.classes.values():
            for field in fields_of(sources, owner.name, module).values():
                statement = _annotation(owner, field.name)
                if statement is None or field.module is not module:
                    continue
                call = next((item for item in field.kind.metadata if tail(item.func) == "Arg"), None)
                words = {word.arg: word.value for word in call.keywords} if call else {}
                if call is None and not isinstance(statement, ast.Constant | ast.JoinedStr | ast.BinOp):
                    continue
                if _literal(sources, words.get("no_cli"), module):
                    continue
                item = of_field(field)
                name = _literal(sources, words.get("cli_name"), module)
                item.key = name or item.key
                item.aliases = tuple(_literal(sources, words.get("aliases"), module) or ())
                item.choices = tuple(_literal(sources, words.get("choices"), module) or item.choices)
                item.negation = ""
                _action(item, words.get("action"))
                if "type_parser" in words:
                    item.type = _type(words["type_parser"], item.type)
                yield item


def of_field(field: Field, key: str = "") -> Mined:
    """The flag that a parser makes of a field of a configuration class."""
    flag = key or "--" + field.name.replace("_", "-")
    return Mined(
        key=flag,
        place="flag",
        path=field.module.path,
        line=field.line,
        negation=flag.replace("--", "--no-", 1) if field.kind.type == "bool" else "",
        type=field.kind.type,
        choices=field.kind.choices,
        low=field.low,
        high=field.high,
        default=field.default,
        stated=field.stated,
        open=field.kind.type == "object" and not field.kind.nested,
    )


def _scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.ClassDef | None]]:
    """Functions with the class they stand in, and the module itself; none inside another."""
    yield tree, None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    yield item, node
    methods = {id(item) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and id(node) not in methods:
            yield node, None


def _calls(scope: ast.AST) -> Iterator[ast.Call]:
    for node in _inside(scope):
        if isinstance(node, ast.Call):
            yield node


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from _inside(child)


def _maps(scope: ast.AST) -> dict[str, ast.expr]:
    """What names are set to; under ``get_kwargs``, a call of that function whatever becomes of it."""
    found: dict[str, ast.expr] = {}
    for node in _inside(scope):
        if isinstance(node, ast.Assign):
            found.update({target.id: node.value for target in node.targets if isinstance(target, ast.Name)})
            if isinstance(node.value, ast.Call) and tail(node.value.func) == "get_kwargs":
                found["get_kwargs"] = node.value
    return found


def _argument(
    sources: Sources, call: ast.Call, module: Module, maps: dict[str, ast.expr], owner: ast.ClassDef | None
) -> Iterator[Mined]:
    if any(isinstance(item, ast.JoinedStr) for item in call.args):
        yield from _loop(sources, module, maps, owner)
        return
    names = [text for item in call.args if (text := _text(item)).startswith("-")]
    if not names:
        return
    spread = next((word.value for word in call.keywords if word.arg is None), None)
    field = _field(sources, spread, module, maps, owner) if spread is not None else None
    long = next((name for name in names if name.startswith("--")), names[0])
    item = of_field(field, long) if field else Mined(key=long, place="flag", path=module.path, stated=True)
    item.path, item.line = module.path, call.lineno
    item.aliases = tuple(name for name in names if name != long)
    _apply(sources, item, {word.arg: word.value for word in call.keywords if word.arg}, module)
    if item.type == "bool" and item.negation:
        item.negation = long.replace("--", "--no-", 1)
    yield item


def _apply(sources: Sources, item: Mined, words: dict[str, ast.expr], module: Module) -> None:
    if "default" in words:
        try:
            item.default, item.stated = sources.value(words["default"], module), True
        except UnresolvedError:
            item.stated = False
    if "type" in words:
        item.type = _type(words["type"], item.type)
    elif item.type == "any" and "action" not in words and item.stated:
        item.type = {bool: "any", int: "any", float: "any"}.get(type(item.default), "str")
    if "choices" in words:
        item.choices = tuple(_literal(sources, words["choices"], module) or ())
        if item.type == "any" and item.choices and all(isinstance(choice, str) for choice in item.choices):
            item.type = "str"
    several = _literal(sources, words.get("nargs"), module)
    if several in _SEVERAL or (isinstance(several, int) and several > 1):
        item.type = "list"
    _action(item, words.get("action"))
    shown = (
        " ".join(_text(node) for node in ast.walk(words["help"]) if isinstance(node, ast.expr))
        if "help" in words
        else ""
    )
    if "deprecat" in shown.lower() or "Deprecated" in tail(words.get("action", ast.Constant(None))):
        text = _text(words.get("new_flag")) or shown
        item.replaced_by = next((name for name in _FLAG.findall(text) if name != item.key), "")
    target = words.get("new_flag")
    if target is not None and not item.replaced_by:
        item.replaced_by = _text(target)


def _action(item: Mined, node: ast.expr | None) -> None:
    if node is None:
        return
    action = _text(node) or tail(node)
    if action in {"store_true", "store_false"}:
        item.type, item.negation, item.default, item.stated = "bool", "", False, True
    elif action == "BooleanOptionalAction":
        item.type, item.negation = "bool", item.key.replace("--", "--no-", 1)
    elif action in {"append", "extend"}:
        item.type = "list"
    elif "StoreTrue" in action:
        item.type, item.default, item.stated = "bool", False, True
    elif action == "store_const":
        item.type = "bool"


def _type(node: ast.expr, otherwise: str) -> str:
    if isinstance(node, ast.Call):
        inner = [_type(argument, "") for argument in node.args]
        return next((kind for kind in inner if kind), otherwise)
    if isinstance(node, ast.Lambda):
        text = ast.unparse(node.body).lower()
        return "bool" if "true" in text else "list" if "split" in text else "any"
    name = tail(node)
    if name in _TYPES:
        return _TYPES[name]
    if "bool" in name:
        return "bool"
    return otherwise if name and "auto" not in name and otherwise != "str" else "any"


def _loop(
    sources: Sources, module: Module, maps: dict[str, ast.expr], owner: ast.ClassDef | None
) -> Iterator[Mined]:
    """Flags made in a loop over all fields of a class: the class itself, or one that derives from it."""
    if "get_kwargs" not in maps or owner is None:
        return
    heirs = [
        name for name, item in module.classes.items() if owner.name in {tail(base) for base in item.bases}
    ]
    for name in heirs or [owner.name]:
        for field in fields_of(sources, name, module).values():
            yield of_field(field)


def _group(sources: Sources, call: ast.Call, module: Module) -> Iterator[Mined]:
    """Flags that Megatron's factory makes of a configuration class."""
    words = {word.arg: word.value for word in call.keywords}
    left_out = set(_literal(sources, words.get("exclude"), module) or ())
    if isinstance(words.get("exclude"), ast.Name):
        left_out |= _listed(module, words["exclude"])
    for field in fields_of(sources, tail(call.args[0]) if call.args else "", module).values():
        if field.name in left_out or not field.init:
            continue
        item = of_field(field)
        item.negation = ""
        if item.type == "bool":
            if item.default is True:
                item.key, item.aliases = f"--no-{item.key[2:]}", (f"--disable-{item.key[2:]}",)
            item.default, item.stated = False, True
        for name, value in _metadata(sources, field):
            if name == "arg_names":
                item.key, *rest = value
                item.aliases = tuple(rest)
            elif name == "default":
                item.default = value
            elif name == "choices":
                item.choices = tuple(value)
        yield item


def _listed(module: Module, name: ast.expr) -> set[str]:
    """Texts in the list that a name is set to, wherever in the module."""
    return {
        part.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assign) and any(tail(target) == tail(name) for target in node.targets)
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def _metadata(sources: Sources, field: Field) -> Iterator[tuple[str, Any]]:
    if not isinstance(field.metadata, ast.Dict):
        return
    for key, value in zip(field.metadata.keys, field.metadata.values, strict=True):
        if key is None or _text(key) != "argparse_meta" or not isinstance(value, ast.Dict):
            continue
        for inner, content in zip(value.keys, value.values, strict=True):
            literal = _literal(sources, content, field.module)
            if inner is not None and literal is not None:
                yield _text(inner), literal


def _field(
    sources: Sources,
    node: ast.expr,
    module: Module,
    maps: dict[str, ast.expr],
    owner: ast.ClassDef | None,
    depth: int = 0,
) -> Field | None:
    """The field that ``**kwargs["name"]`` stands for, where ``kwargs = get_kwargs(Class)``."""
    if depth > 4:
        return None
    if isinstance(node, ast.Name) and node.id in maps:
        return _field(sources, maps[node.id], module, maps, owner, depth + 1)
    if isinstance(node, ast.Dict):
        spread = next((value for key, value in zip(node.keys, node.values, strict=True) if key is None), None)
        return _field(sources, spread, module, maps, owner, depth + 1) if spread is not None else None
    if not isinstance(node, ast.Subscript):
        return None
    source = maps.get(tail(node.value)) if isinstance(node.value, ast.Name) else node.value
    if not isinstance(source, ast.Call) or tail(source.func) != "get_kwargs" or not source.args:
        return None
    name = tail(source.args[0])
    name = owner.name if name == "cls" and owner is not None else name
    return fields_of(sources, name, None).get(_text(node.slice))


def _annotation(owner: ast.ClassDef, name: str) -> ast.expr | None:
    """The second part of ``name: A[type, second]``."""
    for statement in owner.body:
        if isinstance(statement, ast.AnnAssign) and tail(statement.target) == name:
            node = statement.annotation
            if isinstance(node, ast.Subscript) and tail(node.value) in {"A", "Annotated"}:
                return node.slice.elts[1] if isinstance(node.slice, ast.Tuple) else None
    return None


def _literal(sources: Sources, node: ast.expr | None, module: Module) -> Any:
    if node is None:
        return None
    try:
        return sources.value(node, module)
    except UnresolvedError:
        return None


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
