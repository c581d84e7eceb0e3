"""Serving recipes of SGLang for Ascend: documents whose configurations are launch commands in a shell.

A recipe is a heading with model, machine, lengths and the time per output token it is made for; below it
stand commands for one server, or for prefill and decode servers with a router. The time is a goal: whether
it was met is not said, so each recipe is a target.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.markdown import Code, Heading, Text, load_markdown, parse_blocks
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.terms.meanings import table

_TITLE = re.compile(
    r"(?<!\S)(?P<model>\S++)\s++(?P<input>[\d_.]++[kK]?)-(?P<output>[\d_.]++[kK]?)\s++(?P<tpot>[\d_.]++)\s*+ms\s++on\s++"
    r"(?P<machine>.{1,80}?)\s++(?P<count>\d++)\s++Cards?\s++(?P<mode>.{1,80}? Mode)\b"
)
_FACT = re.compile(r"(Hardware|DeployMode|TPOT|Model|Dataset|Input Output Length)\s*:\s*(.+)")
_CARD = re.compile(r"(.*\S)\s++(\d++)\s*+Cards?$", re.IGNORECASE)
_SAME = re.compile(r"turn to \[([^\][]+)\]", re.IGNORECASE)
_CHIPS = {"Atlas 800I A3": "Ascend 910C", "Atlas 800I A2": "Ascend 910B"}
"""Devices of the servers; a card of the A3 is counted once, as the document does."""
_EXPORT = re.compile(r"\s*export\s+([A-Za-z_]\w*)=(.*)$")
_NOT_TUNED = frozenset(table("left_out")["document"])
"""Options that say where and for whom a server runs."""
_NOT_TUNED_ENV = frozenset(table("left_out")["document_variables"])
_MAXIMUM_WORDS = 5000


@dataclass(slots=True, kw_only=True)
class _Recipe:
    """One recipe, as far as it has been read."""

    title: str
    line: int
    facts: dict[str, str] = field(default_factory=dict)
    roles: dict[str, dict[str, object]] = field(default_factory=dict)
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    router: dict[str, str] = field(default_factory=dict)
    load: dict[str, object] = field(default_factory=dict)
    same_as: str = ""


def sniff(head: Head) -> bool:
    """True if a recipe's title and a launch command are in it."""
    return "sglang.launch_server" in head.text and any(
        line.startswith("#") and _TITLE.search(line) for line in head.text.splitlines()
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A target for each recipe."""
    try:
        lines = load_markdown(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    recipes: list[_Recipe] = []
    for block in parse_blocks(lines):
        if isinstance(block, Heading):
            if _TITLE.search(block.text):
                recipes.append(_Recipe(title=block.text, line=block.line))
            elif block.level <= 3:
                recipes.append(_Recipe(title="", line=block.line))
        elif recipes and recipes[-1].title:
            try:
                _add(recipes[-1], block)
            except ContentError as fault:
                yield Fault(place=f"line {block.line}", reason=str(fault))
    named = {recipe.title: recipe for recipe in recipes if recipe.title}
    for recipe in named.values():
        try:
            yield case_or_fault(records, f"line {recipe.line}", _record(recipe, named, content, records))
        except ContentError as fault:
            yield Fault(place=f"line {recipe.line}", reason=str(fault))


def _add(recipe: _Recipe, block: object) -> None:
    if isinstance(block, Text):
        if (fact := _FACT.match(block.text)) is not None:
            recipe.facts[fact[1]] = fact[2].strip()
        elif (same := _SAME.search(block.text)) is not None:
            recipe.same_as = same[1]
    elif isinstance(block, Code):
        _commands(recipe, block.text)


def _commands(recipe: _Recipe, script: str) -> None:
    """Add the servers that a block of shell launches, with their environment."""
    common: dict[str, str] = {}
    local: dict[str, str] = {}
    depth = 0
    for raw in script.replace("\\\n", " ").splitlines():
        line = raw.strip()
        if line.startswith(("if ", "for ", "while ")):
            depth += 1
        elif line in {"fi", "done"}:
            depth -= 1
            if depth <= 0:
                local = {}
        elif (export := _EXPORT.match(raw)) is not None:
            name, value = export[1], _unquoted(export[2])
            if name not in _NOT_TUNED_ENV:
                (local if depth > 0 else common)[name] = value
        elif "sglang.launch_server" in line:
            options = _options(line)
            role = str(options.get("disaggregation-mode", "mixed"))
            kept = {name: value for name, value in options.items() if name not in _NOT_TUNED}
            recipe.roles.setdefault(role, kept)
            recipe.environments.setdefault(role, common | local)
        elif "launch_router" in line:
            recipe.router |= common | local
        elif "bench_serving" in line:
            options = _options(line)
            for name, key in (("max-concurrency", "max_concurrency"), ("request-rate", "request_rate")):
                if name in options:
                    recipe.load[key] = options[name]


def _options(line: str) -> dict[str, object]:
    """Options of a command: a value, several as one text, or true for a flag."""
    try:
        words = shlex.split(line, comments=True)[:_MAXIMUM_WORDS]
    except ValueError as fault:
        raise ContentError(f"a command with an open quotation: {line[:60]!r}") from fault
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name] = [value] if equals else []
        elif name:
            options[name].append(word)
    return {name: " ".join(values) if values else True for name, values in options.items()}


def _unquoted(text: str) -> str:
    return text.partition(" #")[0].strip().strip("'\"")


def _record(
    recipe: _Recipe, named: dict[str, _Recipe], content: Content, records: Records
) -> dict[str, object]:
    title = _TITLE.search(recipe.title)
    if title is None:
        raise ContentError("the title names no model, machine, lengths and time")
    commands = recipe
    if recipe.same_as and not recipe.roles:
        if recipe.same_as not in named:
            raise ContentError(f"refers to {recipe.same_as[:80]!r}, which is not here")
        commands = named[recipe.same_as]
    if not commands.roles:
        raise ContentError("launches no server")
    hardware = _hardware(recipe, title, records)
    goal = _size(title["tpot"])
    _compare(recipe, title, records)
    return {
        "task": {
            "kind": "serving",
            "op": "llm_serve",
            "model": title["model"],
            "shape": {"input_len": _size(title["input"]), "output_len": _size(title["output"])} | recipe.load,
            "slo": {"tpot_ms": goal},
        },
        "hardware": hardware,
        "config": _config(commands) | {"deploy_mode": title["mode"]},
        "outcome": {"metric": "tpot", "unit": "ms", "value": None, "status": "winner_untimed"},
        "source": {"title": "SGLang serving recipes for Ascend", "path": content.reference},
    }


def _config(recipe: _Recipe) -> dict[str, object]:
    """Options by role, and the environment; where roles differ in a variable, ``env`` is the last one's."""
    config: dict[str, object] = {
        f"{role}.{name}": value for role, options in recipe.roles.items() for name, value in options.items()
    }
    shared: dict[str, str] = {}
    for environment in recipe.environments.values():
        shared |= environment
    for name, value in (shared | recipe.router).items():
        config[f"env.{name}"] = value
    for role, environment in recipe.environments.items():
        for name, value in environment.items():
            if shared[name] != value:
                config[f"{role}.env.{name}"] = value
    return config


def _hardware(recipe: _Recipe, title: re.Match[str], records: Records) -> dict[str, object]:
    stated = _CARD.match(recipe.facts.get("Hardware", ""))
    name, count = (stated[1], int(stated[2])) if stated else (title["machine"], int(title["count"]))
    if stated and count != int(title["count"]):
        records.guess(
            f"{recipe.title!r}: the title says {title['count']} cards, the text {count}; the text is believed"
        )
    chip = _CHIPS.get(name)
    if chip is None:
        return {"name": name, "count": count}
    records.guess(f"{name} holds {chip}, which the document does not say")
    return {"name": name, "chip": chip, "count": count}


def _compare(recipe: _Recipe, title: re.Match[str], records: Records) -> None:
    """Note where title and text of a recipe disagree on the goal."""
    stated = re.match(r"([\d.]+)\s*ms", recipe.facts.get("TPOT", ""))
    if stated is not None and float(stated[1]) != _size(title["tpot"]):
        records.guess(f"{recipe.title!r}: the text says {stated[1]} ms; the title is believed")


def _size(text: str) -> float:
    """A size such as ``3_5K``, which is 3.5 thousand: a title cannot hold a point."""
    thousands = text.lower().endswith("k")
    digits = text.lower().rstrip("k").replace("_", ".").rstrip(".")
    try:
        value = float(digits)
    except ValueError as fault:
        raise ContentError(f"{text!r} is no size") from fault
    return round(value * 1000) if thousands else value


FORMAT = Format(
    name="serving-recipes",
    title="SGLang serving recipes for Ascend (Markdown with commands)",
    sniff=sniff,
    read=read,
)
