"""Settings of trainers: argument classes of Hugging Face parsers, DeepSpeed's JSON, Hydra's YAML."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import yaml

from tools.oracle.settings.class_flags import of_field
from tools.oracle.settings.fields import fields_of
from tools.oracle.settings.source import Mined, as_literal, tail, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tools.oracle.settings.source import Module, Sources

_GETTERS = {"get_scalar_param", "get_dict_param", "get_list_param"}
_POWER = re.compile(r"[-+]?\d+e[-+]?\d+")
"""A number that YAML 1.1 takes for a text, and Hydra for the number it is."""
_ROOTS = {"param_dict", "_param_dict"}


def class_arguments(sources: Sources, names: Iterable[str]) -> Iterator[Mined]:
    """Flags that ``HfArgumentParser`` makes of dataclasses: booleans take a value or none."""
    for name in names:
        for field in fields_of(sources, name).values():
            if not field.init:
                continue
            item = of_field(field, f"--{field.name}")
            item.negation, item.words, item.open = "", (), False
            item.required = not field.has_default
            if item.type == "bool":
                item.nargs = "?"
                item.negation = f"--no_{field.name}" if field.default is True else ""
            elif item.type == "object":
                item.type = "any"
            yield item


def dictionary_keys(sources: Sources, carrier: str) -> Iterator[Mined]:
    """Keys that DeepSpeed reads of its configuration one by one, with their defaults."""
    for module in sources.having("get_scalar_param(", "in param_dict"):
        for node, above in _placed(sources, module):
            path, default = "", None
            if isinstance(node, ast.Call) and tail(node.func) in _GETTERS and len(node.args) > 1:
                path = _path(sources, module, node.args[0], node.args[1])
                default = as_literal(sources, node.args[2], module) if len(node.args) > 2 else None
            elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
                owner = node.comparators[0]
                owner = (
                    owner.func.value
                    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute)
                    else owner
                )
                path = _path(sources, module, owner, node.left)
            if path:
                kind = type_of(default)
                stated = default is not None and kind != "object"
                yield Mined(
                    key=f"{above}{path}",
                    place="json",
                    carrier=carrier,
                    path=module.path,
                    line=getattr(node, "lineno", 0),
                    type=kind,
                    default=default,
                    stated=stated,
                    open=kind in {"any", "object"},
                )


def _placed(sources: Sources, module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every node of a module, with the path of the dictionary that its function is handed."""
    functions = {item.name: item for item in module.tree.body if isinstance(item, ast.FunctionDef)}
    handed: dict[str, tuple[str, str]] = {}
    for caller in functions.values():
        parts = {
            tail(node.targets[0]): str(as_literal(sources, key, module))
            for node in ast.walk(caller)
            if isinstance(node, ast.Assign) and (key := _key(node.value)) is not None
        } | dict.fromkeys(_ROOTS, "")
        for node in ast.walk(caller):
            name = tail(node.args[0]) if isinstance(node, ast.Call) and node.args else ""
            if isinstance(node, ast.Call) and name in parts and tail(node.func) in functions:
                handed[tail(node.func)] = (caller.name, parts[name])
    for item in module.tree.body:
        path, name = "", getattr(item, "name", "")
        while name in handed and path.count(".") < 8:
            name, part = handed[name]
            path = f"{part}.{path}" if part else path
        yield from ((node, path) for node in ast.walk(item))


def _key(node: ast.expr) -> ast.expr | None:
    """The key of what an expression takes from the configuration; None where it takes nothing."""
    if isinstance(node, ast.Subscript) and tail(node.value) in _ROOTS:
        return node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return node.args[0] if node.args and tail(node.func.value) in _ROOTS else None
    return None


def _path(sources: Sources, module: Module, owner: ast.expr, key: ast.expr) -> str:
    """The path of a key in the configuration; empty where that is not what is read."""
    head = ""
    if isinstance(owner, ast.Subscript) and tail(owner.value) in _ROOTS:
        head = as_literal(sources, owner.slice, module) or "\0"
        owner = owner.value
    name = as_literal(sources, key, module)
    if tail(owner) not in _ROOTS or not isinstance(name, str) or head == "\0":
        return ""
    return f"{head}.{name}" if head else name


def yaml_keys(folder: Path, patterns: Iterable[str]) -> Iterator[Mined]:
    """Keys of configuration files that Hydra composes, of each the parts that its ``defaults`` name.

    Every file of a named group counts, as an override may choose another one of them.
    """
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    names = {path.name for path in paths}
    for path in paths:
        if f"_generated_{path.name}" not in names:  # which is the same, composed
            yield from _composed(folder, path, path, "")


def _composed(folder: Path, whole: Path, path: Path, prefix: str, depth: int = 0) -> Iterator[Mined]:
    loader = yaml.SafeLoader(path.read_text(encoding="utf-8"))
    node = loader.get_single_node()
    if not isinstance(node, yaml.MappingNode) or depth > 4:
        return
    loader.flatten_mapping(node)
    name = path.relative_to(folder).as_posix()
    read = {str(key.value): value for key, value in node.value}
    for entry in loader.construct_object(read["defaults"], deep=True) if "defaults" in read else ():
        for part in entry if isinstance(entry, dict) else ():
            group, _, package = str(part).removeprefix("optional ").removeprefix("override ").partition("@")
            place = prefix + (package or group).replace("/", ".").strip(".") + "."
            yield Mined(key=place[:-1], place="yaml", carrier="configuration", path=name, type="object")
            base = whole.parent / group if (whole.parent / group).is_dir() else path.parent / group
            for item in sorted(base.glob("*.yaml")):
                yield from _composed(folder, whole, item, place, depth + 1)
    node.value = [pair for pair in node.value if pair[0].value not in {"defaults", "hydra"}]
    yield from _flat(loader, node, prefix, name)


def _flat(loader: yaml.SafeLoader, node: yaml.Node, prefix: str, path: str) -> Iterator[Mined]:
    for name, inner in node.value if isinstance(node, yaml.MappingNode) else ():
        value = loader.construct_object(inner, deep=True)
        if isinstance(inner, yaml.ScalarNode) and inner.style is None and isinstance(value, str):
            value = None if value == "None" else float(value) if _POWER.fullmatch(value) else value
        kind = type_of(value)
        computed = isinstance(value, str) and ("${" in value or "???" in value)
        if not isinstance(value, dict) or not value:
            yield Mined(
                key=f"{prefix}{name.value}",
                place="yaml",
                carrier="configuration",
                path=path,
                line=name.start_mark.line + 1,
                type="any" if computed else kind,
                default=value,
                stated=not computed and kind not in {"object", "list"},
                open=value == {},
            )
        yield from _flat(loader, inner, f"{prefix}{name.value}.", path)
