"""Edits of an engine that a program in Python makes: keyword arguments, each in its place.

The proof: the program parses, every engine has the arguments and variables that it had but for the edit, and
all other code is as it was.
"""

import ast
import itertools
from collections.abc import Mapping

from ingest.door.values import parse_value
from ingest.questions.launches.engine_calls import EngineCall, read_calls, set_variables
from ingest.questions.launches.script import UNKNOWN
from ingest.questions.patches.shell_editor import (
    COMPUTED,
    ELSEWHERE,
    SettingEdit,
    merged_fields,
    without_field,
)


class CallEditor:
    """Edits the arguments of one call."""

    def __init__(self, text: str, number: int) -> None:
        self.text = text
        self.number = number
        self.edits = 0

    @property
    def commands(self) -> int:
        """Number of calls that are read again."""
        return sum(1 for _ in read_calls(self.text))

    @property
    def call(self) -> EngineCall:
        """The call."""
        return [*read_calls(self.text)][self.number]

    def make(self, edit: SettingEdit) -> str:
        """Make an edit; why it could not be made, or an empty text."""
        name = edit.plain
        if edit.is_flag and name in self.call.beside:
            return ELSEWHERE
        if edit.fields is not None:
            before = self.call.values.get(name, {})
            if not isinstance(before, dict):
                return "its value is no plain dictionary in the program"
            return self._set(name, merged_fields(before, edit.fields))
        if edit.words is None:
            return self._without(name) if edit.is_flag else self._without_variable(edit.name)
        if not edit.is_flag:
            return self._set_variable(edit.name, edit.words[0])
        values = [_value(word) for word in edit.words]
        if not values:
            return self._set(name.removeprefix("no_"), not name.startswith("no_"))
        return self._set(name, values[0] if len(values) == 1 else values)

    def _set(self, name: str, value: object) -> str:
        call = self.call
        if name in call.values and call.values[name] == value:
            return ""
        if UNKNOWN in str(call.values.get(name, "")):
            return COMPUTED
        if name in call.arguments:
            start, end = self._span(call.arguments[name])
            text = self.text[:start] + _written(value) + self.text[end:]
        else:
            text = self._with_argument(call, name, value)
        return self._keep(text, {**call.values, name: value}, dict(call.environment))

    def _with_argument(self, call: EngineCall, name: str, value: object) -> str:
        """The text with an argument behind the last one, or in the dictionary that holds the rest."""
        holder = call.node if call.holder is None else call.holder
        written = (
            f"{name!r}: {_written(value)}" if isinstance(holder, ast.Dict) else f"{name}={_written(value)}"
        )
        inner = [one for one in ast.iter_child_nodes(holder) if one is not getattr(holder, "func", None)]
        if not inner:
            end = self._span(holder)[1] - 1
            return self.text[:end] + written + self.text[end:]
        start, end = max(map(self._span, inner))
        line = self.text.rfind("\n", 0, start) + 1
        lead = self.text[line : len(self.text) - len(self.text[line:].lstrip())]
        joint = f",\n{lead}" if line > self._span(holder)[0] else ", "
        return self.text[:end] + joint + written + self.text[end:]

    def _without(self, plain: str) -> str:
        call = self.call
        carrier, dot, rest = plain.partition(".")
        held = call.values.get(carrier)
        if dot and isinstance(held, dict):
            left = without_field(held, rest)
            return self._set(carrier, left) if left else self._without(carrier)
        if plain not in call.arguments:
            return ""
        node = call.arguments[plain]
        start, end = self._span(node)
        start = self._start_of(call, plain, start)
        while self.text[end : end + 1] in {" ", ","}:
            end += 1
        if self.text[end : end + 1] in {")", "}"}:
            start = len(self.text[:start].rstrip(" ").removesuffix(","))
        line = self.text.rfind("\n", 0, start) + 1
        if not self.text[line:start].strip() and self.text[end : end + 1] == "\n":
            start, end = line, end + 1
        left = {one: value for one, value in call.values.items() if one != plain}
        return self._keep(self.text[:start] + self.text[end:], left, dict(call.environment))

    def _start_of(self, call: EngineCall, name: str, start: int) -> int:
        """The beginning of an argument with its name."""
        holder = call.holder
        if isinstance(holder, ast.Dict) and call.arguments[name] in holder.values:
            key = holder.keys[holder.values.index(call.arguments[name])]
            return start if key is None else self._span(key)[0]
        keywords = [*call.node.keywords, *(holder.keywords if isinstance(holder, ast.Call) else ())]
        own = next((one for one in keywords if one.value is call.arguments[name]), None)
        return start if own is None else self._span(own)[0]

    def _set_variable(self, name: str, value: str) -> str:
        call = self.call
        if call.environment.get(name) == value:
            return ""
        tree = ast.parse(self.text)
        held = [node for one, _, node in set_variables(ast.walk(tree)) if one == name]
        if held:
            start, end = self._span(held[-1].value)
            text = self.text[:start] + _written(value) + self.text[end:]
        else:
            text = self._with_variable(tree, name, value)
        return self._keep(text, call.values, {**call.environment, name: value})

    def _with_variable(self, tree: ast.Module, name: str, value: str) -> str:
        """The text with a variable set before anything else is imported that may read it."""
        line = f"os.environ[{_written(name)}] = {_written(value)}\n"
        packages = {module.partition(".")[0] for module in self.call.signs.calls}
        head = [*itertools.takewhile(lambda node: not packages & _imported(node), tree.body)]
        held = [node for _, _, node in set_variables(ast.walk(tree)) if node in head]
        own = next((node for node in head if _is_os(node) and node.lineno == node.end_lineno), None)
        own = held[-1] if held else own
        if own is not None:
            place = self.text.find("\n", self._span(own)[1]) + 1 or len(self.text)
            return self.text[:place] + line + self.text[place:]
        first = next((node for node in tree.body if not _is_head(node)), None)
        place = 0 if first is None else self._span(first)[0]
        return f"{self.text[:place]}import os\n\n{line}\n{self.text[place:]}"

    def _without_variable(self, name: str) -> str:
        call = self.call
        held = [node for one, _, node in set_variables(ast.walk(ast.parse(self.text))) if one == name]
        if not held:
            return ""
        if len(held) > 1:
            return ELSEWHERE
        start, end = self._span(held[0])
        line = self.text.rfind("\n", 0, start) + 1
        text = self.text[:line] + self.text[end:].lstrip(" ").removeprefix("\n")
        left = {one: value for one, value in call.environment.items() if one != name}
        return self._keep(text, call.values, left)

    def _keep(self, text: str, values: Mapping[str, object], environment: Mapping[str, str]) -> str:
        """Keep a text if it reads as what is wanted; why it does not, or an empty text."""
        before, after = [*read_calls(self.text)], [*read_calls(text)]
        if len(before) != len(after) or _rest(self.text) != _rest(text):
            return ELSEWHERE
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            wanted = values if number == self.number else old.values
            if dict(new.values) != dict(wanted) or dict(new.environment) != dict(environment):
                return ELSEWHERE
        self.text = text
        self.edits += 1
        return ""

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """The beginning and the end of a node in the text."""
        lines = self.text.split("\n")

        def offset(line: int, column: int) -> int:
            return sum(len(one) + 1 for one in lines[: line - 1]) + len(
                lines[line - 1].encode()[:column].decode()
            )

        if not isinstance(node, ast.expr | ast.stmt | ast.keyword) or node.end_lineno is None:
            return 0, 0
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset or 0)


