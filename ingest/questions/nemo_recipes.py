"""Recipes that a program makes of NeMo 2 in Python, as the commands of ``nemo llm`` that say the same.

Source:
    https://docs.nvidia.com/nemo-framework/user-guide/latest/nemo-2.0/quickstart.html:
    ``llm.llama3_8b.pretrain_recipe``, whose fields are set before it runs, and
    ``nemo llm pretrain --factory llama3_8b data.global_batch_size=8``.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeAlias

NemoCommand: TypeAlias = tuple[tuple[str, ...], int]
"""The words of a command, and the line of what it stands for."""
_MADE = re.compile(r"^(?:\w+\.)*?(\w+)\.(pretrain|finetune)_recipe$")
_PLACES = {"num_nodes": "trainer.num_nodes", "num_gpus_per_node": "trainer.devices", "peft_scheme": "peft"}
"""Arguments of a recipe by the fields that they become."""
_USUAL = {"finetune": {"peft": "lora"}}
"""Fields of the recipes of a task where nothing is said (``finetune_recipe``)."""
_PRECISION = re.compile(r"\b(bf16|fp16)(?:_\w*?(fp8)\w*)?_?\w*mixed\b")
"""Names of plugins for number formats: ``bf16_mixed``, ``bf16_with_fp8_mixed``."""


def nemo_recipes(text: str) -> Iterator[NemoCommand]:
    """The recipes that a program in Python makes, with the fields that it sets; nothing of it is run."""
    if "_recipe" not in text or "nemo" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    constants: dict[str, object] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Constant(value)):
                constants[name] = value
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for body in (tree.body, *(node.body for node in functions)):
        inside = [node for node in body if not isinstance(node, ast.FunctionDef)]
        yield from _of_scope(inside, constants)


def _of_scope(body: list[ast.stmt], constants: dict[str, object]) -> Iterator[NemoCommand]:
    """The recipes that statements make, each with what the statements behind it set in it."""
    nodes = [inner for statement in body for inner in ast.walk(statement)]
    for node in nodes:
        if not isinstance(node, ast.Call) or (found := _made(node)) is None:
            continue
        factory, task, arguments = found
        fields: dict[str, object] = dict(_USUAL.get(task, {}))
        for item in arguments:
            if item.arg in _PLACES:
                fields[_PLACES[item.arg]] = _value(item.value, constants)
        for holder in (one.targets[0] for one in nodes if isinstance(one, ast.Assign) and one.value is node):
            fields |= _set_in(ast.unparse(holder), nodes, constants)
        words = [f"{name}={value}" for name, value in fields.items() if value is not None]
        yield ("nemo", "llm", task, "--factory", factory, *words), node.lineno


def _made(node: ast.Call) -> tuple[str, str, list[ast.keyword]] | None:
    """The model, the task and the arguments of a call that makes a recipe, also by ``partial``."""
    function = ast.unparse(node.func)
    if function.rpartition(".")[2].lower() == "partial" and node.args:
        function = ast.unparse(node.args[0])
    found = _MADE.match(function)
    return (found[1], found[2], node.keywords) if found else None


def _set_in(holder: str, nodes: list[ast.AST], constants: dict[str, object]) -> dict[str, object]:
    """The fields that statements set in a recipe."""
    fields: dict[str, object] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        path = ast.unparse(node.targets[0])
        if not path.startswith(f"{holder}."):
            continue
        name = path.removeprefix(f"{holder}.").replace("model.config.", "model.")
        if name == "trainer.plugins" and (found := _PRECISION.search(ast.unparse(node.value))):
            fields["trainer.precision"] = found[2] or found[1]
        else:
            fields[name] = _value(node.value, constants)
    return fields


def _value(node: ast.expr, constants: dict[str, object]) -> object:
    """A value as a field of the command line has it; None of what is computed."""
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    with suppress(ValueError, TypeError, SyntaxError):
        held = ast.literal_eval(node)
        return str(held).lower() if isinstance(held, bool) else held
    return None
