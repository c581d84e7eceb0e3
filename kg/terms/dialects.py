"""The vocabulary of settings: the fact that a setting states, and the setting that states a fact.

Read from ``data/settings/meanings.yaml``, which says how it is written. Facts are counted one way: replicas
stand beside tensors (``tp x dp`` devices), a batch is of one engine, drafted tokens leave out the root.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kg.errors import UnknownEntityError
from kg.nouns.layout import ParallelLayout
from kg.nouns.look_up import Standing
from kg.nouns.values import Value, parse_json
from kg.terms.meanings import Meaning, divides, meaning_of, plain_name, programs, settings_of

DEGREES = ("tp", "pp", "dp", "ep", "cp")
"""Facts that divide a model over devices, as conditions read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Facts that settings state.

    Attributes:
        facts: Values by fact, counted one way.
        program_facts: The same as the program counts them.
        fact_of: The fact by the name of each setting that was read.
    """

    facts: Mapping[str, Value]
    program_facts: Mapping[str, Value]
    fact_of: Mapping[str, str]


def statement(settings: Mapping[str, Value], program: str = "", *, devices: int | None = None) -> Statement:
    """Facts that settings state; of two settings for one fact the last counts that does not yield.

    Args:
        settings: Values by names in any spelling.
        program: Whose they are; empty if that is not known.
        devices: Devices of all, which a switch for a size stands for where no size is stated.
    """
    plain = {
        name: value
        if value is None or isinstance(value, str | int | float)
        else json.dumps(value, default=str)
        for name, value in settings.items()  # those of a case may be lists
        # a number without a meaning states nothing, and would make each tile of a kernel another question
        if not isinstance(value, int | float) or meaning_of(name, program) is not None
    }
    return _statement(tuple((name, type(value), value) for name, value in plain.items()), program, devices)


@lru_cache(maxsize=8192)
def _statement(settings: tuple[tuple[str, type, Value], ...], program: str, devices: int | None) -> Statement:
    """As :func:`statement`; cached, because recipes say the same to every question; 1 and True are two."""
    written: dict[str, Value] = {}
    fact_of: dict[str, str] = {}
    by_fact: dict[str, Meaning] = {}
    switches: list[Meaning] = []
    for name, field, value in _fields({name: value for name, _, value in settings}):
        meaning = meaning_of(field, program)
        reads, said = (False, None) if meaning is None else _read(meaning, value)
        if meaning is None or not reads:
            continue
        fact_of[name] = meaning.fact
        if said is True and meaning.product:
            switches.append(meaning)
        elif said is not None and not (
            meaning.yields and meaning.fact in by_fact and not by_fact[meaning.fact].yields
        ):
            written[meaning.fact] = said
            by_fact[meaning.fact] = meaning
    for meaning in switches:
        sizes = [size for fact in meaning.product if (size := positive(written.get(fact))) is not None]
        whole = math.prod(sizes) if sizes else devices
        if devices and len(sizes) < len(meaning.product):  # what is not stated takes the rest
            beside = math.prod(
                positive(written.get(fact)) or 1 for fact in {"pp", "cp"}.difference(meaning.product)
            )
            rest, left = divmod(devices, beside)
            whole = rest if not left and not rest % math.prod(sizes) else whole
        if whole is not None and positive(written.get(meaning.fact), 2) is None:
            written[meaning.fact] = whole
    facts = dict(written)
    _count_replicas(facts, by_fact)
    _divide_rest(facts, by_fact)
    return Statement(facts=facts, program_facts=written, fact_of=fact_of)


def degrees_of(settings: Mapping[str, Value], program: str = "") -> dict[str, int]:
    """The degrees of parallelism that settings state, by fact, counted one way."""
    facts = statement(settings, program).facts if settings else {}
    return {name: size for name in DEGREES if (size := positive(facts.get(name))) is not None}


def layout_of(settings: Mapping[str, Value], program: str = "") -> ParallelLayout:
    """The layout that settings state, as the program counts it; a size that they do not state is 1."""
    stated = statement(settings, program)
    sizes = {name: positive(stated.facts.get(name)) or 1 for name in DEGREES}
    inside = "dp_attention" in stated.facts and stated.facts.get("tp") != stated.program_facts.get("tp")
    sizes["tp"] *= sizes["dp"] if inside else 1
    return ParallelLayout(**sizes, dp_attention=inside)


def spell(
    fact: str, program: str, release: str = "", value: Value = None, *, copies: int = 1
) -> tuple[Meaning, Value] | None:
    """The setting by which a program is told a value of a fact, and how that is written; None without one.

    Args:
        fact: By its name.
        program: Id, such as ``"vllm-ascend"``.
        release: Which the setting must be in; empty if that is not known.
        value: Of the fact; None asks for the setting alone.
        copies: Replicas, over which some programs count.
    """
    for meaning in settings_of(program) if program in programs() else ():
        if meaning.fact != fact or (meaning.product and not meaning.switch):
            continue
        written = meaning.writes(value, copies)
        if (written is not None or value is None) and _is_in(meaning, program, release):
            return meaning, written
    return None


def spelling_in(program: str, setting: str) -> str:
    """The first spelling of a program for what a setting in any spelling says; itself where there is none."""
    meaning = meaning_of(setting, program)
    if meaning is None or program not in programs():
        return setting
    if meaning in settings_of(program):
        return meaning.key
    found = spell(meaning.fact, program) if divides(setting) else None
    return setting if found is None else found[0].key


def positive(value: Value, least: int = 1) -> int | None:
    """A whole number of at least ``least``; None if a value is none."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return int(value) if is_whole and value >= least else None  # type: ignore[arg-type, operator]  # a number


