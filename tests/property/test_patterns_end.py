"""No regular expression of the product takes above .3 CPU s of a quiet machine on 20 kB, whatever they are.

Texts are made from each expression (``tests.samples.costly_texts``). Expressions are those that stand in the code,
those in the modules' tables, in caches that need no argument, and in tables of data; a module that puts one together
at a call is one of ``put_together``. Users' own run in a process that ends (``recommender.measuring.user_patterns``).
An expression is used as its module uses it: one that is matched from the start of a text is not searched for.
"""

import ast
import csv
import importlib
import io
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import data
from cli.text.language import LONGEST
from ingest.formats.outputs import kernel_tables
from ingest.profiles.facts import kernel_names
from ingest.questions.launches import engine_calls
from kg.terms import metrics, model_name
from recommender.answers import sensitivity
from recommender.answers.deploying import files
from recommender.diagnosis import known_faults, statements
from recommender.diagnosis.statements import compile_pattern
from recommender.measuring import command
from recommender.search.report import symptoms
from recommender.tune import launch_script
from tests.quiet_machine import cpu_seconds
from tests.samples.costly_texts import shapes
from tools.source_tree import PACKAGES, ROOT

SMALL, LARGE = 2_000, 20_000
LIMIT_S = 0.3
BOUNDED = {"cli/text/language.py _patterns": LONGEST}
BOUNDED |= {
    "recommender/diagnosis/message_moves.py _NAME": 60,
    "recommender/diagnosis/message_moves.py _WORD": 160,
    "recommender/diagnosis/log_programs.py _NO_TEXT": 500,
}
"""Letters of the texts that some are asked about: what stands before a number, expressions of ours."""
USED = {
    "cli/text/language.py _patterns": frozenset({"fullmatch"}),
    "ingest/questions/launches/running.py _ANY_OVERRIDE": frozenset({"fullmatch"}),
    "ingest/questions/launches/running.py _OVERRIDE": frozenset({"fullmatch"}),
    "kg/terms/model_name.py _PARTS": frozenset({"fullmatch"}),
    "recommender/applicability/scope.py _signs": frozenset({"fullmatch"}),
    r"ingest/questions/patches/shell_editor.py [ \t]*(?:export[ \t]+)?NAME=": frozenset({"fullmatch"}),
    r"tunegraph/user_file.py \s*+\[?\[?\s*+[\"']?name[\"']?\s*[=.\]]": frozenset({"match"}),
}
"""Uses of those in tables of a module that uses others in other ways."""
FOUND_ELSEWHERE = (
    "cli/text/language.py", "ingest/formats/outputs/tool.py", "ingest/profiles/traces/python_frames.py",
    "kg/terms/purposes.py", "recommender/diagnosis/log_programs.py", "recommender/measuring/readings.py",
    "recommender/tune/training_run.py", "recommender/workspace/workspace.py",
)  # fmt: skip
"""Modules whose tables hold what they put together, and those that are given one by a user, or by a benchmark."""
FLAGS = ("IGNORECASE", "MULTILINE", "DOTALL", "ASCII", "VERBOSE")
USES = frozenset({"search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
FROM_START = frozenset({"match", "fullmatch"})


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression: where it stands, and how it is used."""

    where: str
    text: str
    flags: int
    uses: frozenset[str]

    @property
    def call(self) -> Callable[[str], object]:
        """The costliest of its uses."""
        made = re.compile(self.text, self.flags)
        if self.uses <= {"fullmatch"}:
            return made.fullmatch
        return made.match if self.uses <= FROM_START else lambda text: [None for _ in made.finditer(text)]


def modules() -> Iterator[ModuleType]:
    for package in sorted({*PACKAGES} - {"data"}):
        for found in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def in_value(value: Any, depth: int = 0) -> Iterator[re.Pattern[str]]:
    """Yield the expressions that a table holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 5:
        if isinstance(value, Mapping):
            inner = [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            inner = list(value)
        elif is_dataclass(value) and not isinstance(value, type):
            inner = [getattr(value, item.name) for item in fields(value)]
        else:
            return
        for item in inner:
            yield from in_value(item, depth + 1)


def uses_of(source: str, name: str = "") -> frozenset[str]:
    """Methods by which a module uses an expression; of all in it where it has no name."""
    before = rf"\b{re.escape(name)}" if name else r"(?<!\bre)"
    found = frozenset(re.findall(rf"{before}\.({'|'.join(USES)})\b", source))
    return found or frozenset({"search"})


def in_module(module: ModuleType) -> Iterator[Expression]:
    path = Path(str(module.__file__))
    source, where = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    for name, value in vars(module).items():
        if hasattr(value, "cache_info") and value.__module__ == module.__name__:
            try:
                value = value()  # noqa: PLW2901
            except (TypeError, LookupError):  # it needs arguments
                continue
        kept = isinstance(value, re.Pattern)
        for found in in_value(value):
            if not kept or re.search(rf"^{name}\b", source, re.MULTILINE):
                uses = USED.get(f"{where} {name}") or uses_of(source, name if kept else "")
                flags = found.flags & ~re.UNICODE.value
                yield Expression(f"{where} {name}", as_text(found.pattern), flags, uses)
    told = put_together().get(where)
    for text in told or ():
        uses = USED.get(f"{where} {text[:80]}") or uses_of(source)
        yield Expression(f"{where} {text[:80]}", text, 0, uses)
    tree = ast.parse(source)
    functions = [  # what a table that is made once holds was taken from its value above
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "cache" not in map(ast.unparse, node.decorator_list)
    ]
    at_a_call = {node for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=[first, *_]):
                if attr not in USES and (attr != "compile" or node not in at_a_call):
                    continue  # a table or a name of the module holds it
                try:
                    made = eval(ast.unparse(first), dict(vars(module)))  # noqa: S307  it stands in our code
                except NameError:  # it is put together there, or for a table that holds it
                    assert told is not None or node not in at_a_call, f"{where}:{node.lineno}"
                    continue
                rest = ast.unparse(node).partition(ast.unparse(first))[2]
                flags = sum(getattr(re, name).value for name in FLAGS if f"re.{name}" in rest)
                held = (item for item in ast.walk(tree) if isinstance(item, ast.Attribute))
                own = {item.attr for item in held if item.value is node} & USES
                uses = frozenset(own or uses_of(source)) if attr == "compile" else frozenset({attr})
                place = f" {first.id}" if isinstance(first, ast.Name) else f":{node.lineno}"
                yield Expression(f"{where}{place}", as_text(made), flags, uses)
            case _:
                pass


@cache
def put_together() -> dict[str, list[str]]:
    """Expressions that modules put together at a call; none where they land in a table, or are a user's."""
    kinds = csv.DictReader(io.StringIO(data.text(kernel_names.FILE)))
    columns = (text for table in kernel_tables.timing_tables() for text in (table.device, *table.after))
    by_form = {
        tuple(kind for kind, _ in statements.parts_of(item.pattern)): item.pattern
        for program in statements.programs()
        for item in statements.read_statements(program)
    }
    return {
        "kg/terms/metrics.py": [text for text, _ in metrics._WORDS],
        "kg/terms/model_name.py": list(model_name._FORMATS),
        "ingest/formats/kernels/table_layout.py": [r"E=\d+,N=\d+,device_name=[^,]+(?:,.*)?\.json"],
        "ingest/formats/meters/power_logs.py": ["^DCGM_FI_DEV_POWER_USAGE[{ ]"],
        "ingest/formats/outputs/kernel_tables.py": list(filter(None, columns)),
        "ingest/profiles/facts/kernel_names.py": [row["in_the_name"] for row in kinds],
        "ingest/questions/launches/engine_calls.py": [
            f"args: {engine_calls._VERSION}",
            r"args: ([^\n]{0,20000})",
        ],
        "ingest/questions/patches/shell_editor.py": [
            r"[ \t]*(?:export[ \t]+)?NAME=",
            r"(?:(?<=\s)(?:-e|--env)\s+)?NAME=$",
        ],
        "recommender/answers/sensitivity.py": list(sensitivity.KINDS.values()),
        "recommender/diagnosis/known_faults.py": known_faults._codes(("507", "Xid 79", "EI0006")),
        "recommender/diagnosis/statements.py": [compile_pattern(text).pattern for text in by_form.values()],
        "recommender/tune/launch_script.py": [
            rf"(?<![\w-])--name(?![\w-])(?:(?:=|[ \t]+)(?!-)({launch_script._VALUE}))?",
            r"(?<!\d)8000(?!\d)",
        ],
        "tunegraph/user_file.py": [r"\s*+\[?\[?\s*+[\"']?name[\"']?\s*[=.\]]"],
        **{where: [] for where in FOUND_ELSEWHERE},
    }


def as_text(pattern: str | bytes) -> str:
    """An expression over bytes as one over letters."""
    return pattern if isinstance(pattern, str) else f"(?a){pattern.decode('latin-1')}"


def in_knowledge() -> Iterator[Expression]:
    """Yield the expressions of the shipped tables of faults."""
    for item in sorted((ROOT / "data" / "knowledge").glob("faults*.yaml")):
        for fault in yaml.safe_load(item.read_text(encoding="utf-8"))["faults"]:
            for text in fault.get("patterns", ()):
                yield Expression(
                    f"{item.name} {text}",
                    compile_pattern(text).pattern,
                    re.IGNORECASE.value,
                    frozenset({"search"}),
                )


@cache
def expressions() -> list[Expression]:
    found = [item for module in modules() for item in in_module(module)] + list(in_knowledge())
    return sorted(dict.fromkeys(found), key=lambda item: item.where)


class TooLongError(Exception):
    """The limit is reached."""


def cost_s(call: Callable[[str], object], text: str, most_s: float) -> float:
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, most_s)
    try:
        call(text)
    except TooLongError:
        return most_s
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - begun


def worst(expression: Expression) -> str | None:
    """A text on which an expression takes too long."""
    call, most = expression.call, BOUNDED.get(expression.where, LARGE)
    suspicious_s = 0.2 * LIMIT_S * (SMALL / most) ** 2  # a quadratic one takes five times that
    for shape in shapes(expression.text, expression.flags):
        small = shape.text(min(SMALL, most))
        if min(cost_s(call, small, LIMIT_S) for _ in range(2)) > suspicious_s:
            large = shape.text(most)
            took = cost_s(call, large, 10 * LIMIT_S)
            if took > LIMIT_S and took > cpu_seconds(LIMIT_S):
                return large
    return None


@pytest.fixture
def alarm() -> Iterator[None]:
    def ends(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, ends)
    yield
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.long
def test_there_are_as_many_as_there_were() -> None:
    """The search for expressions still finds them."""
    assert len(expressions()) > 700


@pytest.mark.long
@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("part", range(8))
def test_no_expression_is_slow(part: int) -> None:
    slow = {
        item.where: f"{item.text[:80]!r} on {text[:30]!r}..."
        for item in expressions()[part::8]
        if (text := worst(item)) is not None
    }
    assert not slow


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("made", [command.OUT_OF_MEMORY, symptoms._MEMORY, files._WRITTEN])
def test_each_word_or_document_is_read_once(made: re.Pattern[str]) -> None:
    """A word that begins anew inside itself, and one document inside another."""
    flags = made.flags & ~re.UNICODE.value
    assert worst(Expression("here", made.pattern, flags, frozenset({"search"}))) is None


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(
    "text",
    [r"a.*b.*c", *(pytest.param(text, marks=pytest.mark.long) for text in (r"(a|a)*b", r"\s+$", r"(\w+)*="))],
)
def test_slow_expressions_are_seen(text: str) -> None:
    assert worst(Expression("here", text, 0, frozenset({"search"}))) is not None
