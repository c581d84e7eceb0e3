"""Flags of argument parsers: calls of ``add_argument``, and parsers made from configuration classes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

from tools.oracle.settings.class_flags import group_flags, of_field, readable_numbers
from tools.oracle.settings.fields import Field, fields_of
from tools.oracle.settings.source import Mined, as_text, scopes, tail
from tools.oracle.settings.types import apply_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.settings.source import Module, Sources

Overrides: TypeAlias = "dict[str, dict[str, ast.expr]]"
"""Words by field, where code sets them after the flag is made of its class: ``kwargs["x"]["type"] = f``."""


def flags(sources: Sources, entry: str = "") -> Iterator[Mined]:
    """Every flag that modules add to a parser; of a flag of another program, the choices that they add.

    Args:
        sources: The modules.
        entry: Function whose flags are wanted, with those of the helpers that it calls; empty takes all.
    """
    wanted = _helpers(sources, entry) if entry else frozenset()
    choices: dict[str, list[str]] = {}
    places: dict[str, tuple[str, int]] = {}
    found: list[Mined] = []
    numbers = readable_numbers(sources)
    for module in sources.having(
        "add_argument", "ArgumentGroupFactory", "add_parser_argument", "click.option"
    ):
        overrides = _overrides(module)
        for scope, owner in scopes(module.tree):
            if entry and getattr(scope, "name", "") not in wanted:
                continue
            maps = _maps(scope)
            for call in _calls(scope):
                name = tail(call.func)
                if name == "add_argument" or ast.unparse(call.func) == "click.option":
                    found.extend(_argument(sources, call, module, (maps, overrides, numbers), owner))
                elif name == "ArgumentGroupFactory":
                    found.extend(group_flags(sources, call, module))
                elif name == "add_parser_argument_choices_value" and len(call.args) == 3:
                    key, value = (as_text(item) for item in call.args[1:])
                    choices.setdefault(key, []).append(value)
                    places[key] = (module.path, call.lineno)
    for item in found:
        added = [choice for name in (item.key, *item.aliases) for choice in choices.pop(name, ())]
        if item.choices and added:
            item.choices = (*item.choices, *(choice for choice in added if choice not in item.choices))
    yield from found
    for key, (path, line, values) in ((key, (*places[key], values)) for key, values in choices.items()):
        yield Mined(key=key, place="flag", path=path, line=line, choices=tuple(dict.fromkeys(values)))


def _helpers(sources: Sources, entry: str) -> frozenset[str]:
    """Names of a function and of those that it calls, directly or not."""
    functions = {
        scope.name: scope
        for module in sources.having("add_argument")
        for scope, _ in scopes(module.tree)
        if isinstance(scope, ast.FunctionDef)
    }
    found, waiting = {entry}, [entry]
    while waiting:
        scope = functions.get(waiting.pop())
        for call in _calls(scope) if scope else ():
            name = tail(call.func)
            if name in functions and name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


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


def _overrides(module: Module) -> Overrides:
    found: Overrides = {}
    nodes = list(ast.walk(module.tree)) if "get_kwargs" in module.text else []
    fields = {
        tail(node.targets[0]): as_text(node.value.slice)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript)
    }
    for node in nodes:
        if isinstance(node, ast.Assign | ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and (word := as_text(target.slice)):
                    owner = target.value
                    field = (
                        as_text(owner.slice)
                        if isinstance(owner, ast.Subscript)
                        else fields.get(tail(owner), "")
                    )
                    value = node.value if isinstance(node, ast.Assign) else ast.Constant(1)
                    found.setdefault(field, {})[word] = value
        elif (
            isinstance(node, ast.Call)
            and tail(node.func) == "remove"
            and isinstance(node.func, ast.Attribute)
        ):
            owner = node.func.value  # kwargs["x"]["choices"].remove(y)
            if isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Subscript) and node.args:
                found.setdefault(as_text(owner.value.slice), {})["remove"] = node.args[0]
    return found


def _argument(
    sources: Sources,
    call: ast.Call,
    module: Module,
    known: tuple[dict[str, ast.expr], Overrides, dict[str, bool]],
    owner: ast.ClassDef | None,
) -> Iterator[Mined]:
    maps, overrides, numbers = known
    if any(isinstance(item, ast.JoinedStr) for item in call.args):
        for member in _loop(sources, module, maps, owner):
            yield _made(sources, member, overrides, numbers)
        return
    names = [text for item in call.args if (text := as_text(item)).startswith("-")]
    if not names:
        return
    spread = next((word.value for word in call.keywords if word.arg is None), None)
    field = _field(sources, spread, module, maps, owner) if spread is not None else None
    long = next((name for name in names if name.startswith("--")), names[0])
    item = (
        _made(sources, field, overrides, numbers, long)
        if field
        else Mined(key=long, place="flag", path=module.path, stated=True)
    )
    item.path, item.line = module.path, call.lineno
    item.aliases = tuple(name for name in names if name != long)
    words = {word.arg: word.value for word in call.keywords if word.arg}
    if isinstance(spread, ast.Dict):  # **{**kwargs["x"], "default": None}
        inside = zip(spread.keys, spread.values, strict=True)
        words |= {text: value for key, value in inside if key is not None and (text := as_text(key))}
    apply_words(sources, item, words, module)
    if item.type == "bool" and item.negation:
        item.negation = long.replace("--", "--no-", 1)
    yield item


def _made(
    sources: Sources, field: Field, overrides: Overrides, numbers: dict[str, bool], key: str = ""
) -> Mined:
    item = of_field(field, key)
    if field.name in numbers and item.type == "int":
        item.scaled = True
        item.words = (*item.words, *(("auto",) if numbers[field.name] else ()))
    apply_words(sources, item, overrides.get(field.name, {}), field.module)
    return item


def _loop(
    sources: Sources, module: Module, maps: dict[str, ast.expr], owner: ast.ClassDef | None
) -> Iterator[Field]:
    """Fields of which flags are made in a loop over a class: itself, or one that derives from it."""
    if "get_kwargs" not in maps or owner is None:
        return
    heirs = [
        name for name, item in module.classes.items() if owner.name in {tail(base) for base in item.bases}
    ]
    for name in heirs or [owner.name]:
        yield from fields_of(sources, name, module).values()


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
    return fields_of(sources, name, None).get(as_text(node.slice))
