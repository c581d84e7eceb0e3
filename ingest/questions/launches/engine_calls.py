"""Engines that Python makes, and the arguments that a server says it was started with, as commands."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping

from ingest.questions.launches.program import ProgramSigns, program_signs
from ingest.questions.launches.shell import UNKNOWN, ShellCommand
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry, softwares

_VERSION = r"v?(\d+(?:\.\d+)+\w*)"
_MOST_LETTERS = 100_000


def engine_calls(text: str) -> list[ShellCommand]:
    """The engines that a program in Python makes, each as the command that would start it."""
    if not any(f"{module}" in text for signs in program_signs().values() for module in signs.calls):
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    constants, environment = dict(_constants(tree)), dict(_environment(tree))
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        module, name = _callee(node.func, imported)
        for signs in program_signs().values():
            if name in signs.calls.get(module, ()):
                words = _words(signs, node, constants)
                found.append(ShellCommand(words=words, line=node.lineno, environment=environment))
                break
    return found


def logged_arguments(text: str) -> list[ShellCommand]:
    """The arguments that servers print when they start, each as the command that says the same."""
    found = []
    for signs in program_signs().values():
        for mark in signs.logs:
            for match in re.finditer(re.escape(mark), text):
                line = text[match.end() : match.end() + _MOST_LETTERS].partition("\n")[0]
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
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return {str(name): value for name, value in content.items()} if isinstance(content, dict) else {}
    return {}


def _words(signs: ProgramSigns, call: ast.Call, constants: Mapping[str, object]) -> tuple[str, ...]:
    values: dict[str, object] = {}
    if call.args and signs.model:
        values[signs.model[0]] = _literal(call.args[0], constants)
    values |= {item.arg: _literal(item.value, constants) for item in call.keywords if item.arg}
    return (*signs.commands[0].split(), *_flags(values))


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


def _literal(node: ast.expr, constants: Mapping[str, object]) -> object:
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    try:
        return ast.literal_eval(node)
    except (ValueError, RecursionError):
        return f"{UNKNOWN}{ast.unparse(node)[:60]}{UNKNOWN}"


def _constants(tree: ast.Module) -> Iterator[tuple[str, object]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                yield node.targets[0].id, ast.literal_eval(node.value)
            except (ValueError, RecursionError):
                continue


def _environment(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """``os.environ["NAME"] = "value"``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            place = node.targets[0]
            is_plain = isinstance(place.slice, ast.Constant) and isinstance(node.value, ast.Constant)
            if is_plain and ast.unparse(place.value) == "os.environ":
                yield str(place.slice.value), str(node.value.value)  # type: ignore[attr-defined]  # constants
