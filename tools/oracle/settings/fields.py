"""Fields of configuration classes: dataclasses, pydantic models, annotated records."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from tools.oracle.settings.source import (
    READERS,
    Mined,
    Module,
    Sources,
    as_literal,
    as_text,
    state_default,
    tail,
    type_of,
)

BOUNDS = {"ge": "low", "gt": "low", "le": "high", "lt": "high"}
_LISTS = {"list", "List", "tuple", "Tuple", "set", "Set", "Sequence", "frozenset"}
_OBJECTS = {"dict", "Dict", "Mapping", "MutableMapping"}
_WRAPPERS = {"Optional", "Annotated", "A", "ClassVar", "Required", "NotRequired", "SkipValidation", "Final"}
_MAKERS = {"field", "Field"}
_NONE = frozenset({"none"})


@dataclass(kw_only=True)
class Kind:
    """Values that an annotation allows.

    Attributes:
        type: One of ``kg.nouns.setting.VALUE_TYPES``.
        choices: Values that it lists.
        nested: Name of the configuration class that it is; empty if it is none.
        metadata: Calls inside ``Annotated``.
        of: Type of the items of a list.
        several: How many words a list takes on a command line, as argparse says it.
        parts: Types that a union names, ``"none"`` among them; the type alone where there is no union.
    """

    type: str = "any"
    choices: tuple[Any, ...] = ()
    nested: str = ""
    metadata: tuple[ast.Call, ...] = ()
    of: str = ""
    several: int | str = "+"
    parts: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class Field(Mined):
    """One field of a configuration class, as a setting under its own name.

    Attributes:
        kind: What it holds.
        module: Module that states it.
        init: It can be given from outside.
        metadata: The field's own metadata, as far as it is literal.
        alias: Name that it has in JSON, where that is another.
        successor: Name of the field that took its place, where it is deprecated.
        has_default: It can be left out.
    """

    kind: Kind
    module: Module
    init: bool = True
    metadata: ast.expr | None = None
    alias: str = ""
    successor: str = ""
    has_default: bool = True

    def as_setting(self, key: str, place: str) -> Mined:
        """The setting that it is in a place."""
        plain = {item.name: getattr(self, item.name) for item in fields(Mined)}
        kind = self.kind
        is_open = kind.type == "object" and not kind.nested
        return Mined(
            **plain
            | {"key": key, "place": place, "type": kind.type, "choices": kind.choices, "open": is_open}
        )


def fields_of(sources: Sources, name: str, module: Module | None = None, depth: int = 0) -> dict[str, Field]:
    """Fields of a class and of the classes it derives from, by name."""
    found = sources.class_named(name, module)
    if found is None or depth > 8:
        return {}
    owner, home = found
    known = _constructor(sources, owner, home)
    for base in owner.bases:
        above = _named(sources, base, home)
        if above not in {"", name, "object"}:
            known.update(fields_of(sources, above, home, depth + 1))
    for statement in owner.body:
        if isinstance(statement, ast.AnnAssign) and (item := _field(sources, statement, home)) is not None:
            known[item.key] = item
    return known


def _constructor(sources: Sources, owner: ast.ClassDef, module: Module) -> dict[str, Field]:
    """Parameters of a plain class's constructor, as fields."""
    made = next((item for item in owner.body if getattr(item, "name", "") == "__init__"), None)
    fielded = any(isinstance(item, ast.AnnAssign) for item in owner.body)
    if not isinstance(made, ast.FunctionDef) or fielded or "BaseModel" in map(tail, owner.bases):
        return {}
    if any(ast.unparse(node).startswith("self.update(") for node in made.body):  # with a mapping, by name
        return dict(_assigned(sources, made, module))
    return parameters(sources, made, module) if made.args.defaults or made.args.kwonlyargs else {}


def _assigned(sources: Sources, made: ast.FunctionDef, module: Module) -> Iterator[tuple[str, Field]]:
    """Attributes that a constructor sets on its object, as fields."""
    for node in made.body:
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], value):
                item = _shown(sources, name, ast.Constant(...), value, node.lineno, module)
                yield from () if item is None else ((name, item),)


def parameters(sources: Sources, function: ast.FunctionDef, module: Module) -> dict[str, Field]:
    """Parameters of a method, as fields."""
    spoken = function.args
    plain = [*spoken.posonlyargs, *spoken.args]
    given = [*[None] * (len(plain) - len(spoken.defaults)), *spoken.defaults]
    found: dict[str, Field] = {}
    for item, value in [
        *zip(plain, given, strict=True),
        *zip(spoken.kwonlyargs, spoken.kw_defaults, strict=True),
    ][1:]:
        annotation = item.annotation or ast.Constant(...)
        if (made := _shown(sources, item.arg, annotation, value, item.lineno, module)) is not None:
            found[made.key] = made
    return found


