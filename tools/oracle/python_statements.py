"""Statements of Python sources that write errors and logs: their text as a template with named values.

Read by ``ast``; nothing is imported or run. A template is text with ``{name}`` where a value is put in.
"""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

RAISED = "raise"
"""Level of what is raised or asserted: the last line of a traceback shows it."""
MOST_DEPTH = 20
"""Texts within texts that are followed."""
_LEVELS = {
    "warning": "warning", "warn": "warning", "warning_once": "warning", "warn_once": "warning",
    "warning_rank0": "warning", "warn_rank_0": "warning", "warning_rank0_once": "warning",
    "error": "error", "error_once": "error", "exception": "error", "critical": "critical", "fatal": "fatal",
    "info": "info", "info_once": "info", "info_rank0": "info", "log_dist": "info", "print_rank_0": "info",
}  # fmt: skip
_LOGGERS = re.compile(r"(?i)log(?:ger|ging)?\d?$|^warnings$|^_?logger|^log_|^print_rank_0$|^warn_rank_0$")
_SPEC = re.compile(r"%(?:\((\w+)\))?[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlLzjt]*([diouxXeEfFgGcrsap%])")
_WRAPPERS = frozenset({"str", "int", "float", "round", "abs", "max", "min", "sum", "repr", "dedent", "strip"})
_VAGUE = frozenset({"shape", "value", "name", "dtype", "size", "device", "type", "rank", "item", "tolist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement of a source that writes an error or a log line.

    Attributes:
        level: ``raise``, ``fatal``, ``critical``, ``error``, ``warning`` or ``info``.
        where: Exception that it raises, or module that it stands in.
        template: Its text, with ``{name}`` for each value.
    """

    level: str
    where: str
    template: str


def slot(name: str) -> str:
    """A value's place in a template."""
    return "{" + (re.sub(r"\W+", "_", name).strip("_").lower() or "value") + "}"


def literal(text: str) -> str:
    """Text as it stands in a template: braces are written twice."""
    return text.replace("{", "{{").replace("}", "}}")


def percent_template(text: str, names: list[str] | dict[str, str]) -> str:
    """The template of a text with printf's places, such as ``"%d of %s"``, and the names of its values."""
    parts: list[str] = []
    end = place = 0
    for found in _SPEC.finditer(text):
        parts.append(literal(text[end : found.start()]))
        end = found.end()
        if found[2] == "%":
            parts.append("%")
        elif isinstance(names, dict):
            parts.append(slot(names.get(found[1] or "", found[1] or "value")))
        else:
            parts.append(slot(names[place] if place < len(names) else "value"))
            place += 1
    return "".join(parts) + literal(text[end:])


def python_statements(source: str, module: str) -> Iterator[Statement]:
    """The statements of a module that write errors and logs.

    Args:
        source: Text of the module.
        module: Its name, for statements of loggers.

    Raises:
        SyntaxError: It is no Python of this interpreter.
    """
    yield from _Reader(module).read(ast.parse(source))


class _Reader:
    """Walks a module in the order of its lines, with what names stand for so far."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._texts: dict[str, ast.expr] = {}

    def read(self, tree: ast.AST) -> Iterator[Statement]:
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                outer = dict(self._texts)
                yield from self.read(node)
                self._texts = outer
                continue
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value)
            yield from self._statement(node)
            yield from self.read(node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
                self._texts[target.id] = value
            else:
                self._texts.pop(target.id, None)

    def _statement(self, node: ast.AST) -> Iterator[Statement]:
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            where = _name(node.exc.func)
            yield from self._written(RAISED, where, node.exc.args[0], [])
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield from self._written(RAISED, "AssertionError", node.msg, [])
        elif isinstance(node, ast.Call) and node.args:
            level, message, rest = _logged(node)
            if level:
                yield from self._written(level, self._module, message, rest)

    def _written(
        self, level: str, where: str, message: ast.expr, rest: list[ast.expr]
    ) -> Iterator[Statement]:
        choices = [message.body, message.orelse] if isinstance(message, ast.IfExp) else [message]
        for choice in choices:
            if rest:
                text = self._constant(choice)
                template = None if text is None else percent_template(text, [_name(item) for item in rest])
            else:
                template = self._template(choice)
            if template:
                yield Statement(level=level, where=where, template=template)

    def _constant(self, node: ast.expr, depth: int = 0) -> str | None:
        """Text of an expression that is text alone; a name that holds itself is none."""
        if isinstance(node, ast.Name):
            node = self._texts.get(node.id, node)
        if depth > MOST_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._constant(node.left, depth + 1), self._constant(node.right, depth + 1)
            return None if left is None or right is None else left + right
        return None

    def _template(self, node: ast.expr, depth: int = 0) -> str | None:
        """The template of an expression that makes text; None for any other."""
        if depth > MOST_DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return literal(node.value) if isinstance(node.value, str) else None
        if isinstance(node, ast.JoinedStr):
            return "".join(self._part(part, depth) for part in node.values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [self._template(side, depth + 1) for side in (node.left, node.right)]
            if sides == [None, None]:
                return None
            return "".join(
                text if text is not None else slot(_name(side))
                for text, side in zip(sides, (node.left, node.right), strict=True)
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            text = self._constant(node.left)
            return None if text is None else percent_template(text, _values(node.right))
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        if isinstance(node, ast.Name) and node.id in self._texts:
            known = self._texts.pop(node.id)  # a name that holds itself ends here
            found = self._template(known, depth + 1)
            self._texts[node.id] = known
            return found
        return None

    def _part(self, part: ast.expr, depth: int) -> str:
        if isinstance(part, ast.FormattedValue):
            held = self._template(part.value, depth + 1) if isinstance(part.value, ast.Name) else None
            return slot(_name(part.value)) if held is None else held
        return self._template(part, depth + 1) or ""

    def _called(self, node: ast.Call, depth: int) -> str | None:
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "format":
                text = self._constant(node.func.value)
                return None if text is None else _format_template(text, node)
            if node.func.attr in {"strip", "rstrip", "lstrip"}:
                return self._template(node.func.value, depth + 1)
        if _name(node.func) in {"dedent", "cleandoc", "_", "str"} and node.args:
            return self._template(node.args[0], depth + 1)
        return None


def _logged(node: ast.Call) -> tuple[str, ast.expr, list[ast.expr]]:
    """Level, message and values of a call that logs; an empty level for any other."""
    none: tuple[str, ast.expr, list[ast.expr]] = ("", node, [])
    if isinstance(node.func, ast.Attribute):
        owner = _name(node.func.value)
        method = node.func.attr
        if owner.endswith("parser") and method == "error":
            return RAISED, node.args[0], []
        if owner in {"log", "logger", "logging"} and method == "log" and len(node.args) > 1:
            return _LEVELS.get(_name(node.args[0]).lower(), ""), node.args[1], node.args[2:]
        if method not in _LEVELS or not _LOGGERS.search(owner):
            return none
        rest = [] if owner == "warnings" or method in {"info_once", "log_dist"} else node.args[1:]
        return _LEVELS[method], node.args[0], [item for item in rest if not isinstance(item, ast.Starred)]
    name = _name(node.func)
    if name == "log_single_rank" and len(node.args) > 2:
        return _LEVELS.get(_name(node.args[1]).lower(), ""), node.args[2], node.args[3:]
    if name in {
        "log_dist",
        "print_rank_0",
        "warn_rank_0",
        "warn",
        "warn_once",
        "warning_once",
        "log_info_on_rank0",
    }:
        place = 1 if name == "log_info_on_rank0" and len(node.args) > 1 else 0
        return _LEVELS.get(name, "info"), node.args[place], []
    return none


def _values(node: ast.expr) -> list[str] | dict[str, str]:
    """Names of what stands right of a percent sign."""
    if isinstance(node, ast.Tuple):
        return [_name(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else "" for key in node.keys]
        return {str(key): _name(value) for key, value in zip(keys, node.values, strict=True)}
    return [_name(node)]


def _format_template(text: str, call: ast.Call) -> str:
    named = {item.arg: _name(item.value) for item in call.keywords if item.arg}
    place = 0
    parts: list[str] = []
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return literal(text)
    for before, field, _, _ in fields:
        parts.append(literal(before))
        if field is None:
            continue
        key = re.split(r"[.\[]", field)[0]
        if not key or key.isdigit():
            number = int(key) if key else place
            place += 1
            parts.append(slot(_name(call.args[number]) if number < len(call.args) else "value"))
        else:
            parts.append(slot(named.get(key, key)))
    return "".join(parts)


def _name(node: ast.expr) -> str:
    """A short name of an expression's value: the last name in it that says something."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_name(value)}_{name}" if name in _VAGUE and isinstance(value, ast.Name) else name
        case ast.Subscript(value=value, slice=key):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return key.value
            return _name(value)
        case ast.Call(func=function, args=values):
            name = _name(function)
            if name == "len" and values:
                return f"num_{_name(values[0])}"
            is_form = name in _WRAPPERS or "format" in name or "human" in name or name.startswith("to_")
            if values and (is_form or _is_form_of_one(node)):
                return _name(values[0])
            return name
        case ast.BinOp(left=left, right=right):
            return _name(right) if isinstance(left, ast.Constant) else _name(left)
        case ast.UnaryOp(operand=inner) | ast.IfExp(body=inner) | ast.Await(value=inner):
            return _name(inner)
        case ast.BoolOp(values=[first, *_]) | ast.Compare(left=first):
            return _name(first)
    return "value"


def _is_form_of_one(node: ast.Call) -> bool:
    """True if a call writes one value in another form, such as ``gib(free_memory)``."""
    return (
        isinstance(node.func, ast.Name)
        and not node.func.id.startswith(("get", "_get", "count", "find"))
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name | ast.Attribute)
    )