@lru_cache(maxsize=16384, typed=True)
def _read(meaning: Meaning, value: Value) -> tuple[bool, Value]:
    """A pair: True if a meaning reads a value, and the value as it reads it; cached for searches."""
    reads = meaning.reads(value)
    return reads, meaning.says(value) if reads else None


def _fields(settings: Mapping[str, Value]) -> Iterator[tuple[str, str, Value]]:
    """Each setting by its name and its own, and the fields of those whose value is an object in JSON."""
    for name, value in settings.items():
        yield name, name, value
        if isinstance(value, str) and "{" in value:
            content = parse_json(value)
            if content != value:
                yield from ((name, field, inner) for field, inner in _leaves(content, plain_name(name)))


def _leaves(content: object, path: str) -> Iterator[tuple[str, Value]]:
    if isinstance(content, dict):
        for name, inner in content.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(content, str | int | float | bool):
        yield path, content
    elif content is not None:
        yield path, json.dumps(content)


def _count_replicas(facts: dict[str, Value], by_fact: Mapping[str, Meaning]) -> None:
    """Bring sizes that hold all replicas to those of one."""
    tensors = positive(facts.get("tp"))
    if facts.get("dp_attention") == "tp" and tensors:
        facts.setdefault("dp", tensors)
    elif facts.get("dp_attention") == "dp" and tensors:
        facts.setdefault("dp", 1)
    copies = positive(facts.get("dp"), 2)
    if copies is None:
        return
    if "dp_attention" in facts and tensors and not tensors % copies:
        facts["tp"] = tensors // copies
    at_once = positive(facts.get("batch"))
    if at_once and by_fact["batch"].over:
        facts["batch"] = max(at_once // copies, 1)


def _divide_rest(facts: dict[str, Value], by_fact: Mapping[str, Meaning]) -> None:
    """Give what no size takes of a number of devices to the size that takes the rest."""
    for fact, meaning in by_fact.items():
        devices = positive(facts.get(fact))
        if meaning.rest and meaning.rest not in facts and devices:
            taken = math.prod([positive(facts.get(name)) or 1 for name in ("tp", "pp", "dp", "cp")])
            if not devices % taken:
                facts[meaning.rest] = devices // taken


def _is_in(meaning: Meaning, program: str, release: str) -> bool:
    if not release:
        return True
    from kg.terms.setting_registry import registry, softwares

    if program not in softwares():
        return True
    try:
        standing = registry(program).at(release).look_up(meaning.key, meaning.place, suggest=False).standing
    except UnknownEntityError:
        return True  # which release it is is not known
    return standing not in {Standing.NOT_YET, Standing.REMOVED}
