"""Fields of configuration classes: dataclasses, pydantic models, annotated records."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.source import (
    READERS,
    Mined,
    UnresolvedError,
    as_literal,
    as_text,
    state_default,
    tail,
    type_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.oracle.settings.source import Module, Sources

BOUNDS = {"ge": "low", "gt": "low", "le": "high", "lt": "high"}
_LISTS = {"list", "List", "tuple", "Tuple", "set", "Set", "Sequence", "frozenset"}
_OBJECTS = {"dict", "Dict", "Mapping", "MutableMapping"}
_WRAPPERS = {"Optional", "Annotated", "A", "ClassVar", "Required", "NotRequired", "SkipValidation", "Final"}


@dataclass(kw_only=True)
class Kind:
    """What values an annotation allows.

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
class Field:
    """One field of a configuration class.

    Attributes:
        name: Its name.
        kind: What it holds.
        module: Module that states it.
        line: Line there.
        default: Default, where ``stated``.
        stated: The sources state the default as a value.
        low: Smallest value.
        high: Largest value.
        init: It can be given from outside.
        metadata: The field's own metadata, as far as it is literal.
        alias: Name that it has in JSON, where that is another.
        successor: Name of the field that took its place, where it is deprecated.
        has_default: It can be left out.
    """

    name: str
    kind: Kind
    module: Module
    line: int
    default: Any = None
    stated: bool = False
    low: float | None = None
    high: float | None = None
    init: bool = True
    metadata: ast.expr | None = None
    alias: str = ""
    successor: str = ""
    has_default: bool = True

    def as_setting(self, key: str, place: str) -> Mined:
        """The setting that it is in a place."""
        return Mined(
            key=key,
            place=place,
            path=self.module.path,
            line=self.line,
            type=self.kind.type,
            choices=self.kind.choices,
            low=self.low,
            high=self.high,
            default=self.default,
            stated=self.stated,
            open=self.kind.type == "object" and not self.kind.nested,
        )


def fields_of(sources: Sources, name: str, module: Module | None = None, depth: int = 0) -> dict[str, Field]:
    """Fields of a class and of the classes it derives from, by name."""
    found = sources.class_named(name, module)
    if found is None or depth > 8:
        return {}
    owner, home = found
    fields = _constructor(sources, owner, home)
    for base in owner.bases:
        above = _named(sources, base, home)
        if above not in {"", name, "object"}:
            fields.update(fields_of(sources, above, home, depth + 1))
    for statement in owner.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            item = _field(sources, statement, home)
            if item is not None:
                fields[item.name] = item
    return fields


def _constructor(sources: Sources, owner: ast.ClassDef, module: Module) -> dict[str, Field]:
    """What the constructor of a plain class takes, as fields."""
    made = next((item for item in owner.body if getattr(item, "name", "") == "__init__"), None)
    fielded = any(isinstance(item, ast.AnnAssign) for item in owner.body)
    if not isinstance(made, ast.FunctionDef) or fielded or "BaseModel" in map(tail, owner.bases):
        return {}
    return parameters(sources, made, module) if made.args.defaults or made.args.kwonlyargs else {}


def parameters(sources: Sources, function: ast.FunctionDef, module: Module) -> dict[str, Field]:
    """What a method takes, as fields."""
    spoken = function.args
    plain = [*spoken.posonlyargs, *spoken.args]
    given = [*[None] * (len(plain) - len(spoken.defaults)), *spoken.defaults]
    pairs = [*zip(plain, given, strict=True), *zip(spoken.kwonlyargs, spoken.kw_defaults, strict=True)][1:]
    statements = (
        ast.AnnAssign(
            target=ast.Name(id=item.arg, ctx=ast.Store(), lineno=item.lineno),
            annotation=item.annotation or ast.Constant(...),
            value=value,
            simple=1,
            lineno=item.lineno,
        )
        for item, value in pairs
    )
    found = [item for statement in statements if (item := _field(sources, statement, module)) is not None]
    for item in found:
        if item.kind.type == "any" and not item.kind.parts and item.default is not None:
            item.kind = Kind(type=type_of(item.default))
        item.kind.nested = ""
    return {item.name: item for item in found}


