"""The package's own parser, run in a process apart by an interpreter that has it, beside the rebuilt one.

Generated argvs are given to both; how often they agree on accepting or refusing is the figure of the judge.
What the package checks only later, when it makes its engine, its parser cannot say: values of enumerations,
fields of objects that the parser leaves open, and combinations of flags. No wrong ones of these are drawn.
"""

import json
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kg.errors import MissingDependencyError
from tools.oracle.facts import Entry, Facts, facts
from tools.oracle.judge import judge

_ASK = """
import contextlib, io, json, sys
{make}
for line in sys.stdin:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            parse(json.loads(line))
        print(json.dumps([""]), flush=True)
    except BaseException as error:
        text = said.getvalue().strip().splitlines() or [repr(error)]
        print(json.dumps([text[-1][:300] or "refused"]), flush=True)
"""
_MAKERS = {
    "vllm": """
try:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError:
    from vllm.utils import FlexibleArgumentParser
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
parse = make_arg_parser(FlexibleArgumentParser()).parse_args
""",
    "transformers": """
from transformers import HfArgumentParser, TrainingArguments
parse = HfArgumentParser(TrainingArguments).parse_args
""",
    "accelerate": """
from accelerate.commands.launch import launch_command_parser
parse = launch_command_parser().parse_args
""",
}
"""Code that makes ``parse`` of a program's package."""
_LATER = "conflicting settings: -"
"""Beginning of the judge's complaints about a combination of flags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Verdicts of both parsers on the same argvs.

    Attributes:
        asked: How many argvs.
        agreed: On how many both accept or both refuse.
        differences: The others: the argv, what the package says, what the judge says.
    """

    asked: int
    agreed: int
    differences: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]


def compare(program: str, release: str, python: Path, count: int, rng: random.Random) -> Comparison:
    """Both parsers' answers to generated argvs.

    Args:
        program: A program with a maker.
        release: A release that was read, the one that the interpreter has.
        python: The interpreter.
        count: How many argvs.
        rng: Draws them.

    Raises:
        MissingDependencyError: The package or its parser does not import there.
    """
    known = facts(program, release)
    asked = [argv(known, rng) for _ in range(count)]
    said = complaints(program, python, asked)
    judged = [
        tuple(said for said in judge(program, release, words) if not said.startswith(_LATER))
        for words in asked
    ]
    different = [
        (tuple(words), own, ours)
        for words, own, ours in zip(asked, said, judged, strict=True)
        if bool(own) != bool(ours)
    ]
    return Comparison(asked=count, agreed=count - len(different), differences=tuple(different))


def complaints(program: str, python: Path, asked: Sequence[Sequence[str]]) -> list[str]:
    """The package's own complaint about each argv; empty where it accepts it.

    Raises:
        MissingDependencyError: The package or its parser does not import there.
    """
    if program not in _MAKERS:
        raise MissingDependencyError(
            f"{program} has no parser that runs apart", hint=f"these have: {', '.join(_MAKERS)}"
        )
    text = "\n".join(json.dumps(list(words)) for words in asked)
    done = subprocess.run(
        [str(python), "-c", _ASK.format(make=_MAKERS[program])],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('["')]
    if len(lines) != len(asked):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MissingDependencyError(
            f"{program} does not import in {python}: {last[:200]}", hint="it is left out"
        )
    return [json.loads(line)[0] for line in lines]


def argv(known: Facts, rng: random.Random) -> list[str]:
    """An argv of one to five flags of a release, each rightly or wrongly used."""
    flags = [entry for entry in known.flags.values() if entry["key"].startswith("--")]
    words = ["model"] * known.positional
    for entry in rng.sample(flags, rng.randint(1, 5)):
        words += _use(entry, known, rng)
    return words


def _use(entry: Entry, known: Facts, rng: random.Random) -> list[str]:
    name = rng.choice([entry["key"], *(item for item in entry.get("aliases", ()) if item.startswith("-"))])
    kind, draw = entry.get("type", "any"), rng.random()
    if draw < 0.04:
        return [name + rng.choice("xyz"), "1"]
    if draw < 0.08 and len(name) > 6:
        name = name[: -rng.randint(1, 3)]
    elif draw < 0.14 and name.startswith("--"):
        name = "--" + name[2:].replace("-", "_")
    if kind == "bool" and "nargs" not in entry:
        if "off" in entry and rng.random() < 0.4:
            name = entry["off"]
        return [name, *(["1"] if rng.random() < 0.08 else [])]
    value = _value(entry, known, rng)
    if rng.random() < 0.04:
        return [name]
    return [f"{name}={value[0]}", *value[1:]] if rng.random() < 0.3 else [name, *value]


def _value(entry: Entry, known: Facts, rng: random.Random) -> list[str]:
    kind = entry.get("of", "str") if entry.get("type") == "list" else entry.get("type", "any")
    if rng.random() < 0.12 and not entry.get("folds"):
        return [rng.choice(["1.5", "x", "8k", "None", "true", "{}", "[1]", "-1"])]
    number = 2 if entry.get("nargs") == 2 else rng.choice([1, 2]) if entry.get("type") == "list" else 1
    number = 1 if entry.get("nargs") == 1 else number
    if entry.get("choices"):
        return [str(rng.choice(entry["choices"])) for _ in range(number)]
    plain = {"int": "8", "float": "0.5", "bool": "true", "any": "a", "str": "a", "pair": "a=b"}
    return [json.dumps(_object(entry, known, rng)) if kind == "object" else plain[kind]] * number


def _object(entry: Entry, known: Facts, rng: random.Random) -> dict[str, Any]:
    """A value of an object: some of its fields, now and then a wrong one."""
    prefix = entry["key"].lstrip("-").replace("-", "_") + "."
    fields = [
        field for path, field in known.fields.items() if path.startswith(prefix) and path.count(".") == 1
    ]
    made: dict[str, Any] = {}
    is_open = bool(entry.get("open")) or entry.get("of") == "json"
    for field in rng.sample(fields, min(len(fields), 2)):
        plain = {"int": 8, "float": 0.5, "bool": True, "str": "a", "list": [], "object": {}, "any": None}
        value = rng.choice(field["choices"]) if field.get("choices") else plain[field.get("type", "any")]
        wrong = rng.random() < 0.08 and not is_open
        made[field["key"].rpartition(".")[2]] = "x" if wrong else value
    if rng.random() < 0.08 and not is_open:
        made["no_such_field"] = 1
    return made
