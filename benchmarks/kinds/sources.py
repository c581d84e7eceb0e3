"""Lists that situations are drawn from: official recipes, settings of engines' parsers, models and hardware.

None of it is the product's own grammar: recipes are what others published, settings are read from each release's
source, and models and hardware are the lists of the graph with their documented facts.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

import data
from kg.terms.setting_registry import softwares
from tools.oracle.facts import facts, releases

_ROOT = Path(data.__file__).parent
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
        kinds: What it is part of, its maker among them.
        memory_bytes: Of one device; 0 where unknown.
        is_for_models: Whether language models run on such parts.
    """

    id: str
    spellings: tuple[str, ...]
    vendor: str
    kinds: frozenset[str]
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
        high: Largest value, where the parser says.
        default: What holds where it is not set.
    """

    spellings: tuple[str, ...]
    place: str
    kind: str
    choices: tuple[object, ...]
    high: float | None
    default: object


class EngineParsers:
    """The settings of each program by release, as the oracle of settings reads them from its sources."""

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """Programs whose settings were read."""
        return softwares()

    @cache  # noqa: B019  one object lives as long as the process
    def releases(self, program: str) -> tuple[str, ...]:
        """The releases of a program, oldest first; without branches."""
        if program not in self.programs:
            return ()
        return tuple(name for name in releases(program) if "@" not in name and "dev" not in name)

    @cache  # noqa: B019
    def settings(self, program: str, release: str) -> tuple[ParsedSetting, ...]:
        """Settings that the parser of a release accepts, with fields of its JSON and variables it reads."""
        known = facts(program, release)
        return tuple(
            ParsedSetting(
                spellings=(key, *entry.get("aliases", ())),
                place=place,
                kind=entry.get("type", ""),
                choices=tuple(entry.get("choices", ())),
                high=entry.get("high"),
                default=next(iter(entry.get("default") or ()), None),
            )
            for place, table in (("flag", known.flags), ("json", known.fields), ("env", known.variables))
            for key, entry in table.items()
            if not (place == "json" and known.file)
        )

    def find(self, program: str, release: str, pattern: str) -> ParsedSetting | None:
        """The first setting of a release one of whose spellings matches."""
        for item in self.settings(program, release):
            if any(re.fullmatch(pattern, name) for name in item.spellings):
                return item
        return None


@cache
def _yaml(path: Path) -> Mapping[str, Any]:
    with path.open(encoding="utf-8") as opened:
        content: Mapping[str, Any] = yaml.load(opened, yaml.CSafeLoader)
    return content


def _first(stated: Any) -> Mapping[str, Any]:
    """The first of the sources that state a fact."""
    fact: Mapping[str, Any] = stated[0] if isinstance(stated, list) else stated
    return fact


def _pages(entry: Mapping[str, Any], pages: Mapping[str, str]) -> list[str]:
    """The repositories whose configuration states facts of a model."""
    stated = map(_first, (entry.get("facts") or {}).values())
    return sorted({pages[fact["source"]] for fact in stated if fact["source"] in pages})


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
        users = Counter(page for entry in content["models"] for page in _pages(entry, pages))
        for entry in content["models"]:
            sizes = {name: _first(fact) for name, fact in (entry.get("facts") or {}).items()}
            own = [page for page in _pages(entry, pages) if users[page] == 1]  # not that of a relative
            found.append(
                ListedModel(
                    id=entry["id"],
                    spellings=(entry["id"], entry["label"]["en"], *entry.get("aliases", ()), *own),
                    architecture=entry["architecture"],
                    facts={name: fact["value"] for name, fact in sizes.items()},
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
        numbers: dict[str, float] = {}
        node: Mapping[str, Any] | None = device
        above, kinds = entry["id"], set[str]()
        while node is not None:
            above = node["id"]
            kinds.add(above)
            for name, stated in (node.get("facts") or {}).items():
                if isinstance(value := _first(stated)["value"], int | float):
                    numbers.setdefault(name, value)
            node = entries.get(node.get("broader", ""))
        memory = numbers.get("memory_bytes", 0.0)
        peak = max(numbers.get("peak_bf16_flops", 0.0), numbers.get("peak_fp16_flops", 0.0))
        found.append(
            ListedChip(
                id=entry["id"],
                spellings=(entry["id"], *entry["label"].values(), *entry.get("aliases", ())),
                vendor=above,
                kinds=frozenset(kinds),
                memory_bytes=memory,
                is_for_models=memory >= _SIXTEEN_GB and peak >= _TENSOR_FLOPS and entry["level"] != "family",
            )
        )
    return tuple(found)


@cache
def stacks() -> Mapping[str, frozenset[str]]:
    """The software below each program of the graph, whose settings it passes on."""
    listed = _yaml(_ROOT / "knowledge" / "frameworks.yaml")["frameworks"]
    return {entry["id"]: frozenset(entry.get("stack", ())) for entry in listed}


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
        """Hash its line."""
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