def _imported(node: ast.stmt) -> set[str]:
    """The packages that a statement imports from."""
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return {name.partition(".")[0] for name in names}


def _is_head(node: ast.stmt) -> bool:
    """True if a statement must stay first: a docstring, or an import from the future."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _rest(text: str) -> str:
    """The code of a program without its engines' arguments, its variables, and the import that those need."""
    calls = [node for call in read_calls(text) for node in (call.node, call.holder) if node is not None]
    edited = {(node.lineno, node.col_offset) for node in calls}
    tree = ast.parse(text)
    variables = [node for _, _, node in set_variables(ast.walk(tree))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) in edited:
            node.args, node.keywords = [], []
        elif isinstance(node, ast.Dict) and (node.lineno, node.col_offset) in edited:
            node.keys, node.values = [], []
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [one for one in body if one not in variables and not _is_os(one)]
    return ast.dump(tree)


def _is_os(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) and [one.name for one in node.names] == ["os"]


def _written(value: object) -> str:
    """A value as code."""
    is_plain = isinstance(value, str) and value.isprintable() and not {'"', "\\"} & {*value}
    return f'"{value}"' if is_plain else repr(value)


def _value(word: str) -> object:
    try:
        value = parse_value(word)
    except ValueError:
        return word
    return value if isinstance(value, str | int | float | bool) else word
