"""Functions of a program's sources by name, what they call, and which settings they set."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.oracle.settings.source import Mined, Module, Sources, as_text, tail
from tools.oracle.settings.symbols import OWNERS

HOOKS = frozenset({"run_hook", "run_post_process_pass"})
"""SGLang's functions that run one which they are given."""
_DEF = re.compile(r"^def (\w+)", re.MULTILINE)
_SETS = re.compile(r"declare_resolution|\bregister_\w+|\b(?:args|cfg|server_args|view|engine_args)\.\w+ = ")
"""Text of a module one of whose functions may set a setting."""


@dataclass(frozen=True, eq=False)
class SourceFunction:
    """A function or method, with where it stands."""

    node: ast.FunctionDef
    module: Module
    owner: ast.ClassDef | None = None


class FunctionIndex:
    """The functions of a program by name, and which settings each sets, itself or through others."""

    def __init__(self, sources: Sources, names: Mapping[str, Mined]) -> None:
        self.sources = sources
        self.names = names
        self.settled: frozenset[str] = frozenset()
        self._sets: dict[int, frozenset[str]] = {}
        self._modules: dict[str, list[Module]] = {}
        for module in sources.modules:
            for name in _DEF.findall(module.text):
                self._modules.setdefault(name, []).append(module)

    def named(self, name: str, near: SourceFunction | None = None) -> SourceFunction | None:
        """A function of a module, or the method of a class."""
        owner, _, method = name.rpartition(".")
        if owner:
            found = self.sources.class_named(owner, near.module if near else None)
            return self._method(*found, method) if found else None
        known = self._modules.get(name, [])
        module = near.module if near and near.module in known else known[0] if len(known) == 1 else None
        return next((item for item in _functions(module) if item.node.name == name), None) if module else None

    def _method(
        self, owner: ast.ClassDef, module: Module, name: str, depth: int = 0
    ) -> SourceFunction | None:
        for node in owner.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return SourceFunction(node, module, owner)
        for base in owner.bases if depth < 4 else ():
            above = self.sources.class_named(tail(base), module)
            if above and (found := self._method(*above, name, depth + 1)):
                return found
        return None

    def called(self, node: ast.Call, near: SourceFunction) -> SourceFunction | None:
        """The function that a call runs, as far as a reader can tell; of a class, what follows its making."""
        name, owner = tail(node.func), near.owner
        if name in HOOKS:
            return next((item for part in node.args if (item := self.named(tail(part), near))), None)
        if isinstance(node.func, ast.Attribute):
            inner = tail(node.func.value)
            if inner in OWNERS | {"cls"}:
                return self._method(owner, near.module, name) if owner is not None else None
            return self.named(f"{inner}.{name}", near) if inner[:1].isupper() else None
        return self.named(f"{name}.__post_init__" if name[:1].isupper() else name, near)

    def sets(self, function: SourceFunction, depth: int = 0) -> frozenset[str]:
        """Names of settings that a function sets, itself or through those that it calls."""
        mark = id(function.node)
        if mark not in self._sets and depth <= 12:
            self._sets[mark] = frozenset()
            names: set[str] = set()
            for node in ast.walk(function.node):
                names.update(set_by(node))
                if isinstance(node, ast.Call) and (inner := self.called(node, function)):
                    names |= self.sets(inner, depth + 1)
            self._sets[mark] = frozenset(names & self.names.keys())
        return self._sets.get(mark, frozenset())

    def set_apart(self) -> frozenset[str]:
        """Names that functions set which no call leads to: what a table of them makes of a model, say."""
        return frozenset(
            name
            for module in self.sources.modules
            if _SETS.search(module.text)
            for item in _functions(module)
            if id(item.node) not in self._sets
            for node in ast.walk(item.node)
            for name in set_by(node)
        )


def _functions(module: Module) -> Iterator[SourceFunction]:
    return (SourceFunction(node, module) for node in module.tree.body if isinstance(node, ast.FunctionDef))


def set_by(node: ast.AST) -> Iterator[str]:
    """Names of settings that a statement or a call sets."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute) and tail(target.value) in OWNERS:
                yield target.attr
            elif isinstance(target, ast.Name) and reads(node.value, target.id):
                yield target.id
    elif isinstance(node, ast.Call) and tail(node.func) == "declare_resolution":
        yield from (word.arg for word in node.keywords if word.arg)
    elif isinstance(node, ast.Call):
        for word in node.keywords:
            if word.arg and not isinstance(word.value, ast.Attribute) and reads(word.value, word.arg):
                yield word.arg  # a configuration made of the settings states a value of its own
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
        yield from (text for key in node.value.keys if (text := as_text(key)))


def reads(node: ast.expr, name: str) -> bool:
    """True if an expression reads a setting."""
    return any(
        isinstance(part, ast.Attribute) and part.attr == name and tail(part.value) in OWNERS
        for part in ast.walk(node)
    )
