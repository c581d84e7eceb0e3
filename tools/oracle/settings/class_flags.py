"""Flags that parsers make of fields of configuration classes: vLLM, SGLang and Megatron, each by its rule."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.fields import Field, fields_of
from tools.oracle.settings.source import Mined, as_literal, as_text, tail
from tools.oracle.settings.types import apply_action, type_of_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.settings.source import Module, Sources


def of_field(field: Field, key: str = "") -> Mined:
    """The flag that a parser makes of a field, by vLLM's rule for unions."""
    flag = key or "--" + field.name.replace("_", "-")
    kind, parts = field.kind, field.kind.parts or {field.kind.type}
    item = field.as_setting(flag, "flag")
    if not kind.nested:
        order = ("bool", *(() if kind.choices else ("list", "int", "float")))
        item.type = next((name for name in order if name in parts), kind.type)
    item.folds = "enum" in parts
    if item.type == "object" and not kind.nested and parts & {"str", "any"}:
        item.of = "str"  # what is no object is a text
    if parts == {"bool", "str", "none"}:
        item.type, item.nargs = "any", "?"
    elif item.type == "bool":
        item.negation = flag.replace("--", "--no-", 1)
    elif item.type == "list":
        item.of, item.nargs = kind.of, None if kind.several == "+" else kind.several
    if "none" in parts and item.type != "bool":
        item.words = ("", "None")
    return item


def annotated_flags(sources: Sources) -> Iterator[Mined]:
    """Flags that a parser makes of fields annotated with their help: ``name: A[int, "help"] = 1``."""
    for module in sources.having(": A[", "Annotated["):
        for owner in module.classes.values():
            for field in fields_of(sources, owner.name, module).values():
                statement = _statement(owner, field.name)
                second = _second(statement)
                if second is None or statement is None or field.module is not module:
                    continue
                call = next((item for item in field.kind.metadata if tail(item.func) == "Arg"), None)
                words = {word.arg: word.value for word in call.keywords if word.arg} if call else {}
                if call is None and not isinstance(second, ast.Constant | ast.JoinedStr | ast.BinOp):
                    continue
                if not as_literal(sources, words.get("no_cli"), module):
                    yield _annotated(sources, field, words, required=statement.value is None)


def _annotated(sources: Sources, field: Field, words: dict[str, ast.expr], *, required: bool) -> Mined:
    item, module = of_field(field), field.module
    name = as_literal(sources, words.get("cli_name"), module)
    item.key = name or item.key
    item.aliases = tuple(as_literal(sources, words.get("aliases"), module) or ())
    item.choices = tuple(as_literal(sources, words.get("choices"), module) or item.choices)
    item.negation, item.words = "", ()
    item.nargs = as_literal(sources, words.get("nargs"), module)
    item.required = required or as_literal(sources, words.get("required"), module) is True
    if item.type == "object":
        item.type, item.open = "str", False  # the rule knows str, int and float alone
    if "type_parser" in words:
        item.type, item.of = type_of_reader(words["type_parser"], item.type), ""
        item.nargs = item.nargs or 1
    apply_action(item, words.get("action"))
    return item


def group_flags(sources: Sources, call: ast.Call, module: Module) -> Iterator[Mined]:
    """Flags that Megatron's factory makes of a configuration class."""
    words = {word.arg: word.value for word in call.keywords}
    left_out = set(as_literal(sources, words.get("exclude"), module) or ())
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


def readable_numbers(sources: Sources) -> dict[str, bool]:
    """Fields whose numbers may end in ``k`` or ``M`` in vLLM's parser; True if ``auto`` is taken."""
    found: dict[str, bool] = {}
    for module in sources.having("def get_kwargs"):
        for scope in ast.walk(module.tree):
            if not isinstance(scope, ast.FunctionDef) or scope.name not in {"get_kwargs", "_compute_kwargs"}:
                continue
            sets = {
                tail(node.targets[0]): node.value
                for node in ast.walk(scope)
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set | ast.List)
            }
            for node in (node for node in ast.walk(scope) if isinstance(node, ast.If)):
                made = [tail(part.value) for part in node.body if isinstance(part, ast.Assign)]
                if not made or not made[0].startswith("human_readable_int"):
                    continue
                tests = [
                    sets.get(tail(part), part) for part in ast.walk(node.test) if isinstance(part, ast.expr)
                ]
                for part in (part for test in tests for part in ast.walk(test) if isinstance(part, ast.expr)):
                    if name := as_text(part):
                        found.setdefault(name, made[0].endswith("_or_auto"))
    return found


def _statement(owner: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    return next(
        (item for item in owner.body if isinstance(item, ast.AnnAssign) and tail(item.target) == name), None
    )


def _second(statement: ast.AnnAssign | None) -> ast.expr | None:
    """The second part of ``name: A[type, second]``."""
    node = statement.annotation if statement else None
    if isinstance(node, ast.Subscript) and tail(node.value) in {"A", "Annotated"}:
        return node.slice.elts[1] if isinstance(node.slice, ast.Tuple) else None
    return None


def _listed(module: Module, name: ast.expr) -> set[str]:
    """Texts in the list that a name is set to, wherever in the module."""
    return {
        as_text(part)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assign) and any(tail(target) == tail(name) for target in node.targets)
        for part in ast.walk(node.value)
        if isinstance(part, ast.Constant) and as_text(part)
    }


def _metadata(sources: Sources, field: Field) -> Iterator[tuple[str, Any]]:
    if not isinstance(field.metadata, ast.Dict):
        return
    for key, value in zip(field.metadata.keys, field.metadata.values, strict=True):
        if key is None or as_text(key) != "argparse_meta" or not isinstance(value, ast.Dict):
            continue
        for inner, content in zip(value.keys, value.values, strict=True):
            literal = as_literal(sources, content, field.module)
            if inner is not None and literal is not None:
                yield as_text(inner), literal