def forbids(sources: Sources, name: str, *, by_keyword: bool) -> bool:
    """Whether a configuration class refuses fields that it does not have.

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
    said = " ".join(
        ast.unparse(node)
        for node in (*owner.decorator_list, *owner.body)
        if not isinstance(node, ast.FunctionDef)
    )
    if "forbid" in said:
        return True
    if any(tail(node) == "config" for node in owner.decorator_list):
        makers = (item.text for item in sources.having("def config("))
        if any('extra="forbid"' in text for text in makers):
            return True
    if any(forbids(sources, tail(base), by_keyword=False) for base in owner.bases if tail(base) != name):
        return True
    pydantic = "from pydantic" in module.text and "BaseModel" in {tail(base) for base in owner.bases}
    return by_keyword and not pydantic and "from pydantic.dataclasses import" not in module.text


def kind_of(sources: Sources, node: ast.expr | None, module: Module, depth: int = 0) -> Kind:
    """What values an annotation allows."""
    if node is None or depth > 10:
        return Kind()
    if isinstance(node, ast.Constant) and node.value is None:
        return Kind(parts=frozenset({"none"}))
    if isinstance(node, ast.Constant):
        return _quoted(sources, node, module, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union([kind_of(sources, side, module, depth + 1) for side in _sides(node)])
    if isinstance(node, ast.Subscript):
        return _subscript(sources, node, module, depth)
    name = _named(sources, node, module)
    if name in READERS:
        return Kind(type=READERS[name])
    if name in _LISTS:
        return Kind(type="list")
    if name in _OBJECTS:
        return Kind(type="object")
    owner = sources.class_named(name, module)
    if owner is not None:
        return _of_class(name, owner[0])
    if isinstance(node, ast.Name) and (alias := sources.constant(name, module)) is not None:
        return kind_of(sources, *alias, depth + 1)
    return Kind()


def _named(sources: Sources, node: ast.expr, module: Module) -> str:
    """The name of a class: whole of one inside another, else its last part."""
    whole = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return whole if whole and sources.class_named(whole, module) is not None else tail(node)


def _of_class(name: str, owner: ast.ClassDef) -> Kind:
    bases = {tail(base) for base in owner.bases}
    if bases & {"Enum", "IntEnum", "StrEnum", "IntFlag", "CaseInsensitiveEnum"} or any(
        "Enum" in base for base in bases
    ):
        members = [
            (key.id, statement.value)
            for statement in owner.body
            if isinstance(statement, ast.Assign)
            for key in statement.targets
            if isinstance(key, ast.Name) and not key.id.startswith("_")
        ]
        values = [value.value for _, value in members if isinstance(value, ast.Constant)]
        names = [key for key, _ in members]
        return Kind(
            type="str",
            parts=frozenset({"enum", "str"}),
            choices=tuple(dict.fromkeys([*names, *(str(item) for item in values if "." not in str(item))])),
        )
    if "Protocol" in bases:
        return Kind()
    if bases & _OBJECTS or any(
        isinstance(base, ast.Subscript) and tail(base.value) in _OBJECTS for base in owner.bases
    ):
        return Kind(type="object")
    if any(isinstance(item, ast.AnnAssign) for item in owner.body) or bases:
        return Kind(type="object", nested=name)
    return Kind()


def _quoted(sources: Sources, node: ast.Constant, module: Module, depth: int) -> Kind:
    if not isinstance(node.value, str):
        return Kind()
    try:
        return kind_of(sources, ast.parse(node.value, mode="eval").body, module, depth + 1)
    except SyntaxError:
        return Kind()


def _subscript(sources: Sources, node: ast.Subscript, module: Module, depth: int) -> Kind:
    name = tail(node.value)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        try:
            choices = tuple(dict.fromkeys(item for item in sources.value(node, module) if item is not None))
        except UnresolvedError:
            return Kind(type="str")
        return Kind(type=_type_of(choices), choices=choices)
    if name == "Union":
        return _union([kind_of(sources, part, module, depth + 1) for part in parts])
    if name in _WRAPPERS:
        kind = kind_of(sources, parts[0], module, depth + 1)
        none = frozenset({"none"} if name == "Optional" else ())
        calls = tuple(part for part in parts[1:] if isinstance(part, ast.Call))
        return replace(kind, metadata=calls, parts=(kind.parts or frozenset({kind.type})) | none)
    if name in _LISTS:
        inner = kind_of(sources, parts[0], module, depth + 1)
        fixed = name.lower() == "tuple" and not any(
            isinstance(part, ast.Constant) and part.value is ... for part in parts
        )
        of = "str" if inner.type == "any" and "str" in inner.parts else inner.type
        return Kind(type="list", choices=inner.choices, of=of, several=len(parts) if fixed else "+")
    if name in _OBJECTS:
        return Kind(type="object")
    return kind_of(sources, node.value, module, depth + 1)


def _sides(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _sides(node.left)
        yield from _sides(node.right)
    else:
        yield node


def _union(kinds: list[Kind]) -> Kind:
    stated = [kind for kind in kinds if kind.type != "any" or kind.nested]
    if not stated:
        return Kind(parts=frozenset(part for kind in kinds for part in kind.parts))
    nested = next((kind.nested for kind in stated if kind.nested), "")
    types = {kind.type for kind in stated}
    parts = frozenset(part for kind in kinds for part in (kind.parts or {kind.type}))
    metadata = tuple(call for kind in stated for call in kind.metadata)
    if len(types) == 1:
        listed = all(kind.choices for kind in stated)
        choices = tuple(item for kind in stated for item in kind.choices) if listed else ()
        one = next((kind for kind in stated if kind.type == "list"), stated[0])
        return replace(one, choices=choices, nested=nested, metadata=metadata, parts=parts)
    if types == {"int", "float"}:
        return Kind(type="float", metadata=metadata, parts=parts)
    if nested or "object" in types:
        kind = "object" if types <= {"object"} else "any"
        return Kind(type=kind, nested=nested, metadata=metadata, parts=parts)
    listing = next((kind for kind in stated if kind.type == "list"), Kind())
    return Kind(metadata=metadata, parts=parts, of=listing.of, several=listing.several)


def _type_of(choices: tuple[Any, ...]) -> str:
    kinds = {type(item).__name__ for item in choices}
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {"bool", "int", "float", "str"} else "any"


def _field(sources: Sources, statement: ast.AnnAssign, module: Module) -> Field | None:
    name = statement.target.id if isinstance(statement.target, ast.Name) else ""
    annotation = statement.annotation
    if name.startswith("_") or (
        isinstance(annotation, ast.Subscript) and tail(annotation.value) == "ClassVar"
    ):
        return None
    if tail(annotation) in {"InitVar", "ClassVar"} or "tyro.conf.Suppress" in ast.unparse(annotation):
        return None
    item = Field(name=name, kind=kind_of(sources, annotation, module), module=module, line=statement.lineno)
    value = statement.value
    calls = list(item.kind.metadata)
    if isinstance(value, ast.Call) and tail(value.func) in {"field", "Field"}:
        calls.append(value)
    for call in calls:
        _qualify(sources, item, call, module)
    words = {word.arg: word.value for word in value.keywords} if isinstance(value, ast.Call) else {}
    made_of = ast.unparse(words["default_factory"]) if "default_factory" in words else ""
    if item.kind.nested and sources.class_named(made_of, module) is not None:
        item.kind.nested = made_of
    made = isinstance(value, ast.Call) and tail(value.func) in {"field", "Field"}
    item.has_default = value is not None and (
        not made
        or bool(words.keys() & {"default", "default_factory"} or (isinstance(value, ast.Call) and value.args))
    )
    if value is not None:
        state_default(sources, item, value, module)
    return item


def _qualify(sources: Sources, item: Field, call: ast.Call, module: Module) -> None:
    for word in call.keywords:
        if word.arg in BOUNDS:
            try:
                bound = float(sources.value(word.value, module))
            except (UnresolvedError, TypeError, ValueError):
                continue
            if word.arg in {"gt", "lt"} and item.kind.type == "int":
                bound += 1 if word.arg == "gt" else -1
            setattr(item, BOUNDS[word.arg], bound)
        elif word.arg == "init" and isinstance(word.value, ast.Constant):
            item.init = bool(word.value.value)
        elif word.arg == "metadata":
            item.metadata = word.value
        elif word.arg == "alias":
            item.alias = as_text(word.value)
        elif word.arg == "json_schema_extra":
            item.successor = str((as_literal(sources, word.value, module) or {}).get("new_param", ""))
