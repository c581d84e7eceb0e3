"""Flags that parsers make of fields of configuration classes, each program's parser by its rule."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from tools.oracle.settings.fields import Field, fields_of
from tools.oracle.settings.source import Mined, Module, Sources, as_literal, as_text, tail, texts
from tools.oracle.settings.types import apply_action, type_of_reader


def of_field(field: Field, key: str = "") -> Mined:
    """The flag that a parser makes of a field, by vLLM's rule for unions."""
    flag = key or "--" + field.key.replace("_", "-")
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


def class_arguments(sources: Sources, names: Iterable[str]) -> Iterator[Mined]:
    """Flags that ``HfArgumentParser`` makes of dataclasses: booleans take a value or none."""
    for field in (field for name in names for field in fields_of(sources, name).values() if field.init):
        item = of_field(field, f"--{field.key}")
        item.negation, item.words, item.open, item.required = "", (), False, not field.has_default
        if item.type == "bool":
            item.nargs = "?"
            item.negation = f"--no_{field.key}" if field.default is True else ""
        elif item.type == "object":
            item.type = "any"
        yield item


def annotated_flags(sources: Sources) -> Iterator[Mined]:
    """Flags that SGLang makes of fields annotated with their help: ``name: A[int, "help"] = 1``."""
    for module in sources.having(": A[", "Annotated["):
        for owner in module.classes.values():
            known = fields_of(sources, owner.name, module)
            for statement in owner.body:
                match statement:
                    case ast.AnnAssign(
                        ast.Name(name), ast.Subscript(ast.Name("A" | "Annotated"), ast.Tuple([_, said, *_]))
                    ) if name in known:
                        calls = (call for call in known[name].kind.metadata if tail(call.func) == "Arg")
                        call = next(calls, None)
                        words = {word.arg: word.value for word in call.keywords if word.arg} if call else {}
                        told = call is not None or isinstance(said, ast.Constant | ast.JoinedStr | ast.BinOp)
                        if told and not as_literal(sources, words.get("no_cli"), module):
                            yield _annotated(sources, known[name], words, required=statement.value is None)


def _annotated(sources: Sources, field: Field, words: dict[str, ast.expr], *, required: bool) -> Mined:
    said = {
        name: as_literal(sources, words.get(name), field.module)
        for name in ("cli_name", "aliases", "choices", "nargs", "required")
    }
    item = of_field(field)
    item.key = said["cli_name"] or item.key
    item.aliases = tuple(said["aliases"] or ())
    item.choices = tuple(said["choices"] or item.choices)
    item.negation, item.words, item.nargs = "", (), said["nargs"]
    item.required = required or said["required"] is True
    if item.type == "object":
        item.type, item.open = "str", False  # the rule knows str, int and float alone
    if "type_parser" in words:
        item.type, item.of = type_of_reader(words["type_parser"], item.type), ""
        item.nargs = item.nargs or 1
    apply_action(item, words.get("action"))
    return item


def group_flags(sources: Sources, call: ast.Call, module: Module) -> Iterator[Mined]:
    """Flags that Megatron's factory makes of a configuration class."""
    left_out: set[str] = set()
    for excluded in (word.value for word in call.keywords if word.arg == "exclude"):
        left_out |= set(as_literal(sources, excluded, module) or ())
        for node in ast.walk(module.tree) if isinstance(excluded, ast.Name) else ():
            if isinstance(node, ast.Assign) and tail(excluded) in map(tail, node.targets):
                left_out |= set(texts(node.value))  # wherever in the module
    for field in fields_of(sources, tail(call.args[0]) if call.args else "", module).values():
        if field.key in left_out or not field.init:
            continue
        item = of_field(field)
        item.negation = ""
        if item.type == "bool":
            if item.default is True:
                item.key, item.aliases = f"--no-{item.key[2:]}", (f"--disable-{item.key[2:]}",)
            item.default, item.stated = False, True
        said = _metadata(sources, field)
        item.key, *aliases = said.get("arg_names") or (item.key, *item.aliases)
        item.aliases = tuple(aliases)
        item.default = said.get("default", item.default)
        item.choices = tuple(said.get("choices", item.choices))
        yield item


def _metadata(sources: Sources, field: Field) -> dict[str, Any]:
    """Literal metadata of a field's flag."""
    tables = [field.metadata] if isinstance(field.metadata, ast.Dict) else []
    pairs = [pair for table in tables for pair in zip(table.keys, table.values, strict=True)]
    inner = [value for key, value in pairs if as_text(key) == "argparse_meta" and isinstance(value, ast.Dict)]
    said = {
        as_text(key): as_literal(sources, value, field.module)
        for table in inner
        for key, value in zip(table.keys, table.values, strict=True)
    }
    return {name: value for name, value in said.items() if value is not None}


def readable_numbers(sources: Sources) -> dict[str, bool]:
    """Fields whose numbers may end in ``k`` or ``M`` in vLLM's parser; True if ``auto`` is taken."""
    found: dict[str, bool] = {}
    for module in sources.having("def get_kwargs"):
        for scope in ast.walk(module.tree):
            if not isinstance(scope, ast.FunctionDef) or scope.name not in {"get_kwargs", "_compute_kwargs"}:
                continue
            nodes = list(ast.walk(scope))
            sets = {tail(node.targets[0]): node.value for node in nodes if isinstance(node, ast.Assign)}
            for node in (node for node in nodes if isinstance(node, ast.If)):
                made = next((tail(part.value) for part in node.body if isinstance(part, ast.Assign)), "")
                if made.startswith("human_readable_int"):
                    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
                    named = [sets[name] for name in names & sets.keys()]
                    listed = [node.test, *(part for part in named if isinstance(part, ast.Set | ast.List))]
                    for name in (name for part in listed for name in texts(part)):
                        found.setdefault(name, made.endswith("_or_auto"))
    return found
