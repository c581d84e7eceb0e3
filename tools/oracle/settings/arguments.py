"""Flags of argument parsers: calls of ``add_argument``, and parsers made from configuration classes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tools.oracle.settings.class_flags import group_flags, of_field, readable_numbers
from tools.oracle.settings.fields import Field, fields_of
from tools.oracle.settings.source import Mined, Module, Sources, as_text, scopes, tail
from tools.oracle.settings.types import apply_words

_ADDS_CHOICE = "add_parser_argument_choices_value"
Overrides: TypeAlias = "dict[str, dict[str, ast.expr]]"
"""Words by field, where code sets them after the flag is made of its class: ``kwargs["x"]["type"] = f``."""


def flags(sources: Sources, entry: str = "") -> Iterator[Mined]:
    """Every flag that modules add to a parser; of a flag of another program, the choices that they add.

    Args:
        sources: The modules.
        entry: Function whose flags are wanted, with those of the helpers that it calls; empty takes all.
    """
    wanted = _helpers(sources, entry) if entry else frozenset()
    added: dict[str, list[str]] = {}
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
            parser = _Parser(sources, module, owner, _maps(scope), overrides, numbers)
            for call in _calls(scope):
                match call:
                    case ast.Call(ast.Name("ArgumentGroupFactory")):
                        found.extend(group_flags(sources, call, module))
                    case ast.Call(function, [_, key, value]) if tail(function) == _ADDS_CHOICE:
                        added.setdefault(as_text(key), []).append(as_text(value))
                        places[as_text(key)] = (module.path, call.lineno)
                    case ast.Call(
                        ast.Attribute(_, "add_argument") | ast.Attribute(ast.Name("click"), "option")
                    ):
                        found.extend(parser.flags(call))
    for item in found:
        more = [choice for name in (item.key, *item.aliases) for choice in added.pop(name, ())]
        if item.choices and more:
            item.choices = (*item.choices, *(choice for choice in more if choice not in item.choices))
    yield from found
    for name, values in added.items():
        path, line = places[name]
        yield Mined(key=name, place="flag", path=path, line=line, choices=tuple(dict.fromkeys(values)))


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
        called = {tail(call.func) for call in _calls(scope)} if scope else set()
        waiting += (new := called & functions.keys() - found)
        found |= new
    return frozenset(found)


def _calls(scope: ast.AST) -> Iterator[ast.Call]:
    return (node for node in _inside(scope) if isinstance(node, ast.Call))


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from _inside(child)


def _maps(scope: ast.AST) -> dict[str, ast.expr]:
    """Values that names are set to; under ``get_kwargs``, a call of that function."""
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
        match node:
            case ast.Assign(targets) | ast.Delete(targets):
                value = node.value if isinstance(node, ast.Assign) else ast.Constant(1)
                for target in targets:
                    match target:
                        case ast.Subscript(ast.Subscript(_, field), word) if as_text(word):
                            found.setdefault(as_text(field), {})[as_text(word)] = value
                        case ast.Subscript(owner, word) if as_text(word):
                            found.setdefault(fields.get(tail(owner), ""), {})[as_text(word)] = value
            case ast.Call(ast.Attribute(ast.Subscript(ast.Subscript(_, field)), "remove"), [value, *_]):
                found.setdefault(as_text(field), {})["remove"] = value  # kwargs["x"]["choices"].remove(y)
    return found


@dataclass(frozen=True, slots=True)
class _Parser:
    """The context of one function that adds flags.

    Attributes:
        sources: All modules.
        module: Where it stands.
        owner: Its class.
        maps: What its names are set to.
        overrides: Words set after a flag is made of its class.
        numbers: Fields whose numbers may end in a letter.
    """

    sources: Sources
    module: Module
    owner: ast.ClassDef | None
    maps: dict[str, ast.expr]
    overrides: Overrides
    numbers: dict[str, bool]

    def flags(self, call: ast.Call) -> Iterator[Mined]:
        """The flags of one call."""
        if any(isinstance(item, ast.JoinedStr) for item in call.args):
            yield from map(self._made, self._loop())
            return
        names = [text for item in call.args if (text := as_text(item)).startswith("-")]
        if not names:
            return
        spread = next((word.value for word in call.keywords if word.arg is None), None)
        field = self._field(spread) if spread is not None else None
        long = next((name for name in names if name.startswith("--")), names[0])
        item = self._made(field, long) if field else Mined(key=long, place="flag", path="", stated=True)
        item.path, item.line = self.module.path, call.lineno
        item.aliases = tuple(name for name in names if name != long)
        words = {word.arg: word.value for word in call.keywords if word.arg}
        if isinstance(spread, ast.Dict):  # **{**kwargs["x"], "default": None}
            inside = zip(spread.keys, spread.values, strict=True)
            words |= {text: value for key, value in inside if key is not None and (text := as_text(key))}
        apply_words(self.sources, item, words, self.module)
        if item.type == "bool" and item.negation:
            item.negation = long.replace("--", "--no-", 1)
        yield item

    def _made(self, field: Field, key: str = "") -> Mined:
        item = of_field(field, key)
        if field.key in self.numbers and item.type == "int":
            item.scaled = True
            item.words = (*item.words, *(("auto",) if self.numbers[field.key] else ()))
        apply_words(self.sources, item, self.overrides.get(field.key, {}), field.module)
        return item

    def _loop(self) -> Iterator[Field]:
        """Fields of which flags are made in a loop over a class: itself, or one that derives from it."""
        if "get_kwargs" in self.maps and self.owner is not None:
            name = self.owner.name
            heirs = [key for key, item in self.module.classes.items() if name in map(tail, item.bases)]
            for heir in heirs or [name]:
                yield from fields_of(self.sources, heir, self.module).values()

    def _field(self, node: ast.expr, depth: int = 0) -> Field | None:
        """The field that ``**kwargs["name"]`` stands for, where ``kwargs = get_kwargs(Class)``."""
        match node:
            case ast.Name(name) if name in self.maps and depth < 5:
                return self._field(self.maps[name], depth + 1)
            case ast.Dict(keys, values):
                spread = [value for key, value in zip(keys, values, strict=True) if key is None]
                return self._field(spread[0], depth + 1) if spread else None
            case ast.Subscript(source, key):
                source = self.maps.get(tail(source), source)
                if isinstance(source, ast.Call) and tail(source.func) == "get_kwargs" and source.args:
                    name = tail(source.args[0])
                    name = self.owner.name if name == "cls" and self.owner is not None else name
                    return fields_of(self.sources, name).get(as_text(key))
        return None
