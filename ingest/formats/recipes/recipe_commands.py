"""A launch command as the parts of a recipe: settings as written, layout, role.

A place (path, port, address, rank, name of a server) is no setting and is left out.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.questions.launches.script import UNKNOWN
from ingest.questions.launches.variables import NOT_TUNED_ENVIRONMENT
from kg.nouns.recipe import RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.terms.dialects import positive, statement
from kg.terms.meanings import meaning_of, table

PLACES = frozenset(table("left_out")["place"])
"""Flags that say where something is and for whom it runs."""

_PLACE_VARIABLES = re.compile(r"_SCRIPT$|USE_MODELSCOPE$|^TORCHINDUCTOR_CACHE")
"""Variables that say where to find something, beside those that no question takes either."""

_PLACE_FIELDS = frozenset(table("left_out")["place_fields"])
"""Fields of JSON flags that say the same; a model there is kept if it is a name on a hub."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_OPTION, _SHORT = re.compile(r"--?[A-Za-z]"), re.compile(r"-[A-Za-z]")

LAYOUT = ("tp", "pp", "dp", "cp", "dcp", "ep", "etp", "moe_dense_tp", "micro_batch")
"""Sizes that a recipe states as its layout."""
TRAINERS = frozenset({"megatron-lm", "mindspeed-llm", "mindspeed-mm"})
READ = frozenset({"vllm", "vllm-ascend", "sglang"}) | TRAINERS
"""Frameworks whose commands are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandParts:
    """The parts of a recipe that a command states.

    Attributes:
        settings: What it sets, environment first.
        layout: Parallel sizes.
        role: The part of a deployment that it launches.
        unknown: Keys whose value could not be filled in.
        faults: Sizes that are no numbers, or have no value.
    """

    settings: tuple[RecipeSetting, ...]
    layout: Mapping[str, int | bool]
    role: Role
    unknown: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def command_parts(
    framework: str, words: Sequence[str], environment: Mapping[str, str], *, devices: int | None = None
) -> CommandParts:
    """The parts of a recipe in one command.

    Args:
        framework: One of :data:`READ`.
        words: The command's options; words before the first option are passed over.
        environment: Variables that are exported to it.
        devices: Devices in all, from which data parallelism follows in training; None if not known.
    """
    items: list[RecipeSetting] = []
    unknown: list[str] = []
    for name, value in environment.items():
        _put(items, unknown, SettingPlace.ENV, name, value)
    for flag, values in _options(words):
        meaning = meaning_of(flag, framework) if _SHORT.match(flag) else None
        key = flag if meaning is None else meaning.key
        if key.lstrip("-") in PLACES:
            continue
        text = " ".join(values)
        content = _object(text)
        if content is not None:
            stem = key.lstrip("-").replace("-", "_")
            for name, value in _leaves(content, stem):
                _put(items, unknown, SettingPlace.JSON, name, value)
        else:
            _put(items, unknown, SettingPlace.FLAG, key, text if values else "true")
    flags = {item.key: item.value for item in items if item.where is SettingPlace.FLAG}
    return CommandParts(
        settings=tuple(items),
        layout=layout_of(framework, flags, devices),
        role=_role(framework, items, flags),
        unknown=tuple(unknown),
        faults=tuple(_faults(framework, flags, unknown)),
    )


def _put(items: list[RecipeSetting], unknown: list[str], where: SettingPlace, key: str, value: str) -> None:
    last = key.rpartition(".")[2]
    if key == "LD_PRELOAD" and where is SettingPlace.ENV:
        value = value.partition(":")[0].rpartition("/")[2]
    elif where is SettingPlace.ENV and (NOT_TUNED_ENVIRONMENT.search(key) or _PLACE_VARIABLES.search(key)):
        return
    if not value:
        return
    if (
        where is SettingPlace.JSON
        and last in _PLACE_FIELDS
        and not (last == "model" and _HUB_NAME.fullmatch(value))
    ):
        return
    if UNKNOWN in value or value.startswith("$"):
        unknown.append(key)
    else:
        items.append(RecipeSetting(where=where, key=key, value=value))


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each option with its values, in order."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if _OPTION.match(word):
            name, equals, value = word.partition("=")
            found.append((name, [value] if equals else []))
        elif found:
            found[-1][1].append(word)
    return iter(found)


def _object(text: str) -> dict[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _leaves(content: object, path: str) -> Iterator[tuple[str, str]]:
    """Innermost values under dotted names; a list of objects by position, any other list as JSON."""
    if isinstance(content, dict):
        for name, inner in content.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        for place, item in enumerate(content):
            yield from _leaves(item, f"{path}[{place}]")
    elif isinstance(content, str):
        yield path, content
    else:
        yield path, json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _faults(framework: str, flags: Mapping[str, str], unknown: Sequence[str]) -> Iterator[str]:
    for flag, value in (*flags.items(), *dict.fromkeys(unknown, "").items()):
        meaning = meaning_of(flag, framework)
        if meaning is None or meaning.fact not in LAYOUT or meaning.product:
            continue
        if flag in unknown:
            yield f"the value of {flag} is not set here"
        elif positive(value) is None:
            yield f"{flag} {value!r} is no positive whole number"


def layout_of(framework: str, flags: Mapping[str, str], devices: int | None) -> dict[str, int | bool]:
    """The parallel sizes that flags state; in training also that of the data, by the devices."""
    stated = statement(flags, framework).program_facts
    layout: dict[str, int | bool] = {
        name: size for name in LAYOUT if (size := positive(stated.get(name))) is not None
    }
    split = math.prod(layout.get(name, 1) for name in ("tp", "pp", "cp"))
    if "dp_attention" in stated:
        layout["dp_attention"] = True
    elif devices is not None and devices % split == 0:
        layout["dp"] = devices // split
    return layout


def _role(framework: str, items: Sequence[RecipeSetting], flags: Mapping[str, str]) -> Role:
    if framework in TRAINERS:
        return Role.FINETUNE if {"--finetune", "--stage"} & set(flags) else Role.TRAIN
    given = {item.key: item.value for item in items}
    said = given.get("kv_transfer_config.kv_role") or given.get("--disaggregation-mode")
    return {
        "kv_producer": Role.PREFILL,
        "prefill": Role.PREFILL,
        "kv_consumer": Role.DECODE,
        "decode": Role.DECODE,
    }.get(said or "", Role.SERVE)
