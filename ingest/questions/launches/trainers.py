"""Trainers that are told by flags, ``key=value`` words or a YAML file: model, length, devices, adapters."""

import json
import math
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import PurePosixPath
from types import MappingProxyType

import data
from ingest.door.values import parse_value
from ingest.questions.launches.launch_facts import NOT_READ, LaunchFacts
from ingest.questions.launches.launch_files import staying_files
from ingest.questions.launches.options import LaunchOptions
from ingest.questions.launches.own_script import LOADER, OWN
from ingest.questions.launches.program import POSITIONAL, ProgramSigns, StartedProgram
from ingest.questions.launches.script import UNKNOWN, readable
from kg.nouns.look_up import Standing
from kg.nouns.situation import RECIPE, STAYS
from kg.nouns.values import Value
from kg.terms.dialects import statement
from kg.terms.meanings import meaning_of, table
from kg.terms.setting_registry import registry, softwares

NOT_TUNED = frozenset(table("left_out")["trainer"])
_PRECISIONS = ("bf16", "fp16")
_SIZED = re.compile(r"\d[bB](?![a-z])")
"""In the name of a configuration that a model's size names, as ``llama3_8b.toml``."""
_NAMED_CONFIG = re.compile(r"(?:\./)?(\w+)/([\d.]+B|mini|medium)_\w+(?:\.yaml)?")
"""A configuration of torchtune: family, size and method (https://meta-pytorch.org/torchtune/main/tune_cli.html)."""
_CONFIGURED = "torchtune"
"""Program whose recipes its own configurations are (``data/recipes``)."""
_ALONE = "_single_device"
"""End of the names of its recipes that run on one device."""
_DIGITS = re.compile(r"(?<=\d)_(?=\d)")
"""Stands in the family of a configuration for the point of its release: ``llama3_1``."""
_FULL = frozenset({"full", "false", "none", "0", "sft", "pretrain"})


def read_trainer(
    started: StartedProgram, options: LaunchOptions, environment: Mapping[str, object]
) -> LaunchFacts:
    """The facts of a launch of a trainer.

    Args:
        started: The program, with what launches it.
        options: Its options, with those of the files that it names and that are there.
        environment: Variables exported to it.
    """
    signs = started.signs
    question: dict[str, object] = {"phase": started.phase, "software": {signs.id: ""}}
    notes = options.unreadable(NOT_TUNED)
    _add_configuration(signs.id, options)
    if method := signs.methods.get(started.command):
        question["traits"] = {"method": method}
    if release := _last_that_reads(signs, options):
        question["software"] = {signs.id: release}
        notes.append(f"{signs.id} {release} is the last that is told its settings so")
    if model := options.text(*signs.model):
        size = options.text(f"{signs.model[0].rpartition('.')[0]}.flavor")  # of TorchTitan, beside the family
        question["model"] = f"{model}-{size}" if size else model
    parts = [options.positive(name) or 0 for name in signs.lengths]
    if length := options.positive(*signs.length) or (all(parts) and sum(parts)):
        question["shape"] = {"seq_len" if started.phase == "training" else "input_len": length}
    precision: Value = next((name for name in _PRECISIONS if options.values.get(name) is True), None)
    formats = {name: value for name, value in options.values.items() if name.endswith(("precision", "dtype"))}
    if precision := precision or statement(formats, signs.id).facts.get("precision"):
        question["precision"] = precision
    adapters = {name: str(options.values[name]).lower() for name in signs.lora if name in options.values}
    if said := next((f"{name} {word}" for name, word in adapters.items() if word not in _FULL), ""):
        notes.append(f"only adapters are trained ({said}), the model's own weights are not")
    if (devices := devices_of(started, options, environment)) is not None:
        question["count"] = devices
    files = {name: word for name in signs.file if "." in (word := str(options.values.get(name, "")))}
    files |= {
        word: word
        for word in options.others
        if POSITIONAL in signs.file and word.endswith((".yaml", ".yml", ".json"))
    }
    notes += [f"{NOT_READ} {name}" for name in files.values() if UNKNOWN not in name]
    hint = next((stem for word in files.values() if _SIZED.search(stem := PurePosixPath(word).stem)), "")
    named = (
        _NAMED_CONFIG.fullmatch(str(options.values.get("config", ""))) if signs.id == "torchtune" else None
    )
    if named is not None:
        hint = f"{_DIGITS.sub('.', named[1])}-{named[2]}"
    if hint and "model" not in question:
        question["model"] = hint
    unsaid = {name for name in NOT_TUNED if meaning_of(name, signs.id) is None and name not in LOADER}
    skipped = {*unsaid, *signs.model, *signs.length, *files, "precision"}
    skipped |= {*signs.all} if signs.id == OWN else set()
    skipped -= staying_files(started, options).keys()
    question["current"] = {**environment, **{k: v for k, v in options.values.items() if k not in skipped}}
    places = {name: path for name, path in options.places.items() if name not in skipped}
    in_calls = options.values.keys() - skipped if signs.id == OWN else ()  # and none of a command
    places |= {name: name for name in in_calls}
    if signs.positional and (recipe := next((word for word in options.others if "=" not in word), "")):
        places[RECIPE] = recipe
    elif POSITIONAL in signs.file and not signs.flagged:
        task = next((word for name, word in files.items() if name == word), "")
        places |= {RECIPE: task} if task else {}
    if places:
        question["places"] = places
    return LaunchFacts(question=question, notes=tuple(map(readable, notes)))


def _add_configuration(program: str, options: LaunchOptions) -> None:
    """Add what a program's own configuration says where the launch does not; it stays in its file."""
    if program != _CONFIGURED or "config" not in options.values:
        return
    held = json.loads(data.text("settings/compiled/torchtune.json"))
    said = held.get(str(options.values.get("config", "")).removeprefix("./").removesuffix(".yaml"), {})
    for name, text in said.items():
        if name not in options.values and name not in options.unknown:
            value = parse_value(text)
            options.values[name] = value if isinstance(value, bool | int | float) else text
            options.places[name] = STAYS


def _last_that_reads(signs: ProgramSigns, options: LaunchOptions) -> str:
    """The last release with the option that tells the file of settings; empty where the newest has it."""
    if signs.id not in softwares():
        return ""
    known = registry(signs.id)
    for name in signs.file:
        found = known.at("").look_up(f"--{name}", suggest=False)
        if name in options.values and found.setting is not None and found.standing is Standing.REMOVED:
            return known.last_before(found.setting.removed or "")
    return ""


def devices_of(
    started: StartedProgram, options: LaunchOptions, environment: Mapping[str, object] = MappingProxyType({})
) -> int | None:
    """The devices of all nodes, by the program's own options and variables, else by what launches it."""
    signs = started.signs
    sized = {name: size for name, size in environment.items() if isinstance(size, int) and size > 0}
    if (whole := options.positive(*signs.all) or started.devices("all")) is not None:
        return whole
    axes = [size for name, size in options.values.items() if any(fnmatch(name, one) for one in signs.axes)]
    if axes and all(isinstance(size, int) and size > 0 for size in axes):  # -1 is what is left
        return math.prod(int(str(size)) for size in axes)
    each, nodes = (
        options.positive(*names)
        or next((sized[name] for name in names if name in sized), started.devices(kind))
        for names, kind in ((signs.each, "each"), (signs.nodes, "nodes"))
    )
    if each is None and any(word.endswith(_ALONE) for word in options.others):
        return 1
    return None if each is None else each * (nodes or 1)
