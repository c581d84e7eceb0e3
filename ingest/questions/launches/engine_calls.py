"""Engines that Python makes, and the arguments that a server says it was started with, as commands."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ingest.questions.launches.program import ProgramSigns, program_signs
from ingest.questions.launches.script import UNKNOWN, ShellCommand
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry, softwares

_VERSION = r"v?(\d+(?:\.\d+)+\w*)"
_MOST_LETTERS = 100_000
_MOST_DEPTH = 100
"""Nodes of a program in each other; a deeper one cannot be printed again."""
_NO_LITERAL = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCall:
    """An engine that a program in Python makes.

    Attributes:
        node: The call.
        signs: Of the engine.
        arguments: Each argument with the node of its value, the model among them.
        values: What those say; :data:`UNKNOWN` surrounds what is computed.
        holder: The dictionary that the rest of its arguments are in, ``**kwargs``; None without one.
        environment: Variables that the program sets.
    """

    node: ast.Call
    signs: ProgramSigns
    arguments: Mapping[str, ast.expr]
    values: Mapping[str, object]
    holder: ast.Call | ast.Dict | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> ShellCommand:
        """The command that would start it."""
        words = (*self.signs.commands[0].split(), *_flags(self.values))
        return ShellCommand(words=words, line=self.node.lineno, environment=self.environment)


def engine_calls(text: str) -> Iterator[ShellCommand]:
    """The engines that a program in Python makes, each as the command that would start it."""
    return (one.command for one in read_calls(text))


def read_calls(text: str) -> Iterator[EngineCall]:
    """The engines that a program in Python makes, in their order; each is read when it is asked for."""
    if not any(f"{module}" in text for signs in program_signs().values() for module in signs.calls):
        return
    try:
        tree = ast.parse(text)
    except _NO_LITERAL:
        return
    nodes = _nodes(tree)
    constants = dict(_constants(nodes))
    environment = {name: value for name, value, _ in set_variables(nodes)}
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        module, name = _callee(node.func, imported)
        for signs in program_signs().values():
            if name in signs.calls.get(module, ()):
                found.append((node, signs))
                break
    for node, signs in sorted(found, key=lambda one: (one[0].lineno, one[0].col_offset)):
        yield _call(signs, node, constants, environment)


def _call(
    signs: ProgramSigns, node: ast.Call, constants: Mapping[str, ast.expr], environment: Mapping[str, str]
) -> EngineCall:
    arguments = {item.arg: item.value for item in node.keywords if item.arg}
    if node.args and signs.model:
        arguments = {signs.model[0]: node.args[0], **arguments}
    holder: ast.Call | ast.Dict | None = None
    for rest in [item.value for item in node.keywords if item.arg is None]:
        named = constants.get(rest.id) if isinstance(rest, ast.Name) else rest
        if isinstance(named, ast.Dict):
            holder = named
            pairs = zip(named.keys, named.values, strict=True)
            arguments |= {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
        elif isinstance(named, ast.Call) and isinstance(named.func, ast.Name) and named.func.id == "dict":
            holder = named
            arguments |= {item.arg: item.value for item in named.keywords if item.arg}
    return EngineCall(
        node=node,
        signs=signs,
        arguments=arguments,
        values={name: _literal(value, constants) for name, value in arguments.items()},
        holder=holder,
        environment=environment,
    )


def logged_arguments(text: str) -> list[ShellCommand]:
    """The arguments that servers print when they start, each as the command that says the same."""
    found = []
    for signs in program_signs().values():
        for mark in signs.logs:
            for match in re.finditer(rf"{re.escape(mark)}([^\n]{{0,{_MOST_LETTERS}}})", text):
                line = match[1]
                values = _printed(line)
                if line.startswith("("):  # all that it has
                    values = _without_defaults(values, signs.id)
                if not values:
                    continue
                release = re.search(re.escape(signs.release) + _VERSION, text) if signs.release else None
                package = f"{signs.id}=={release[1]}" if release is not None else ""
                words = (*signs.commands[0].split(), *_flags(values))
                line_number = text.count("\n", 0, match.start()) + 1
                found.append(ShellCommand(words=words, line=line_number, image=package))
    return found


def _without_defaults(values: Mapping[str, object], program: str) -> dict[str, object]:
    """The arguments that are not what the program does anyway: some print all that they have."""
    release = registry(program).at("") if program in softwares() else None

    def is_default(name: str, value: object) -> bool:
        if release is None or not isinstance(value, str | int | float):
            return False
        return release.look_up(f"--{name.replace('_', '-')}", SettingPlace.FLAG, suggest=False).is_default(
            value
        )

    return {name: value for name, value in values.items() if not is_default(name, value)}


def _printed(line: str) -> dict[str, object]:
    """Values by name of a printed dictionary or call; of a call those that are no defaults of anything."""
    call = line.startswith("(")
    for end in [at for at, letter in enumerate(line) if letter == (")" if call else "}")][-3:][::-1]:
        try:
            node = ast.parse(("f" if call else "") + line[: end + 1], mode="eval").body
            if isinstance(node, ast.Call):
                values = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg}
                return {name: value for name, value in values.items() if value not in (None, False)}
            content = ast.literal_eval(node)
        except _NO_LITERAL:
            continue
        return {str(name): value for name, value in content.items()} if isinstance(content, dict) else {}
    return {}


def _flags(values: Mapping[str, object]) -> Iterator[str]:
    """Values by names of arguments as the words of flags."""
    for name, value in values.items():
        flag = name.replace("_", "-")
        if value is True or value is False:
            yield f"--{'' if value else 'no-'}{flag}"
        elif isinstance(value, dict):
            yield from (f"--{flag}", json.dumps(value, default=str))
        elif isinstance(value, list | tuple):
            yield from (f"--{flag}", *map(str, value))
        elif value is not None:
            yield from (f"--{flag}", str(value))


def _callee(function: ast.expr, imported: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Module and name of what is called: imported by name, or reached through its package."""
    if isinstance(function, ast.Name):
        return imported.get(function.id, ("", ""))
    if isinstance(function, ast.Attribute):
        return ast.unparse(function.value), function.attr
    return "", ""


def _literal(node: ast.expr, constants: Mapping[str, ast.expr]) -> object:
    named = constants.get(node.id, node) if isinstance(node, ast.Name) else node
    try:
        return ast.literal_eval(named)
    except _NO_LITERAL:
        return f"{UNKNOWN}{ast.unparse(node)[:60]}{UNKNOWN}"


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All nodes, met once, the outer ones first; none where they are too deep in each other."""
    found: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_DEPTH):
        found += level
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if not level:
            return found
    return []


def _constants(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def set_variables(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str, ast.Assign]]:
    """``os.environ["NAME"] = "value"``, with the statement."""
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            place = node.targets[0]
            if (
                isinstance(place.slice, ast.Constant)
                and isinstance(node.value, ast.Constant)
                and ast.unparse(place.value) == "os.environ"
            ):
                yield str(place.slice.value), str(node.value.value), node
