"""Fields of JSON objects that code reads key by key: ``config.get("name", default)`` and its kin.

Notation: a *path* is the dotted name of an object inside the JSON of a flag; an expression *holds* the
paths that it may be. Paths are followed through names, attributes of ``self``, constructors and functions,
without regard to order.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.oracle.settings.fields import kind_of, parameters
from tools.oracle.settings.source import (
    Mined,
    Module,
    Sources,
    UnresolvedError,
    as_literal,
    as_text,
    field_of,
    idle_tests,
    scopes,
    tail,
    texts,
    type_of,
)

Paths = frozenset[str]
NOWHERE: Paths = frozenset()
_GETTERS = {"get", "pop", "setdefault"}
_CASTS = {"bool", "int", "float", "str"}
_DEFAULTS = ("_DEFAULTS", "_defaults")
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
            seen: set[tuple[int, tuple[tuple[str, Paths], ...]]] = set()
            self.waiting.extend(functions)
            while self.waiting:
                scope = self.waiting.pop()
                mark = (id(scope.function), scope.holds)
                if mark not in seen:
                    seen.add(mark)
                    _Body(self, scope).read()

    def put(self, item: Mined) -> None:
        """Note a field whose default is stated where it is declared, unless a read has stated one."""
        known = self.settings.get(item.key)
        if known is None or not known.stated:
            self.settings[item.key] = item


@dataclass
class _Body:
    """One function as it is read."""

    reader: _Reader
    scope: _Scope
    names: dict[str, Paths] = field(default_factory=dict)
    annotations: dict[int, ast.expr] = field(default_factory=dict)

    def read(self) -> None:
        self.names = dict(self.scope.holds)
        for name in _DEFAULTS if self.scope.holds else ():
            for key, value in self._table(name).items():
                for path in frozenset().union(*(paths for _, paths in self.scope.holds)):
                    item = self._mined(f"{path}.{key}", self.scope.owner)
                    item.default, item.stated, item.type = value, True, type_of(value)
                    self.reader.put(item)
        idle = idle_tests(self.scope.function)
        nodes = list(ast.walk(self.scope.function))
        for _ in range(2):
            for node in nodes:
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                    self._assign(node, node.value)
        for node in nodes:
            match node:
                case ast.Compare(left, [ast.In() | ast.NotIn()], [owner]) if key := as_text(left):
                    self._membership(key, self.holds(owner), node, idle.get(id(node)))
                case ast.Call():
                    self._pass_on(node)
                    self.holds(node)
                case ast.Subscript():
                    self.holds(node)

    def _mined(self, path: str, node: ast.expr | ast.ClassDef | None) -> Mined:
        line = node.lineno if node is not None else 0
        return Mined(key=path, place="json", path=self.scope.module.path, line=line)

    def _table(self, name: str) -> dict[str, Any]:
        """A dictionary that stands in the class."""
        table = field_of(self.scope.owner, name) if self.scope.owner is not None else None
        pairs = zip(table.keys, table.values, strict=True) if isinstance(table, ast.Dict) else ()
        return {
            text: as_literal(self.reader.sources, value, self.scope.module)
            for key, value in pairs
            if key is not None and (text := as_text(key))
        }

    def _assign(self, node: ast.Assign | ast.AnnAssign, value: ast.expr) -> None:
        if isinstance(node, ast.AnnAssign):
            self.annotations[id(_core(value))] = node.annotation
        if not (held := self.holds(value)):
            return
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            match target:
                case ast.Name(name):
                    self.names[name] = self.names.get(name, NOWHERE) | held
                case ast.Attribute(ast.Name("self"), name):
                    mark = (id(self.scope.owner), name)
                    self.reader.attributes[mark] = self.reader.attributes.get(mark, NOWHERE) | held

    def holds(self, node: ast.expr) -> Paths:
        """The paths that an expression may be; fields that it reads are noted."""
        match node:
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Name(name) | ast.Attribute(_, name) if name in self.reader.roots:
                return frozenset({self.reader.roots[name]})
            case ast.Attribute(ast.Name("self"), name):
                return self.reader.attributes.get((id(self.scope.owner), name), NOWHERE)
            case ast.BoolOp(_, values):
                return frozenset().union(*map(self.holds, values))
            case ast.IfExp(_, body, otherwise):
                return self.holds(body) | self.holds(otherwise)
            case ast.Subscript(owner, key) if text := as_text(key):
                return self._field(self.holds(owner), text, node, None)
            case ast.Call(function, given):
                return self._call(node, tail(function), given)
        return NOWHERE

    def _call(self, node: ast.Call, name: str, given: list[ast.expr]) -> Paths:
        key = as_text(given[0]) if given else ""
        if name in {"dict", "copy", "deepcopy"} and given:
            return self.holds(given[0])
        if name in _CASTS and len(given) == 1:
            for path in self.holds(given[0]):
                item = self.reader.settings.get(path)
                if item is not None and item.type in {"any", "object"}:
                    item.type = name
            return NOWHERE
        if name == "get_from_extra_config" and key:
            held = frozenset({self.reader.roots.get("kv_connector_extra_config", "")})
            return self._field(held, key, node, given[1:2])
        if not isinstance(node.func, ast.Attribute):
            return NOWHERE
        if name in _GETTERS and key:
            return self._field(self.holds(node.func.value), key, node, given[1:2])
        if "get" in name and tail(node.func.value) == "self":
            holding = [held for item in given if (held := self.holds(item))]
            texts = [text for item in given if (text := as_text(item))]
            key = next((text for text in texts if not text.isupper()), "")
            if holding and key:
                for (
                    text
                ) in texts:  # a getter that is given a variable too reads it where the field is not set
                    if text in self.reader.variables:
                        self.reader.variables[text].replaced_by = f"{min(holding[0])}.{key}"
                others = [item for item in given if not as_text(item) and not self.holds(item)]
                return self._field(frozenset().union(*holding), key, node, others[:1])
        return NOWHERE

    def _field(self, held: Paths, key: str, node: ast.expr, default: list[ast.expr] | None) -> Paths:
        found = frozenset(f"{path}.{key}" for path in held if path)
        for path in found:
            self._note(path, node, default)
        return found

    def _note(self, path: str, node: ast.expr, default: list[ast.expr] | None) -> None:
        item = self.reader.settings.get(path)
        if item is None or item.gone:
            item = self.reader.settings[path] = self._mined(path, node)
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
        table: dict[str, Any] = {}
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            table = self._table(node.value.attr)
        try:
            key = as_text(node.slice) if table and isinstance(node, ast.Subscript) else ""
            item.default = table[key] if key in table else self.reader.sources.value(node, self.scope.module)
        except UnresolvedError:
            return
        item.stated = not isinstance(item.default, dict)
        item.type = type_of(item.default) if item.type == "any" else item.type

    def _membership(self, key: str, held: Paths, node: ast.Compare, idle: ast.If | None) -> None:
        if idle is None:
            self._field(held, key, node, None)
            return
        for path in held:
            item = self._mined(f"{path}.{key}", node)
            item.gone = True
            others = (
                name
                for part in idle.body
                for name in _PATH.findall(" ".join(texts(part)))
                if name != item.key
            )
            item.replaced_by = next((name for name in others if name.startswith(path)), "")
            self.reader.settings.setdefault(item.key, item)

    def _pass_on(self, node: ast.Call) -> None:
        """Follow paths into a constructor, a method or a function."""
        target = self._target(node.func)
        if target is None:
            return
        function, owner, module = target
        names = [item.arg for item in function.args.args if item.arg not in {"self", "cls"}]
        given = [*zip(names, node.args, strict=False), *((word.arg, word.value) for word in node.keywords)]
        holds: dict[str, Paths] = {}
        for name, value in given:
            if not (held := self.holds(value)):
                continue
            if name is None:  # ``Class(**config)``: each argument of the constructor is a field
                for argument in parameters(self.reader.sources, function, module).values():
                    for path in held:
                        item = argument.as_setting(f"{path}.{argument.key}", "json")
                        item.stated, item.open = item.stated and not isinstance(item.default, dict), False
                        self.reader.put(item)
            rest = function.args.kwarg
            if into := name or (rest.arg if rest is not None else ""):
                holds[into] = held
        if holds:
            self.reader.waiting.append(_Scope(function, owner, module, tuple(sorted(holds.items()))))

    def _target(self, called: ast.expr) -> tuple[ast.FunctionDef, ast.ClassDef | None, Module] | None:
        module = self.scope.module
        match called:
            case ast.Attribute(ast.Name("self" | "cls"), name):
                method = _function(self.scope.owner, name)
                return (method, self.scope.owner, module) if method is not None else None
            case ast.Name(name) | ast.Attribute(_, name):
                found = self.reader.sources.class_named(name, module)
                if found is not None and (method := _function(found[0], "__init__")) is not None:
                    return method, *found
        plain = _function(module.tree, called.id) if isinstance(called, ast.Name) else None
        return (plain, None, module) if plain is not None else None


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


def _function(owner: ast.ClassDef | ast.Module | None, name: str) -> ast.FunctionDef | None:
    body = owner.body if owner is not None else ()
    return next((item for item in body if isinstance(item, ast.FunctionDef) and item.name == name), None)


def _core(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and tail(node.func) in _CASTS and len(node.args) == 1:
        node = node.args[0]
    return node
