"""The settings of one release of a program, from a folder with its sources."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kg.nouns.release import release_key
from tools.oracle.settings.arguments import flags
from tools.oracle.settings.clap_fields import clap_arguments
from tools.oracle.settings.class_flags import annotated_flags, class_arguments
from tools.oracle.settings.cpp_table import table_arguments
from tools.oracle.settings.environment import native_variables, variables
from tools.oracle.settings.fields import Field, Kind, fields_of, forbids
from tools.oracle.settings.mappings import json_fields
from tools.oracle.settings.plans import SYSTEM, Plan
from tools.oracle.settings.refusals import add_refusals
from tools.oracle.settings.resolution import add_resolutions
from tools.oracle.settings.source import Mined, Sources
from tools.oracle.settings.trainers import dictionary_keys, yaml_keys


def mine(plan: Plan, folder: Path, release: str = "main") -> list[Mined]:
    """The settings of one release of a program, in order of place and key.

    Args:
        plan: Where it keeps them.
        folder: Its sources; a folder that holds an installed package counts as well.
        release: Its name.
    """
    found: dict[tuple[str, str], Mined] = {}
    disputed: set[int] = set()

    def add(item: Mined) -> None:
        known = found.setdefault((item.place, item.key), item)
        is_shown = known.carrier == "configuration"  # by its value in a file, which a class knows better
        if plan.several and (known.type != item.type or (is_shown and known.type in {"int", "float"})):
            disputed.add(id(known))
            known.type = "any"
        elif (
            id(known) not in disputed
            and item.type != "any"
            and ((known.type == "any" and not known.choices) or (is_shown and item.carrier != known.carrier))
        ):
            known.type = item.type
        if ("megatron" in known.path) == ("megatron" in item.path):  # else of another program's parser
            known.choices = known.choices or item.choices
        if plan.several and (item.place == "yaml" or (item.stated and known.default != item.default)):
            known.stated = False

    environment = {item.key: item for item in _variables(plan, folder)}
    for item in (*_flags(plan, folder), *environment.values()):
        add(item)
    for item in _fields(plan, folder, [item for item in found.values() if item.place == "flag"]):
        add(item)
    if plan.readers:
        sources = Sources(folder, plan.readers)
        for item in json_fields(sources, plan.roots, environment, plan.wanted):
            add(item)
    told = (Mined(key=key, **said) for key, said in plan.facts.items() if "place" in said)
    for item in (*_described(plan, folder), *_trainer(plan, folder), *told):
        add(item)
    for item in found.values():
        item.open = item.open and item.key not in plan.closed
        told_of = plan.facts.get(item.key, {})
        is_yet = release_key(release) >= release_key(told_of.get("since", "0"))
        for name, value in told_of.items() if is_yet else ():
            if name == "since":
                continue
            setattr(item, name, tuple(value) if isinstance(value, list) else value)
            item.stated = item.stated or name == "default"
    if plan.checks:
        add_refusals(Sources(folder, plan.checks), found.values())
    if plan.resolution:
        sources = Sources(folder, (*plan.arguments, *plan.annotated, *plan.library))
        add_resolutions(sources, plan.resolution, found.values())
    for item in found.values():
        if item.key in plan.writers and release_key(release) >= release_key(plan.writers[item.key]):
            item.resolved = tuple(
                (str(case[0]).replace("plain decoder", "text writer"), *case[1:]) for case in item.resolved
            )
    _place_in_submodule(plan, folder, found.values())
    return sorted(found.values(), key=lambda item: (item.place, item.key))


def _place_in_submodule(plan: Plan, folder: Path, items: Iterable[Mined]) -> None:
    """Give what another repository defines its address there."""
    if plan.submodule:
        inner, address, named = plan.submodule
        ref = (folder / named).read_text(encoding="utf-8").strip()
        for item in items:
            _, is_inside, path = item.path.partition(f"{inner}/")
            item.path = address.format(ref=ref, path=f"{path}#L{item.line}") if is_inside else item.path


def _flags(plan: Plan, folder: Path) -> Iterator[Mined]:
    sources = Sources(folder, (*plan.arguments, *plan.annotated, *plan.library))
    wanted = {module.path for module in Sources(folder, plan.arguments).modules}
    yield from (item for item in flags(sources, plan.entry) if item.path in wanted or _made_of_class(item))
    wanted = {module.path for module in Sources(folder, plan.annotated).modules}
    if wanted:
        yield from (item for item in annotated_flags(sources) if item.path in wanted)


def _made_of_class(item: Mined) -> bool:
    return item.path.startswith(("vllm/config", "megatron/"))


def _variables(plan: Plan, folder: Path) -> Iterator[Mined]:
    seen: set[str] = set()
    for item in (
        *variables(Sources(folder, plan.environment), SYSTEM),
        *native_variables(folder, plan.native),
    ):
        if (
            item.key not in seen
            and item.key not in SYSTEM
            and not item.key.startswith(plan.foreign or ("\0",))
        ):
            seen.add(item.key)
            yield item


def _fields(plan: Plan, folder: Path, carriers: list[Mined]) -> Iterator[Mined]:
    """Fields of flags whose JSON is a configuration class."""
    if not plan.config:
        return
    sources = Sources(folder, plan.library)
    root = {
        name: item
        for config in plan.config
        for name, item in fields_of(sources, config).items()
        if item.kind.nested
    }
    for flag in carriers:
        name = flag.key.lstrip("-").replace("-", "_")
        if name in root:
            flag.forbids = forbids(sources, root[name].kind.nested, by_keyword=flag.open)
            yield from _below(sources, root[name], name, ("json", flag.key))


def _below(
    sources: Sources, owner: Field, path: str, place: tuple[str, str], depth: int = 0
) -> Iterator[Mined]:
    """Fields of a configuration class and of those in it, as settings of a place and what carries them."""
    for item in fields_of(sources, owner.kind.nested, owner.module).values():
        if not item.init or depth > 3:
            continue
        above = f"{path}." if path else ""
        key = f"{above}{item.alias or item.key}"
        if place[0] != "flag" or not item.kind.nested:
            made = item.as_setting(f"--{key}" if place[0] == "flag" else key, place[0])
            made.carrier = place[1]
            made.aliases = (f"{above}{item.key}",) if item.alias else ()
            made.replaced_by = f"{above}{item.successor}" if item.successor else ""
            made.stated = item.stated and not isinstance(item.default, dict)
            made.folds = "enum" in item.kind.parts
            made.forbids = bool(item.kind.nested) and forbids(sources, item.kind.nested, by_keyword=False)
            yield made
        if item.kind.nested:
            yield from _below(sources, item, key, place, depth + 1)


def _sections(plan: Plan, sources: Sources) -> Iterator[Mined]:
    """Settings of configuration classes that stand under a path of their own, in each of its places."""
    for section, name in ((path, name) for path, names in plan.sections.items() for name in names):
        found = sources.class_named(name)
        if found is None:
            continue
        owner = Field(key=section, place="", kind=Kind(type="object", nested=name), module=found[1], path="")
        for place, carrier in plan.places.items():
            if place == "json":
                yield Mined(
                    key=section,
                    place="json",
                    carrier=carrier,
                    path=found[1].path,
                    line=found[0].lineno,
                    type="object",
                    forbids=forbids(sources, name, by_keyword=False),
                    open=not fields_of(sources, name),
                )
            for item in _below(sources, owner, section, (place, carrier)):
                if plan.valued and place == "flag" and item.type == "bool":
                    item.nargs = "?"
                yield item


def _trainer(plan: Plan, folder: Path) -> Iterator[Mined]:
    """Settings of argument classes, of dictionaries and YAML files, and of a table in C++."""
    sources = Sources(folder, plan.library)
    yield from class_arguments(sources, plan.classes)
    keys = list(yaml_keys(folder, plan.hydra))
    yield from keys
    shown = {item.key for item in keys}
    for item in _sections(plan, sources):
        if not shown or item.place != "yaml" or item.key in shown:  # a class may hold what it works out
            yield item
    if plan.file == "json":
        yield from dictionary_keys(sources, plan.places["json"])
    if plan.table.endswith(".rs"):
        yield from clap_arguments(folder, plan.table)
    elif plan.table:
        yield from table_arguments(folder, plan.table, "SERVER")


def _described(plan: Plan, folder: Path) -> Iterator[Mined]:
    """Variables that a page each describes."""
    for path in sorted(folder.glob(plan.named)) if plan.named else ():
        name = re.sub("[（(].*?[)）]", "", path.stem)
        if name.isupper():
            yield Mined(key=name, place="env", path=path.relative_to(folder).as_posix())
