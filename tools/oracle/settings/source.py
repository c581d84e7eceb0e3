"""Python sources of a program, read as syntax trees and never imported.

Names are looked up as a reader would: first in the module that uses them, then among all modules read, where
the name stands there once.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

_TESTS = {"test", "tests", "benchmark", "benchmarks"}
_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_CONSTANT = re.compile(r"^[ \t]{0,4}(\w+)[ \t]*(?::[^=\n]+)?=", re.MULTILINE)


ARITHMETIC: dict[type[ast.operator | ast.unaryop], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.USub: operator.neg, ast.Not: operator.not_,
}  # fmt: skip
_EMPTY: dict[str, Callable[[], Any]] = {
    "list": list,
    "dict": dict,
    "set": list,
    "tuple": list,
    "frozenset": list,
}
_MADE: dict[str, Callable[[Any], Any]] = {
    "str": str, "int": int, "float": float, "bool": bool, "get_args": lambda value: value,
    "list": list, "tuple": list, "sorted": sorted, "set": sorted, "frozenset": sorted,
}  # fmt: skip


READERS = {
    "bool": "bool", "str2bool": "bool", "boolean": "bool", "maybe_convert_bool": "bool",
    "int": "int", "maybe_convert_int": "int", "PositiveInt": "int", "positive_int": "int",
    "human_readable_int": "int", "human_readable_int_or_auto": "int",
    "float": "float", "PositiveFloat": "float", "str": "str", "nullable_str": "str",
    "loads": "object", "json_list_type": "list", "list_of": "list",
}  # fmt: skip
"""Type of a value by the function or type that reads it."""


class UnresolvedError(Exception):
    """An expression has no value that the sources alone give."""


class Module:
    """One file, parsed at the first question about its tree.

    Attributes:
        path: Its path inside the repository.
        text: Its source.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree; an empty one if it is no Python of this version."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes by name, nested ones too."""
        found: dict[str, ast.ClassDef] = {}
        waiting: list[ast.AST] = [self.tree]
        while waiting:
            for node in ast.iter_child_nodes(waiting.pop()):
                if isinstance(node, ast.ClassDef):
                    found[node.name] = node
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.If | ast.Try):
                    waiting.append(node)
        return found

    @cached_property
    def imports(self) -> dict[str, str]:
        """Modules that names come from, as the end of a path."""
        return {
            name.asname or name.name: node.module.replace(".", "/")
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module
            for name in node.names
        }

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Names that are imported under another, by that."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return {name.asname: name.name for node in nodes for name in node.names if name.asname}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Values that names of the module are set to."""
        return dict(assignments(self.tree.body))


@dataclass(kw_only=True)
class Mined:
    """One setting as one release defines it.

    Attributes:
        key: As it is written.
        place: flag, env, json, yaml or code.
        path: File that defines it.
        line: Line there.
        carrier: Flag or file that a field stands in.
        aliases: Other spellings.
        negation: Flag that switches it off.
        type: One of ``kg.nouns.setting.VALUE_TYPES``.
        choices: Values it takes.
        low: Smallest value.
        high: Largest value.
        default: Default; meaningless where ``stated`` is False.
        stated: The sources state the default as a value.
        open: Takes any keys beneath it.
        unit: Unit, where the name says it.
        replaced_by: Key that the program names in its place.
        conflicts: Conditions under which the program refuses.
        gone: The program names it only to refuse it or to warn that it does nothing.
        nargs: How many words follow the flag, as argparse says it; None where the type tells.
        of: Type of the items of a list.
        words: Texts taken beside what the type reads, such as ``"auto"``.
        scaled: The number may end in ``k``, ``M`` and the like.
        required: The parser refuses to do without.
        folds: Choices are compared in lower case, with ``_`` for ``-``.
        forbids: Fields that its configuration class does not have are refused, not read over.
        resolved: What the release makes of the default: when, the value (none where it is computed), and
            whether that is the ``most`` or ``least`` it may be.
    """

    key: str
    place: str
    path: str
    line: int = 0
    carrier: str = ""
    aliases: tuple[str, ...] = ()
    negation: str = ""
    type: str = "any"
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    default: Any = None
    stated: bool = False
    open: bool = False
    unit: str = ""
    replaced_by: str = ""
    conflicts: tuple[str, ...] = ()
    gone: bool = False
    nargs: int | str | None = None
    of: str = ""
    words: tuple[str, ...] = ()
    scaled: bool = False
    required: bool = False
    folds: bool = False
    forbids: bool = False
    resolved: tuple[tuple[Any, ...], ...] = ()


