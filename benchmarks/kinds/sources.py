"""What situations are drawn from: official recipes, the settings that engines' parsers take, models and hardware.

None of it is the product's own grammar: recipes are what others published, settings are read from each release's
source, and models and hardware are the lists of the graph with their documented facts.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

import data

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ROOT = Path(data.__file__).parent
_PARSED_BELOW = ("vllm", "megatron-lm", "mindspeed")
"""Software whose parser the programs above it extend."""
_SIXTEEN_GB = 16e9
_TENSOR_FLOPS = 1e14
"""Peak from which a part is one that language models run on: 100 Tflop/s of 16-bit operations (a V100 has 125)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model of the graph.

    Attributes:
        id: Its name in the graph.
        spellings: What people write: label, aliases, the repository of its configuration.
        architecture: Such as ``"decoder"``.
        facts: Its documented sizes.
    """

    id: str
    spellings: tuple[str, ...]
    architecture: str
    facts: Mapping[str, object]

    def size(self, name: str) -> float:
        """A number among its facts; 0 where none is known."""
        value = self.facts.get(name)
        return float(value) if isinstance(value, int | float) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChip:
    """A device or a server of the graph.

    Attributes:
        id: Its name in the graph.
        spellings: What people write.
        vendor: Who makes it.
        memory_bytes: Of one device; 0 where unknown.
        is_for_models: Whether language models run on such parts.
    """

    id: str
    spellings: tuple[str, ...]
    vendor: str
    memory_bytes: float
    is_for_models: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that a launch starts.

    Attributes:
        name: Such as ``"vllm-ascend"``.
        is_known: Whether the graph lists it.
        trains: Whether it trains; else it serves.
        vendors: Whose chips it runs on, as the graph lists them; empty where it does not.
    """

    name: str
    is_known: bool
    trains: bool
    vendors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSetting:
    """A setting as the parser of a release takes it.

    Attributes:
        spellings: The flag and its other names, or the path or variable.
        place: ``flag``, ``env``, ``json`` or ``yaml``.
        kind: Type of its value; empty where the parser does not say.
        choices: Its only values, where it has such.
        low: Least value, where the parser says.
        high: Largest value, where the parser says.
        default: What holds where it is not set.
    """

    spellings: tuple[str, ...]
    place: str
    kind: str
    choices: tuple[object, ...]
    low: float | None
    high: float | None
    default: object


class EngineParsers:
    """The settings of each program by release, read from the files that are mined from their sources."""

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """Programs whose parser was read."""
        return tuple(sorted(path.stem for path in (_ROOT / "settings").glob("*.json")))

    @cache  # noqa: B019  one object lives as long as the process
    def releases(self, program: str) -> tuple[str, ...]:
        """The releases of a program, oldest first; without branches."""
        if program not in self.programs:
            return ()
        return tuple(
            name for name, _ in _content(program)["releases"] if "@" not in name and "dev" not in name
        )

    @cache  # noqa: B019
    def settings(self, program: str, release: str) -> tuple[ParsedSetting, ...]:
        """What the parser of a release takes; of the software below it too."""
        content = _content(program)
        names = [name for name, _ in content["releases"]]
        at = names.index(release)
        found = [
            _setting(entry, names, at)
            for entry in content["settings"]
            if (names.index(entry["since"]) if entry.get("since") in names else 0)
            <= at
            < _removed(entry, names)
        ]
        for below, by_release in content.get("beneath", {}).items():
            if below in _PARSED_BELOW and by_release.get(release) in self.releases(below):
                found += self.settings(below, by_release[release])
        return tuple(found)

    def find(self, program: str, release: str, pattern: str) -> ParsedSetting | None:
        """The first setting of a release one of whose spellings matches."""
        for item in self.settings(program, release):
            if any(re.fullmatch(pattern, name) for name in item.spellings):
                return item
        return None


