"""Reads the arguments of ``add_argument``: type, number of words, choices, action, successor of a flag."""

import ast
import re
from collections.abc import Mapping

from tools.oracle.settings.source import (
    READERS,
    Mined,
    Module,
    Sources,
    as_literal,
    as_text,
    state_default,
    tail,
    texts,
)

_FLAG = re.compile(r"--[a-z][a-z0-9.]*(?:[-_][a-z0-9]+)*")


def apply_words(sources: Sources, item: Mined, words: dict[str, ast.expr], module: Module) -> None:
    """Note at a flag what the words of its ``add_argument`` say, or of its ``click.option``."""
    if isinstance(made := words.get("type"), ast.Call) and made.args and "Choice" in tail(made.func):
        words = words | {"type": ast.Name("str"), "choices": made.args[0]}
    if "is_flag" in words or "multiple" in words:
        words = words | {"action": ast.Constant("store_true" if "is_flag" in words else "append")}
    if "default" in words:
        state_default(sources, item, words["default"], module)
    if "type" in words:
        _apply_reader(item, words["type"])
    elif item.type == "any" and "action" not in words and item.stated:
        item.type = "any" if isinstance(item.default, bool | int | float) else "str"
    if "choices" in words:
        item.choices = tuple(as_literal(sources, words["choices"], module) or ())
        if item.type == "any" and item.choices and all(isinstance(choice, str) for choice in item.choices):
            item.type = "str"
    if "remove" in words:
        gone = as_literal(sources, words["remove"], module)
        item.choices = tuple(choice for choice in item.choices if choice != gone)
    if "nargs" in words:
        several = as_literal(sources, words["nargs"], module)
        if several in {"+", "*"} or (isinstance(several, int) and several > 1):
            item.type, item.of = "list", item.of or (item.type if item.type != "list" else "")
        item.nargs = None if several == "+" and item.type == "list" else several
    elif "action" in words:
        item.nargs = _own_count(sources, words["action"], module, item.nargs)
    was = item.default is True and "default" in words
    apply_action(item, words.get("action"))
    if was and as_text(words.get("action")) == "store_true":
        item.default = True
    item.required = item.required or as_literal(sources, words.get("required"), module) is True
    item.replaced_by = _successor(item, words)


def _apply_reader(item: Mined, node: ast.expr) -> None:
    """Note at a flag what reads its words."""
    before, kind, name = item.type, type_of_reader(node, item.type), tail(node)
    item.scaled = item.scaled or name.startswith("human_readable_int")
    item.words = ("auto",) if name.endswith("_or_auto") else item.words
    item.folds = item.folds or (isinstance(node, ast.Lambda) and "lower" in ast.unparse(node))
    if before == "list" and kind in {"object", "str", "int", "float"}:
        item.of = kind
        return
    item.type = before if kind == "any" and item.choices else kind
    if item.type == "object":
        item.of = "json"  # any JSON, held against its class only when the engine is made
    elif item.type in {"list", "bool"}:
        item.nargs = 1  # the reader makes it of one word


def _own_count(
    sources: Sources, node: ast.expr, module: Module, otherwise: int | str | None
) -> int | str | None:
    """The number of words that an action of the program's own takes where nothing is said."""
    found = sources.class_named(tail(node), module) if tail(node) else None
    for part in found[0].body if found else ():
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            names = [argument.arg for argument in part.args.args]
            given = dict(zip(reversed(names), reversed(part.args.defaults), strict=False))
            if isinstance(given.get("nargs"), ast.Constant):
                return as_literal(sources, given["nargs"], module)  # type: ignore[no-any-return]  # a constant
    return otherwise


def _successor(item: Mined, words: Mapping[str, ast.expr]) -> str:
    shown = " ".join(texts(words["help"])) if "help" in words else ""
    target = as_text(words.get("new_flag"))
    if "deprecat" in shown.lower() or "Deprecated" in tail(words.get("action", ast.Constant(None))):
        return next((name for name in _FLAG.findall(target or shown) if name != item.key), "") or target
    return target or item.replaced_by


def apply_action(item: Mined, node: ast.expr | None) -> None:
    """Note at a flag what its action makes of it."""
    action = (as_text(node) or tail(node)) if node is not None else ""
    if action in {"store_true", "store_false"} or "StoreTrue" in action:
        item.type, item.negation, item.default, item.stated, item.nargs = "bool", "", False, True, None
    elif action == "BooleanOptionalAction":
        item.type, item.negation, item.nargs = "bool", item.key.replace("--", "--no-", 1), None
    elif action in {"append", "extend"}:
        item.type, item.of = "list", item.of or item.type
        item.nargs = (item.nargs or 1) if action == "append" else item.nargs
    elif action in {"store_const", "append_const"}:
        item.type, item.nargs = "bool", None
    elif action == "LoRAParserAction":
        item.of = "pair"  # name=path, or an object
    elif action == "count":
        item.type, item.nargs = "int", 0


def type_of_reader(node: ast.expr, otherwise: str) -> str:
    """The type that a parser's reader gives: ``int``, ``optional_type(json.loads)``, its own function."""
    if isinstance(node, ast.Call):
        inner = [type_of_reader(argument, "") for argument in node.args]
        return next((kind for kind in inner if kind), otherwise)
    if isinstance(node, ast.Lambda):
        text = ast.unparse(node.body).lower()
        return "bool" if "true" in text else "list" if "split" in text else "any"
    name = tail(node)
    if name in READERS or "bool" in name:
        return READERS.get(name, "bool")
    return otherwise if name and "auto" not in name and otherwise != "str" else "any"