class Sources:
    """All modules below some paths of a checkout."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self.modules = [read_module(root, path) for path in dict.fromkeys(_files(root, paths))]
        self._classes: dict[str, list[Module]] = {}
        self._constants: dict[str, list[Module]] = {}
        for module in self.modules:
            for name in dict.fromkeys(_CLASS.findall(module.text)):
                self._classes.setdefault(name, []).append(module)
            for name in dict.fromkeys(_CONSTANT.findall(module.text)):
                self._constants.setdefault(name, []).append(module)

    def having(self, *words: str) -> Iterator[Module]:
        """Modules whose text has one of some words; the others need not be parsed."""
        return (module for module in self.modules if any(word in module.text for word in words))

    def class_named(self, name: str, module: Module | None = None) -> tuple[ast.ClassDef, Module] | None:
        """A class and where it stands; None if there is none or there are several elsewhere.

        Of a class inside another, named ``Outer.Inner``, that of the outer one or of what that derives from.
        """
        outer, _, inner = name.rpartition(".")
        if outer:
            return self._inside(outer, inner, module)
        if module is not None and name in module.classes:
            return module.classes[name], module
        own = module.renamed.get(name, name) if module is not None else name
        named = [item for item in self._classes.get(own, ()) if own in item.classes]
        found = [item for item in named if own == name or item is not module]
        if module is not None and len(found) > 1 and (origin := module.imports.get(name)):
            found = [item for item in found if origin in item.path]
        name = own
        return (found[0].classes[name], found[0]) if len(found) == 1 or (found and module is None) else None

    def _inside(
        self, outer: str, inner: str, module: Module | None, depth: int = 0
    ) -> tuple[ast.ClassDef, Module] | None:
        found = self.class_named(outer, module)
        if found is None or depth > 8:
            return None
        owner, home = found
        for item in owner.body:
            if isinstance(item, ast.ClassDef) and item.name == inner:
                return item, home
        bases = (self._inside(tail(base), inner, home, depth + 1) for base in owner.bases if tail(base))
        return next((base for base in bases if base is not None), None)

    def constant(self, name: str, module: Module) -> tuple[ast.expr, Module] | None:
        """The value that a name of a module is set to, and its module; None if it is not found."""
        if name in module.constants:
            return module.constants[name], module
        found = [item for item in self._constants.get(name, ()) if name in item.constants]
        origin = module.imports.get(name) if len(found) > 1 else None
        if origin:
            found = [
                item
                for item in found
                if item.path.removesuffix(".py").removesuffix("/__init__").endswith(origin)
            ]
        return (found[0].constants[name], found[0]) if len(found) == 1 else None

    def value(self, node: ast.expr, module: Module, depth: int = 0) -> Any:  # noqa: PLR0912  a case a kind
        """The value of an expression.

        Raises:
            UnresolvedError: It depends on more than the sources.
        """
        if depth > 12:
            raise UnresolvedError
        inner = partial(self.value, module=module, depth=depth + 1)
        match node:
            case ast.Constant(value):
                return value
            case ast.List(items) | ast.Tuple(items) | ast.Set(items):
                return _items(items, inner)
            case ast.Dict(keys, values):
                pairs = zip(keys, values, strict=True)
                return {inner(key): inner(value) for key, value in pairs if key is not None}
            case ast.UnaryOp(sign, operand):
                return _calculated(sign, inner(operand))
            case ast.BinOp(left, sign, right):
                return _calculated(sign, inner(left), inner(right))
            case ast.Name(name) if (found := self.constant(name, module)) is not None:
                return self.value(*found, depth + 1)
            case ast.Attribute(ast.Attribute() as member, "value"):
                return inner(member)
            case ast.Attribute(ast.Subscript(ast.Attribute(owner, "model_fields"), name), "default"):
                return inner(ast.Attribute(owner, as_text(name)))
            case ast.Attribute(owner, name) if home := self.class_named(tail(owner), module):
                statement = field_of(home[0], name)
                if statement is None and home[0].bases:
                    statement = ast.Attribute(home[0].bases[0], name)
                if statement is not None:
                    return self.value(statement, home[1], depth + 1)
            case ast.Call(function, given):
                return self._call(node, tail(function), given, inner)
            case ast.Subscript(owner, items) if tail(owner) == "Literal":
                named = _items(items.elts if isinstance(items, ast.Tuple) else [items], inner)
                return [part for item in named for part in (item if isinstance(item, list) else [item])]
        raise UnresolvedError

    def _call(
        self, node: ast.Call, name: str, given: list[ast.expr], inner: Callable[[ast.expr], Any]
    ) -> Any:
        if name in {"field", "Field"}:
            words = {word.arg: word.value for word in node.keywords}
            made = words.get("default_factory")
            chosen = words.get("default") or made or (given[0] if given else None)
            if chosen is None:
                raise UnresolvedError
            if chosen is made and tail(chosen) in _EMPTY:
                return _EMPTY[tail(chosen)]()
            return inner(chosen.body if isinstance(chosen, ast.Lambda) else chosen)
        if name in {"keys", "copy"} and isinstance(node.func, ast.Attribute):
            return inner(node.func.value)
        if name in _EMPTY and not given and not node.keywords:
            return _EMPTY[name]()
        if name not in _MADE or len(given) != 1:
            raise UnresolvedError
        value = inner(given[0])
        if _MADE[name] in {list, sorted} and not isinstance(value, list | dict | str):
            raise UnresolvedError
        return _MADE[name](value)


def _items(nodes: Iterable[ast.expr], inner: Callable[[ast.expr], Any]) -> list[Any]:
    items: list[Any] = []
    for node in nodes:
        items += inner(node.value) if isinstance(node, ast.Starred) else [inner(node)]
    return items


@cache
def read_module(root: Path, path: Path) -> Module:
    """A module of a folder; remembered, so that one plan may name it in several places."""
    return Module(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace"))


def assignments(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Names that statements set, with what they are set to; also inside ``if`` and ``try``."""
    for node in body:
        match node:
            case ast.Assign(targets, value):
                yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
                yield name, value
            case ast.If() | ast.Try():
                yield from assignments((*node.body, *node.orelse))


