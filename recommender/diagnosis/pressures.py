"""Settings of a program against a lack: where to move each from its current value, and how far.

How far is a formula of the table over the numbers of the log: what is needed, what is there, weights.
"""

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

import data
from kg.nouns.codec import JsonNoun, in_json
from kg.terms.condition_grammar import ARITHMETIC
from kg.terms.setting_registry import registry, softwares

_TABLE = "settings/pressures.yaml"
_GIVEN = re.compile(r"(?<![\w.])['\"]?([\w.]++)['\"]?\s*+[=:]\s*+('[^']*+'|\"[^\"]*+\"|-?[\w.]++)")
_FLAG = re.compile(r"(?<!\S)--([A-Za-z][\w.-]*+)[=\s]\s*+('[^']*+'|\"[^\"]*+\"|-?[^\s-]\S*+)")
_VERSION = re.compile(r"v?(\d{1,4}(?:\.\d{1,4}){1,2}(?:\.?(?:post|rc)\d{1,3})?)(?![\w.]*\d)")
RELEASE = "release_of_program"
"""Name of the release among the arguments of a log."""
REQUESTS = "requests at once"
_LEAST_GAIN = 1.05
"""Least gain of a move that is reported: less is 1.0 on the screen."""
_LEAST_FLAGS = 2
"""Flags of a command: an advice names one."""
_GIB = {
    "TB": 1024.0,
    "GiB": 1.0,
    "GB": 1.0,
    "MiB": 1 / 1024,
    "MB": 1 / 1024,
    "KiB": 1 / 1024**2,
    "KB": 1 / 1024**2,
}
"""GiB of a unit: programs write GB where they divide by 2**30."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(JsonNoun):
    """A setting and where to move it.

    Attributes:
        key: The setting as its program writes it.
        to: ``lower``, ``higher``, ``on``, ``off``, ``stated``, a bound such as ``at most 8``, or the value;
            empty where the setting takes the place of ``current``.
        current: Its value now, or the argument that it takes the place of; empty if unknown.
        origin: ``log`` or the release whose default the value is; empty if unknown.
        condition: When it applies; empty for always.
        value: How far, as the numbers of the log give it; empty if they do not tell.
        suffices: Whether it does by itself; None if the numbers do not tell.
        brings: How many times as much of ``unit`` it brings at most; None if the numbers do not tell.
        unit: Requests at once, or tokens a second.
    """

    key: str
    to: str
    current: str = ""
    origin: str = ""
    condition: str = field(default="", metadata=in_json("if"))
    value: str = ""
    suffices: bool | None = None
    brings: float | None = field(default=None, metadata=in_json(digits=3))
    unit: str = REQUESTS

    @property
    def text(self) -> str:
        """The move in words, such as ``--max-num-seqs higher than 256 (in the log)``."""
        origin = {"": "", "log": " (in the log)"}.get(self.origin, f" (default of {self.origin})")
        is_direction = self.to in {"lower", "higher"}
        text = f"{self.key} {(self.value if is_direction else '') or self.to}".rstrip()
        if self.current:
            text += f" {'than' if is_direction and not self.value else 'in place of'} {self.current}{origin}"
        text += "" if self.brings is None else f": up to {self.brings:.2g}x as many {self.unit}"
        return text + {None: "", True: ": enough by itself", False: ": not enough alone"}[self.suffices]


def home_of(program: str) -> str:
    """The program whose settings another one takes."""
    return str(_table()["homes"].get(program, program))


def names_of(home: str) -> Mapping[str, str]:
    """Names that messages of a program give to its settings, besides their own."""
    held: Mapping[str, str] = _table()["names"].get(home, {})
    return held


def is_general(fault: str) -> bool:
    """True if a fault only says that something failed, so that another one names the cause."""
    return fault in _table()["general"]


def lacks_of(faults: Iterable[str], program: str = "", functions: Sequence[str] = ()) -> list[str]:
    """The lacks that known faults show, in their order.

    Args:
        faults: The faults.
        program: The program that ran short.
        functions: Functions of its tracebacks, the last one last: they tell in which phase it was.
    """
    by_fault = {fault: lack for lack, shown in _table()["lacks"].items() for fault in shown}
    phases = _table()["phases"].get(home_of(program), {})
    found = []
    for lack in (by_fault[fault] for fault in faults if fault in by_fault):
        inside = phases.get(lack, {})
        found.append(next((inside[name] for name in reversed(functions) if name in inside), lack))
    return list(dict.fromkeys(found))


def moves_against(
    lack: str, program: str, given: Mapping[str, str], numbers: Mapping[str, float] | None = None
) -> list[Move]:
    """The settings of a program against a lack; empty where none is known.

    Args:
        lack: A name of the table, such as ``device-memory``.
        program: The program; vllm-ascend takes vLLM's flags.
        given: Values that its log tells, by name.
        numbers: What the log tells of memory, lengths and limits, by the names of the table.
    """
    home = home_of(program)
    told = numbers or {}
    moves = []
    for entry in _table()["programs"].get(home, {}).get(lack, ()):
        name = entry["key"].rpartition(".")[2].lstrip("-").replace("-", "_")
        current, origin = given.get(name, ""), "log"
        current = given.get(entry["key"].lstrip("-"), current)
        if not current and name in told:
            current = in_digits(told[name])
        if not current:
            current, origin = default_of(home, entry["key"], given.get(RELEASE, ""))
            if current in {"0", "-1"}:
                current = origin = ""  # the program chooses
        if _is_so(current.lower(), entry["to"]) or (current == "0" and entry["to"] == "lower"):
            continue
        known = {**as_numbers({name: current}), **as_numbers(given), **told}
        value = _far(entry, known)
        if value is not None and "most" in entry and value > entry["most"]:
            continue  # it cannot be moved so far
        now = known.get(name)
        if (
            value is not None
            and now is not None
            and (value >= now if entry["to"] == "lower" else value <= now)
        ):
            value = None  # the numbers do not ask for it
        enough, brings = (_first(entry, name, known) for name in ("enough", "brings"))
        moves.append(
            Move(
                key=entry["key"],
                to=entry["to"],
                current=current,
                origin=origin,
                condition=entry.get("if", ""),
                value="" if value is None else in_digits(value),
                suffices=None if enough is None else enough >= 1,
                brings=brings if brings is not None and brings >= _LEAST_GAIN else None,
                unit=_table()["units"].get(lack, REQUESTS),
            )
        )
    return moves


def _is_so(current: str, to: str) -> bool:
    """True if a setting has the value to move to already: all 8-bit caches take the same memory."""
    return current in {to, {"on": "true", "off": "false"}.get(to)} or (current[:3] == to[:3] == "fp8")


def _first(entry: Mapping[str, Any], name: str, known: Mapping[str, float]) -> float | None:
    """The value of the first formula whose numbers are known."""
    texts = entry.get(name, [])
    values = (formula(str(text), known) for text in ([texts] if isinstance(texts, str) else texts))
    return next((value for value in values if value is not None), None)


def _far(entry: Mapping[str, Any], known: Mapping[str, float]) -> float | None:
    """The new value of a setting by its formula, rounded to the safe side; None where it has none."""
    value = _first(entry, "value", known)
    if value is None or value <= 0:
        return None
    step = float(entry.get("step", 1))
    if step == 2:  # sizes of groups are powers of two
        return 2.0 ** math.ceil(math.log2(value) - 1e-9)
    whole = math.floor(value / step + 1e-9) if entry["to"] == "lower" else math.ceil(value / step - 1e-9)
    return round(whole * step, 6) if whole > 0 else None


def formula(text: str, numbers: Mapping[str, float]) -> float | None:
    """The value of arithmetic over named numbers; None where a name is not among them."""

    def value_of(node: ast.expr) -> float:
        match node:
            case ast.Name(id=name):
                return numbers[name]
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.BinOp(left=left, op=op, right=right):
                return ARITHMETIC[type(op)](value_of(left), value_of(right))
            case _:
                raise KeyError(ast.unparse(node))

    try:
        return value_of(ast.parse(text, mode="eval").body)
    except (KeyError, ZeroDivisionError):
        return None


def in_digits(value: float) -> str:
    """A number without an exponent: a length of a million tokens keeps its digits."""
    return f"{value:.12g}"


def limit_name(engine: str) -> str:
    """The setting that bounds the running requests of a server."""
    return str(_table()["limits"][engine][0])


def running_limits(engine: str, given: Mapping[str, str]) -> list[float]:
    """Limits of running requests: the one that a server tells, else those that it takes by itself."""
    name, *usual = _table()["limits"].get(engine, [""])
    return [float(given[name])] if given.get(name, "").isdigit() else usual


def draft_lengths(engine: str, given: Mapping[str, str]) -> list[float | None]:
    """Tokens that a server drafts at once: as set, and by default; None where unknown."""
    names = _table()["drafts"].get(engine, [])
    told = [given.get(name, "") for name in names]
    release = given.get(RELEASE, "")
    usual = [default_of(engine, f"--{name.replace('_', '-')}", release)[0] for name in names]
    return [next((float(text) for text in texts if text.isdigit()), None) for texts in (told, usual)]


def is_prefix_cache_off(program: str, given: Mapping[str, str]) -> bool:
    """True if the settings of a server disable its prefix cache."""
    marks: Mapping[str, str] = _table()["unset"].get(home_of(program), {})
    return any(given.get(name, "").lower() == text.lower() for name, text in marks.items())


def telling_patterns() -> list[str]:
    """Patterns of lines that tell memory in GiB, lengths and limits, by the names of the table."""
    return list(_table()["told"])


def as_numbers(values: Mapping[str, str]) -> dict[str, float]:
    """The values that are numbers, of memory in GiB."""
    found = {}
    for name, text in values.items():
        number, _, unit = text.partition(" ")
        try:
            found[name] = float(number.replace(",", "")) * _GIB.get(unit, 1.0)
        except ValueError:
            continue
    return found


def argument_marks() -> list[str]:
    """Texts of lines in which a program tells its own arguments or release, or is started."""
    held: Mapping[str, list[str]] = _table()["arguments"]
    return [mark for marks in held.values() for mark in marks]


def arguments_in(line: str) -> dict[str, str]:
    """The arguments that a program tells in a line, by name and by place; empty for another line."""
    marks = {kind: text for kind, texts in _table()["arguments"].items() for text in texts if text in line}
    released = _VERSION.match(line.partition(marks.pop("releases"))[2]) if "releases" in marks else None
    release = {} if released is None else {RELEASE: released[1]}
    kind, mark = next(iter(marks.items()), ("", ""))
    if not kind:
        return release
    if kind == "commands":
        flags = _FLAG.findall(line.partition(mark)[2])
        told = [(name.replace("-", "_"), value) for name, value in flags if len(flags) >= _LEAST_FLAGS]
    else:
        told = _GIVEN.findall(line.partition(mark)[2] if kind == "lists" else line)
    held = {name: value.strip("'\"") for name, value in told if value not in {"None", "null"}}
    return {name.rpartition(".")[2]: value for name, value in held.items()} | held | release


@cache
def _table() -> dict[str, Any]:
    held: dict[str, Any] = yaml.safe_load(data.text(_TABLE))
    return held


def default_of(program: str, key: str, release: str = "") -> tuple[str, str]:
    """A number that a setting has by default in a release, with that release; empty for none.

    Args:
        program: The program.
        key: Of the setting.
        release: As the log tells it; empty for the newest that is known.
    """
    if program not in softwares():
        return "", ""
    held = registry(program).at(release)
    setting = held.look_up(key, suggest=False).setting
    default = None if setting is None else setting.default_in(held.release)
    value = None if default is None else default.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (str(value), held.release) if is_number else ("", "")