@cache
def _content(program: str) -> Mapping[str, Any]:
    text = (_ROOT / "settings" / f"{program}.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def _removed(entry: Mapping[str, Any], names: Sequence[str]) -> int:
    removed = entry.get("removed")
    return names.index(removed) if removed in names else len(names)


def _setting(entry: Mapping[str, Any], names: Sequence[str], at: int) -> ParsedSetting:
    form = dict(entry)
    for release, before in entry.get("before", ()):
        if release in names and at < names.index(release):
            form = {
                "key": entry["key"],
                "place": entry["place"],
                "default": entry.get("default", ()),
                **before,
            }
            break
    default = None
    for release, *value in entry.get("default", ()):  # a release alone: none is known
        if release not in names or names.index(release) <= at:
            default = value[0] if value else None
    return ParsedSetting(
        spellings=(form["key"], *form.get("aliases", ())),
        place=form["place"],
        kind=form.get("type", ""),
        choices=tuple(form.get("choices", ())),
        low=form.get("low"),
        high=form.get("high"),
        default=default,
    )


@cache
def _yaml(path: Path) -> Mapping[str, Any]:
    with path.open(encoding="utf-8") as opened:
        content: Mapping[str, Any] = yaml.load(opened, yaml.CSafeLoader)
    return content


def _first(stated: Any) -> Mapping[str, Any]:
    """The first of the sources that state a fact."""
    fact: Mapping[str, Any] = stated[0] if isinstance(stated, list) else stated
    return fact


@cache
def models() -> tuple[ListedModel, ...]:
    """The models of the graph."""
    found = []
    for path in sorted((_ROOT / "models").glob("*.yaml")):
        content = _yaml(path)
        pages = {
            name: source["title"].partition(", config.json")[0]
            for name, source in content["sources"].items()
            if source["title"].endswith(", config.json") and "/" in source["title"]
        }
        for entry in content["models"]:
            facts = {name: _first(fact) for name, fact in (entry.get("facts") or {}).items()}
            cited = {pages[fact["source"]] for fact in facts.values() if fact["source"] in pages}
            found.append(
                ListedModel(
                    id=entry["id"],
                    spellings=(entry["id"], entry["label"]["en"], *entry.get("aliases", ()), *sorted(cited)),
                    architecture=entry["architecture"],
                    facts={name: fact["value"] for name, fact in facts.items()},
                )
            )
    return tuple(found)


@cache
def chips() -> tuple[ListedChip, ...]:
    """The devices and servers of the graph, each with the vendor it is of."""
    entries = {
        entry["id"]: entry
        for path in sorted((_ROOT / "hardware").glob("*.yaml"))
        for entry in _yaml(path)["hardware"]
    }
    found = []
    for entry in entries.values():
        if entry["level"] not in {"device", "server", "family"}:
            continue
        device = entries.get((entry.get("contains") or {}).get("device", ""), entry)
        facts: dict[str, float] = {}
        node: Mapping[str, Any] | None = device
        above = entry["id"]
        while node is not None:
            above = node["id"]
            for name, stated in (node.get("facts") or {}).items():
                if isinstance(value := _first(stated)["value"], int | float):
                    facts.setdefault(name, value)
            node = entries.get(node.get("broader", ""))
        memory = facts.get("memory_bytes", 0.0)
        peak = max(facts.get("peak_bf16_flops", 0.0), facts.get("peak_fp16_flops", 0.0))
        found.append(
            ListedChip(
                id=entry["id"],
                spellings=(entry["id"], *entry["label"].values(), *entry.get("aliases", ())),
                vendor=above,
                memory_bytes=memory,
                is_for_models=memory >= _SIXTEEN_GB and peak >= _TENSOR_FLOPS and entry["level"] != "family",
            )
        )
    return tuple(found)


@cache
def programs(recipes: tuple[OfficialRecipe, ...]) -> tuple[Program, ...]:
    """The programs that launch whole models: those of the graph, and those of the recipes that it does not list."""
    listed = _yaml(_ROOT / "knowledge" / "frameworks.yaml")["frameworks"]
    known = {
        entry["id"]: Program(
            name=entry["id"],
            is_known=True,
            trains="training" in entry["phases"],
            vendors=tuple(entry["hardware"]),
        )
        for entry in listed
        if {"training", "inference"} & set(entry["phases"])
    }
    for recipe in recipes:
        if recipe.program not in known:
            known[recipe.program] = Program(
                name=recipe.program, is_known=False, trains=recipe.phase == "training", vendors=()
            )
    return tuple(known.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRecipe:
    """A configuration that somebody publishes, as its line states it.

    Attributes:
        id: Its line.
        program: What it launches.
        model: As published.
        hardware: Node of the graph that the line names; empty where it names none.
        is_gpu: Whether a line without such a node says that it is of a GPU.
        devices: In all.
        phase: As the product calls it.
        precision: As stated; empty where it is not.
        load: Lengths and concurrency as stated.
        settings: Place, key and value of what it sets, in order.
    """

    id: str
    program: str
    model: str
    hardware: str
    is_gpu: bool
    devices: int
    phase: str
    precision: str
    load: Mapping[str, int]
    settings: tuple[tuple[str, str, str], ...]

    def __hash__(self) -> int:
        """By its line."""
        return hash(self.id)


_PHASES = {
    "serve": "serving",
    "prefill": "prefill",
    "decode": "decode",
    "train": "training",
    "finetune": "training",
}
_LOADS = ("input_len", "output_len", "concurrency", "seq_len")


def official_recipes(folders: Iterable[Path]) -> tuple[OfficialRecipe, ...]:
    """The shipped recipes, and those of folders that hold more, in the order of their names."""
    files = sorted((_ROOT / "recipes").glob("*.jsonl"))
    for folder in folders:
        files += sorted(folder.rglob("recipes.jsonl"))
    found: dict[str, OfficialRecipe] = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            context = row.get("context") or {}
            found[row["id"]] = OfficialRecipe(
                id=row["id"],
                program=row["framework"],
                model=row.get("reported_model") or row["model"],
                hardware=row.get("hardware_node") or (row.get("hardware") or "" if "role" in row else ""),
                is_gpu=any(
                    word in str(row.get("hardware")) for word in ("GPU", "H100", "H200", "B200", "MI3")
                ),
                devices=row["devices"],
                phase=_PHASES.get(row.get("role") or row.get("phase", ""), "serving"),
                precision=row.get("precision") or "",
                load={name: context[name] for name in _LOADS if isinstance(context.get(name), int)},
                settings=tuple((item["where"], item["key"], str(item["value"])) for item in row["settings"]),
            )
    return tuple(found.values())


def by_program(recipes: Iterable[OfficialRecipe]) -> dict[str, list[OfficialRecipe]]:
    """Recipes of each program."""
    found: dict[str, list[OfficialRecipe]] = defaultdict(list)
    for recipe in recipes:
        found[recipe.program].append(recipe)
    return dict(found)