def _shown(
    sources: Sources, name: str, annotation: ast.expr, value: ast.expr | None, line: int, module: Module
) -> Field | None:
    """A field by its annotation, or else by the type of its default."""
    target = ast.Name(name, ast.Store())
    made = _field(sources, ast.AnnAssign(target, annotation, value, simple=1, lineno=line), module)
    if made is not None:
        if made.kind.type == "any" and not made.kind.parts and made.default is not None:
            made.kind = Kind(type=type_of(made.default))
        made.kind.nested = ""
    return made


def forbids(sources: Sources, name: str, *, by_keyword: bool) -> bool:
    """True if a configuration class refuses fields that it does not have.

    Args:
        sources: The modules.
        name: The class.
        by_keyword: It is made by its constructor, as a plain dataclass refuses them then; pydantic reads over
            them where the class does not forbid them.
    """
    found = sources.class_named(name)
    if found is None:
        return False
    owner, module = found
    said = [node for node in (*owner.decorator_list, *owner.body) if not isinstance(node, ast.FunctionDef)]
    if any("forbid" in ast.unparse(node) for node in said):
        return True
    makers = sources.having("def config(") if "config" in map(tail, owner.decorator_list) else ()
    bases = [tail(base) for base in owner.bases if tail(base) != name]
    if any('extra="forbid"' in item.text for item in makers) or any(
        forbids(sources, base, by_keyword=False) for base in bases
    ):
        return True
    pydantic = "from pydantic" in module.text and "BaseModel" in bases
    return by_keyword and not pydantic and "from pydantic.dataclasses import" not in module.text


