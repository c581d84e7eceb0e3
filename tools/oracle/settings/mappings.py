"""Fields of JSON objects that code reads key by key: ``config.get("name", default)`` and its kin.

Notation: a *path* is the dotted name of an object inside the JSON of a flag; an expression *holds* the
paths that it may be. Paths are followed through names, attributes of ``self``, constructors and functions,
without regard to order.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.fields import kind_of, parameters
from tools.oracle.settings.source import (
    Mined,
    UnresolvedError,
    as_literal,
    as_text,
    idle_tests,
    messages,
    scopes,
    tail,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.oracle.settings.source import Module, Sources

Paths = frozenset[str]
NOWHERE: Paths = frozenset()
_GETTERS = {"get", "pop", "setdefault"}
_CASTS = {"bool", "int", "float", "str"}
_DEFAULTS = {"_defaults", "_DEFAULTS"}
_PATH = re.compile(r"\b[a-z_]+(?:\.[a-z_0-9]+)+\b")


@dataclass(frozen=True, slots=True)
class _Scope:
    """A function with what its arguments hold."""

    function: ast.FunctionDef
    owner: ast.ClassDef | None
    module: Module
    holds: tuple[tuple[str, Paths], ...] = ()


@dataclass
class _Reader:
    """Follows paths through all modules and notes each field that is read."""

    sources: Sources
    roots: Mapping[str, str]
    variables: Mapping[str, Mined]
    settings: dict[str, Mined] = field(default_factory=dict)
    waiting: list[_Scope] = field(default_factory=list)
    seen: set[tuple[int, tuple[tuple[str, Paths], ...]]] = field(default_factory=set)
    attributes: dict[tuple[int, str], Paths] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)

    def read(self) -> None:
        """Read every function; what attributes of ``self`` hold counts in a second round."""
        functions = [
            _Scope(function, owner, module)
            for module in self.sources.having("extra_config", *self.roots)
            for function, owner in scopes(module.tree)
            if isinstance(function, ast.FunctionDef)
        ]
        for _ in range(2):
            self.seen.clear()
            self.waiting.extend(functions)
            while self.waiting:
                scope = self.waiting.pop()
                mark = (id(scope.function), scope.holds)
                if mark not in self.seen:
                    self.seen.add(mark)
                    _Body(self, scope).read()


@dataclass
class _Body:
    """One function as it is read."""

    reader: _Reader
    scope: _Scope
    names: dict[str, Paths] = field(default_factory=dict)
    annotations: dict[int, ast.expr] = field(default_factory=dict)

    def read(self) -> None:
        self.names = dict(self.scope.holds)
        if self.scope.holds and self.scope.owner is not None:
            self._stated_defaults(self.scope.owner)
        idle = idle_tests(self.scope.function)
        nodes = list(ast.walk(self.scope.function))
        for _ in range(2):
            for node in nodes:
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                    self._assign(node)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._pass_on(node)
            if isinstance(node, ast.Compare):
                self._membership(node, idle.get(id(node)))
            if isinstance(node, ast.Call | ast.Subscript):
                self.holds(node)

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            self.annotations[id(_core(node.value))] = node.annotation
        held = self.holds(node.value) if node.value is not None else NOWHERE
        if not held:
            return
        for target in targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = self.names.get(target.id, NOWHERE) | held
            elif (
                isinstance(target, ast.Attribute)
                and tail(target.value) == "self"
                and self.scope.owner is not None
            ):
                mark = (id(self.scope.owner), target.attr)
                self.reader.attributes[mark] = self.reader.attributes.get(mark, NOWHERE) | held

    def holds(self, node: ast.expr) -> Paths:
        """The paths that an expression may be; fields that it reads are noted."""
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            return frozenset({self.reader.roots[node.id]}) if node.id in self.reader.roots else NOWHERE
        if isinstance(node, ast.Attribute):
            if node.attr in self.reader.roots:
                return frozenset({self.reader.roots[node.attr]})
            if tail(node.value) == "self" and self.scope.owner is not None:
                return self.reader.attributes.get((id(self.scope.owner), node.attr), NOWHERE)
            return NOWHERE
        if isinstance(node, ast.BoolOp):
            return frozenset().union(*(self.holds(value) for value in node.values))
        if isinstance(node, ast.IfExp):
            return self.holds(node.body) | self.holds(node.orelse)
        if isinstance(node, ast.Subscript):
            key = as_text(node.slice)
            return self._field(self.holds(node.value), key, node, None) if key else NOWHERE
        if isinstance(node, ast.Call):
            return self._call(node)
        return NOWHERE

    def _call(self, node: ast.Call) -> Paths:
        name = tail(node.func)
        if name in {"dict", "copy", "deepcopy"} and node.args:
            return self.holds(node.args[0])
        if name in _CASTS and len(node.args) == 1:
            for path in self.holds(node.args[0]):
                item = self.reader.settings.get(path)
                if item is not None and item.type in {"any", "object"}:
                    item.type = name
            return NOWHERE
        key = as_text(node.args[0]) if node.args else ""
        rest = node.args[1:2]
        if name == "get_from_extra_config" and key:
            return self._field(
                frozenset({self.reader.roots.get("kv_connector_extra_config", "")}), key, node, rest
            )
        if isinstance(node.func, ast.Attribute) and name in _GETTERS and key:
            return self._field(self.holds(node.func.value), key, node, rest)
        if "get" in name and isinstance(node.func, ast.Attribute) and tail(node.func.value) == "self":
            held = frozenset().union(NOWHERE, *(self.holds(item) for item in node.args))
            keys = [text for item in node.args if (text := as_text(item)) and not text.isupper()]
            others = [item for item in node.args if not as_text(item) and not self.holds(item)]
            if held and keys:
                self._replace(node, keys[0])
                return self._field(held, keys[0], node, others[:1])
        return NOWHERE

    def _replace(self, node: ast.Call, key: str) -> None:
        """A getter that is given a variable too reads it only where the field is not set."""
        path = next((min(held) for item in node.args if (held := self.holds(item))), "")
        for text in (as_text(item) for item in node.args):
            if text.isupper() and text in self.reader.variables:
                self.reader.variables[text].replaced_by = f"{path}.{key}"

    def _field(self, held: Paths, key: str, node: ast.expr, default: list[ast.expr] | None) -> Paths:
        held = frozenset(path for path in held if path)
        for path in held:
            self._note(f"{path}.{key}", node, default)
        return frozenset(f"{path}.{key}" for path in held)

    def _note(self, path: str, node: ast.expr, default: list[ast.expr] | None) -> None:
        item = self.reader.settings.get(path)
        if item is None or item.gone:
            item = Mined(key=path, place="json", path=self.scope.module.path, line=node.lineno)
            self.reader.settings[path] = item
        if default and not item.stated:
            self._default(item, default[0])
            if item.stated:
                item.path, item.line = self.scope.module.path, node.lineno
        elif default == []:
            self.reader.bare.add(path)
        annotation = self.annotations.get(id(node))
        if annotation is not None and item.type == "any":
            item.type = kind_of(self.reader.sources, annotation, self.scope.module).type

    def _default(self, item: Mined, node: ast.expr) -> None:
        variable = self.reader.variables.get(tail(node)) if isinstance(node, ast.Attribute) else None
        if variable is not None:
            item.default, item.stated, item.type = variable.default, variable.stated, variable.type
            return
        try:
            item.default, item.stated = self._value(node), True
        except UnresolvedError:
            return
        if item.type == "any":
            item.type = type_of(item.default)
        if isinstance(item.default, dict):
            item.stated = False

    def _value(self, node: ast.expr) -> Any:
        inner = node.value if isinstance(node, ast.Subscript) else None
        if (
            isinstance(node, ast.Subscript)
            and isinstance(inner, ast.Attribute)
            and self.scope.owner is not None
        ):
            table = _table(self.reader.sources, self.scope, inner.attr)
            if table is not None and as_text(node.slice) in table:
                return table[as_text(node.slice)]
        return self.reader.sources.value(node, self.scope.module)

    def _stated_defaults(self, owner: ast.ClassDef) -> None:
        held = frozenset().union(*(paths for _, paths in self.scope.holds))
        for name in _DEFAULTS:
            for key, value in (_table(self.reader.sources, self.scope, name) or {}).items():
                for path in held:
                    item = Mined(
                        key=f"{path}.{key}", place="json", path=self.scope.module.path, line=owner.lineno
                    )
                    item.default, item.stated, item.type = value, True, type_of(value)
                    known = self.reader.settings.get(item.key)
                    if known is None or not known.stated:
                        self.reader.settings[item.key] = item

    def _membership(self, node: ast.Compare, idle: ast.If | None) -> None:
        if (
            len(node.ops) != 1
            or not isinstance(node.ops[0], ast.In | ast.NotIn)
            or not (key := as_text(node.left))
        ):
            return
        held = self.holds(node.comparators[0])
        if idle is None:
            self._field(held, key, node, None)
            return
        for path in held:
            item = Mined(
                key=f"{path}.{key}", place="json", path=self.scope.module.path, line=node.lineno, gone=True
            )
            others = _PATH.findall(messages(idle))
            item.replaced_by = next(
                (name for name in others if name != item.key and name.startswith(path)), ""
            )
            self.reader.settings.setdefault(item.key, item)

    def _pass_on(self, node: ast.Call) -> None:
        """Follow paths into a constructor, a method or a function."""
        target = self._target(node)
        if target is None:
            return
        function, owner, module = target
        names = [item.arg for item in function.args.args]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        holds = {
            name: held for name, item in zip(names, node.args, strict=False) if (held := self.holds(item))
        }
        for word in node.keywords:
            held = self.holds(word.value)
            if held and word.arg:
                holds[word.arg] = held
            elif held:
                self._spread(function, module, held)
                if function.args.kwarg is not None:
                    holds[function.args.kwarg.arg] = held
        if holds:
            self.reader.waiting.append(_Scope(function, owner, module, tuple(sorted(holds.items()))))

    def _target(self, node: ast.Call) -> tuple[ast.FunctionDef, ast.ClassDef | None, Module] | None:
        name, module = tail(node.func), self.scope.module
        if isinstance(node.func, ast.Attribute) and tail(node.func.value) in {"self", "cls"}:
            owner = self.scope.owner
            method = _method(owner, name) if owner is not None else None
            return (method, owner, module) if method is not None else None
        found = self.reader.sources.class_named(name, module)
        if found is not None and (method := _method(found[0], "__init__")) is not None:
            return method, *found
        for item in module.tree.body:
            if isinstance(item, ast.FunctionDef) and item.name == name and isinstance(node.func, ast.Name):
                return item, None, module
        return None

    def _spread(self, function: ast.FunctionDef, module: Module, held: Paths) -> None:
        """``Class(**config)``: each argument of the constructor is a field."""
        for argument in parameters(self.reader.sources, function, module).values():
            for path in held:
                item = argument.as_setting(f"{path}.{argument.name}", "json")
                item.stated, item.open = item.stated and not isinstance(item.default, dict), False
                known = self.reader.settings.get(item.key)
                if known is None or not known.stated:
                    self.reader.settings[item.key] = item


def json_fields(
    sources: Sources, roots: Mapping[str, str], variables: Mapping[str, Mined], only: Iterable[str]
) -> Iterator[Mined]:
    """Fields that code reads from JSON objects.

    Args:
        sources: The modules.
        roots: Names and attributes that hold an object, with its path.
        variables: Environment variables, whose defaults fields may take over.
        only: Paths whose fields are wanted.
    """
    reader = _Reader(sources, roots, variables)
    reader.read()
    wanted = tuple(f"{path}." for path in only)
    parents = {path.rsplit(".", 1)[0] for path in reader.settings}
    for path, item in sorted(reader.settings.items()):
        if path.startswith(wanted):
            if path in parents and item.type in {"any", "object"}:
                item.type = "object"
            elif path in reader.bare and not item.stated:
                item.default, item.stated = None, True
            item.carrier = "--" + path.split(".")[0].replace("_", "-")
            yield item


def _method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next(
        (item for item in owner.body if isinstance(item, ast.FunctionDef) and item.name == name), None
    )


def _table(sources: Sources, scope: _Scope, name: str) -> dict[str, Any] | None:
    if scope.owner is None:
        return None
    for statement in scope.owner.body:
        target = (
            statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        )
        value = getattr(statement, "value", None)
        if target is not None and tail(target) == name and isinstance(value, ast.Dict):
            return {
                as_text(key): as_literal(sources, item, scope.module)
                for key, item in zip(value.keys, value.values, strict=True)
                if key is not None and as_text(key)
            }
    return None


def _core(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and tail(node.func) in _CASTS and len(node.args) == 1:
        node = node.args[0]
    return node