def field_of(owner: ast.ClassDef, name: str) -> ast.expr | None:
    """The value that a class sets a name of its body to."""
    return next((value for key, value in assignments(owner.body) if key == name), None)


def tail(node: ast.expr) -> str:
    """The last part of a dotted name; empty where an expression is none."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def as_literal(sources: Sources, node: ast.expr | None, module: Module) -> Any:
    """The value of an expression; None where the sources alone do not give it."""
    if node is None:
        return None
    try:
        return sources.value(node, module)
    except UnresolvedError:
        return None


def state_default(sources: Sources, item: Mined, node: ast.expr, module: Module) -> None:
    """Note a default where the sources give it as a value."""
    try:
        item.default, item.stated = sources.value(node, module), True
    except UnresolvedError:
        item.stated = False


def as_text(node: ast.expr | None) -> str:
    """The text that an expression is; empty where it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.ClassDef | None]]:
    """Functions with the class they stand in, and the module itself; none inside another."""
    owners = {
        item: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.body
        if isinstance(item, ast.FunctionDef)
    }  # fmt: skip
    others = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node not in owners)
    yield from ((tree, None), *owners.items(), *((node, None) for node in others))


def type_of(value: object) -> str:
    """The name of the type of a JSON value."""
    names = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "object"}
    return names.get(type(value), "any")


def _calculated(sign: ast.operator | ast.unaryop, *values: Any) -> Any:
    """The result of an operator on values: numbers, or texts and lists that are joined."""
    numbers = all(isinstance(value, int | float) for value in values)
    kinds = {type(value) for value in values}
    is_sum = isinstance(sign, ast.Add) and len(kinds) == 1 and kinds <= {list, str}
    is_vast = isinstance(sign, ast.Pow | ast.LShift) and not (numbers and 0 <= abs(values[-1]) < 64)
    if type(sign) not in ARITHMETIC or is_vast or not (numbers or is_sum or isinstance(sign, ast.Not)):
        raise UnresolvedError
    try:
        return ARITHMETIC[type(sign)](*values)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise UnresolvedError from error


def _files(root: Path, paths: Iterable[str]) -> Iterator[Path]:
    for place in dict.fromkeys(place for name in paths for place in sorted(root.glob(name))):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.suffix == ".py" and not _TESTS & set(path.relative_to(root).parts):
                yield path


def idle_tests(tree: ast.AST) -> dict[int, ast.If]:
    """Parts of conditions that only lead to an error or a message, with the statement."""
    return {
        id(part): node
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and node.body
        and not node.orelse
        and all(_is_message(item) for item in node.body)
        for part in ast.walk(node.test)
    }


def texts(node: ast.AST) -> list[str]:
    """The texts in an expression or statement."""
    return [text for part in ast.walk(node) if isinstance(part, ast.expr) and (text := as_text(part))]


def _is_message(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return True
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return isinstance(called, ast.Attribute) and tail(called.value) in {"logger", "logging", "warnings"}