def kind_of(sources: Sources, node: ast.expr | None, module: Module, depth: int = 0) -> Kind:
    """Values that an annotation allows."""
    if node is None or depth > 10:
        return Kind()
    inner = partial(kind_of, sources, module=module, depth=depth + 1)
    match node:
        case ast.Constant(None):
            return Kind(parts=_NONE)
        case ast.Constant(str(text)):
            try:
                return inner(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return Kind()
        case ast.BinOp(_, ast.BitOr()):
            return _union([inner(side) for side in _sides(node)])
        case ast.Subscript(owner, ast.Tuple(parts)):
            return _subscript(sources, node, module, inner, (tail(owner), parts))
        case ast.Subscript(owner, part):
            return _subscript(sources, node, module, inner, (tail(owner), [part]))
    name = _named(sources, node, module)
    if plain := READERS.get(name) or ("list" if name in _LISTS else "object" if name in _OBJECTS else ""):
        return Kind(type=plain)
    if (home := sources.class_named(name, module)) is not None:
        return _of_class(name, home[0])
    alias = sources.constant(name, module) if isinstance(node, ast.Name) else None
    return kind_of(sources, *alias, depth + 1) if alias is not None else Kind()


def _named(sources: Sources, node: ast.expr, module: Module) -> str:
    """The name of a class: whole of one inside another, else its last part."""
    whole = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return whole if whole and sources.class_named(whole, module) is not None else tail(node)


def _of_class(name: str, owner: ast.ClassDef) -> Kind:
    bases = {tail(base) for base in owner.bases}
    if any("Enum" in base for base in bases) or "IntFlag" in bases:
        members = [
            (key.id, statement.value)
            for statement in owner.body
            if isinstance(statement, ast.Assign)
            for key in statement.targets
            if isinstance(key, ast.Name) and not key.id.startswith("_")
        ]
        values = [str(value.value) for _, value in members if isinstance(value, ast.Constant)]
        choices = dict.fromkeys([*(key for key, _ in members), *(item for item in values if "." not in item)])
        return Kind(type="str", parts=frozenset({"enum", "str"}), choices=tuple(choices))
    held = {tail(base.value) for base in owner.bases if isinstance(base, ast.Subscript)}
    if "Protocol" in bases:
        return Kind()
    if (bases | held) & _OBJECTS:
        return Kind(type="object")
    is_record = any(isinstance(item, ast.AnnAssign) for item in owner.body) or bases
    return Kind(type="object", nested=name) if is_record else Kind()


def _subscript(
    sources: Sources,
    node: ast.Subscript,
    module: Module,
    inner: Callable[[ast.expr], Kind],
    said: tuple[str, list[ast.expr]],
) -> Kind:
    name, parts = said
    if name == "Literal":
        values = as_literal(sources, node, module)
        choices = tuple(dict.fromkeys(item for item in values or () if item is not None))
        kinds = {type(item).__name__ for item in choices}
        plain = len(kinds) == 1 and kinds <= {"bool", "int", "float", "str"}
        return Kind(type="str" if values is None else kinds.pop() if plain else "any", choices=choices)
    if name == "Union":
        return _union([inner(part) for part in parts])
    if name in _WRAPPERS:
        kind = inner(parts[0])
        calls = tuple(part for part in parts[1:] if isinstance(part, ast.Call))
        named = (kind.parts or frozenset({kind.type})) | (_NONE if name == "Optional" else frozenset())
        return replace(kind, metadata=calls, parts=named)
    if name in _LISTS:
        item = inner(parts[0])
        fixed = name.lower() == "tuple" and not any(
            isinstance(part, ast.Constant) and part.value is ... for part in parts
        )
        of = "str" if item.type == "any" and "str" in item.parts else item.type
        return Kind(type="list", choices=item.choices, of=of, several=len(parts) if fixed else "+")
    return Kind(type="object") if name in _OBJECTS else inner(node.value)


def _sides(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            yield from _sides(left)
            yield from _sides(right)
        case _:
            yield node


def _union(kinds: list[Kind]) -> Kind:
    stated = [kind for kind in kinds if kind.type != "any" or kind.nested]
    if not stated:
        return Kind(parts=frozenset(part for kind in kinds for part in kind.parts))
    nested = next((kind.nested for kind in stated if kind.nested), "")
    types = {kind.type for kind in stated}
    parts = frozenset(part for kind in kinds for part in (kind.parts or {kind.type}))
    metadata = tuple(call for kind in stated for call in kind.metadata)
    listing = next((kind for kind in stated if kind.type == "list"), Kind())
    if len(types) == 1:
        listed = all(kind.choices for kind in stated)
        choices = tuple(item for kind in stated for item in kind.choices) if listed else ()
        one = listing if listing.type == "list" else stated[0]
        return replace(one, choices=choices, nested=nested, metadata=metadata, parts=parts)
    if types == {"int", "float"}:
        return Kind(type="float", metadata=metadata, parts=parts)
    if nested or "object" in types:
        return Kind(nested=nested, metadata=metadata, parts=parts)
    return Kind(metadata=metadata, parts=parts, of=listing.of, several=listing.several)


def _field(sources: Sources, statement: ast.AnnAssign, module: Module) -> Field | None:
    name, value, annotation = tail(statement.target), statement.value, statement.annotation
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    if not name or name.startswith("_") or tail(outer) == "ClassVar" or tail(annotation) == "InitVar":
        return None
    if "tyro.conf.Suppress" in ast.unparse(annotation):
        return None
    kind = kind_of(sources, annotation, module)
    item = Field(key=name, place="", kind=kind, module=module, path=module.path, line=statement.lineno)
    made = value if isinstance(value, ast.Call) and tail(value.func) in _MAKERS else None
    for call in (*item.kind.metadata, *([made] if made is not None else ())):
        _qualify(sources, item, call, module)
    words = {word.arg: word.value for word in value.keywords} if isinstance(value, ast.Call) else {}
    maker = ast.unparse(words["default_factory"]) if "default_factory" in words else ""
    if item.kind.nested and sources.class_named(maker, module) is not None:
        item.kind.nested = maker
    item.has_default = value is not None and (
        made is None or bool(words.keys() & {"default", "default_factory"} or made.args)
    )
    if value is not None:
        state_default(sources, item, value, module)
    return item


def _qualify(sources: Sources, item: Field, call: ast.Call, module: Module) -> None:
    """Note at a field what the words of ``Field(...)`` say."""
    for word in call.keywords:
        value = as_literal(sources, word.value, module)
        match word.arg:
            case "ge" | "gt" | "le" | "lt" as sign if isinstance(value, int | float):
                step = {"gt": 1, "lt": -1}.get(sign, 0) if item.kind.type == "int" else 0
                setattr(item, BOUNDS[sign], float(value) + step)
            case "init" if isinstance(word.value, ast.Constant):
                item.init = bool(value)
            case "metadata":
                item.metadata = word.value
            case "alias":
                item.alias = as_text(word.value)
            case "json_schema_extra":
                item.successor = str((value or {}).get("new_param", ""))
