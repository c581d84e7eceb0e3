"""Settings of trainers that are no flags: DeepSpeed's JSON, Hydra's YAML."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from tools.oracle.settings.source import Mined, Module, Sources, as_literal, tail, type_of

_GETTERS = {"get_scalar_param", "get_dict_param", "get_list_param"}
_POWER = re.compile(r"[-+]?\d+e[-+]?\d+")
"""A number that YAML 1.1 takes for a text, and Hydra for the number it is."""
_ROOTS = {"param_dict", "_param_dict"}


def dictionary_keys(sources: Sources, carrier: str) -> Iterator[Mined]:
    """Keys that DeepSpeed reads of its configuration one by one, with their defaults."""
    for module in sources.having("get_scalar_param(", "in param_dict"):
        for node, above in _placed(sources, module):
            default = None
            match node:
                case ast.Call(getter, [owner, key, *rest]) if tail(getter) in _GETTERS:
                    default = as_literal(sources, rest[0], module) if rest else None
                case ast.Compare(key, [ast.In(), *_], [ast.Call(ast.Attribute(owner)) | owner, *_]):
                    pass
                case _:
                    continue
            if path := _path(sources, module, ast.Subscript(owner, key)):
                kind = type_of(default)
                item = Mined(
                    key=above + path, place="json", carrier=carrier, path=module.path, line=node.lineno
                )
                item.type, item.default, item.open = kind, default, kind in {"any", "object"}
                item.stated = default is not None and kind != "object"
                yield item


def _placed(sources: Sources, module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every node of a module, with the path of the dictionary that its function is handed."""
    functions = {item.name: item for item in module.tree.body if isinstance(item, ast.FunctionDef)}
    handed: dict[str, tuple[str, str]] = {}
    for caller in functions.values():
        nodes = list(ast.walk(caller))
        parts = {
            tail(node.targets[0]): path
            for node in nodes
            if isinstance(node, ast.Assign) and (path := _path(sources, module, node.value))
        } | dict.fromkeys(_ROOTS, "")
        for node in nodes:
            match node:
                case ast.Call(function, [given, *_]) if tail(given) in parts and tail(function) in functions:
                    handed[tail(function)] = (caller.name, parts[tail(given)])
    for item in module.tree.body:
        path, name = "", getattr(item, "name", "")
        while name in handed and path.count(".") < 8:
            name, part = handed[name]
            path = f"{part}.{path}" if part else path
        yield from ((node, path) for node in ast.walk(item))


def _path(sources: Sources, module: Module, node: ast.expr) -> str:
    """The path of what an expression takes from the configuration; empty where it takes nothing."""
    match node:
        case ast.Subscript(owner, key) | ast.Call(ast.Attribute(owner, "get"), [key, *_]):
            name = as_literal(sources, key, module)
            if isinstance(name, str) and tail(owner) in _ROOTS:
                return name
            head = _path(sources, module, owner) if isinstance(owner, ast.Subscript) else ""
            return f"{head}.{name}" if isinstance(name, str) and head else ""
    return ""


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
