"""Servers of models by their options: vLLM, SGLang, TensorRT-LLM, LMDeploy, llama.cpp, MindIE and others."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ingest.questions.launches.launch_facts import NOT_READ, LaunchFacts
from ingest.questions.launches.options import LaunchOptions
from ingest.questions.launches.program import StartedProgram
from ingest.questions.launches.script import UNKNOWN, readable
from kg.terms.dialects import layout_of
from kg.terms.meanings import degree_of, programs, table
from kg.terms.model_name import read_name

NOT_TUNED = frozenset(table("left_out")["server"])
"""Options of addresses, users and logs of a server, which do not affect speed."""

ADDRESSES = tuple(table("left_out")["address"])
"""Those of them by which the servers of one engine find each other."""

_NAMED = re.compile(r"[^'\"]*/(?=[\w.-]*[A-Za-z])(?![0-9a-f]{12,})[\w.-]+")
"""A path that ends with a name, whatever folder a variable says."""
_ROLES: Mapping[str, str] = MappingProxyType(
    {"kv_producer": "prefill", "kv_consumer": "decode", "prefill": "prefill", "decode": "decode"}
)
"""Words by which engines are told their part of a deployment, and that part."""
_ROLE_KEYS = ("kv_transfer_config.kv_role", "disaggregation_mode")


def read_server(
    started: StartedProgram, options: LaunchOptions, environment: Mapping[str, object]
) -> LaunchFacts:
    """The facts of a server; its devices by the program's defaults where it states no sizes.

    Args:
        started: The program.
        options: Its options, with those of its files.
        environment: Variables that it gets.
    """
    signs = started.signs
    positional = next((word for word in options.others if not word.startswith("-")), None)
    is_first = signs.positional and positional is not None and started.words[:1] == (positional,)
    model = (positional if is_first else options.text(*signs.model)) or (
        positional if signs.positional else None
    )
    question: dict[str, object] = {"phase": "serving", "software": {signs.id: ""}}
    notes = options.unreadable(NOT_TUNED - {"model", "model_path"})
    if (whole := options.positive(*signs.all)) is not None:
        question["count"] = whole
    elif signs.id in programs() and not any(degree_of(name) for name in options.unknown):
        layout = layout_of(options.values, signs.id)
        if layout.devices > 1 or _divides(signs.id):
            question["count"] = layout.devices
    unread = next((options.unknown[name] for name in signs.model if name in options.unknown), "")
    if model is None and _NAMED.fullmatch(unread):
        question["model"] = unread
        notes = [note for note in notes if unread not in note]
    elif model and UNKNOWN in model and _NAMED.fullmatch(readable(model)):
        question["model"] = readable(model)
    elif model and UNKNOWN in model:
        notes.append(f"could not be read: the model is {readable(model)}")
    elif model:
        question["model"] = model
    dtype, is_quantised = options.text("dtype"), "quantization" in options.values
    if dtype and dtype != "auto" and not (is_quantised or read_name(model or "").weights):
        question["precision"] = dtype  # of quantised weights it is what they are widened to
    told = (_ROLES.get(str(options.values.get(key))) for key in _ROLE_KEYS)
    if role := started.role or next(filter(None, told), ""):
        question["traits"] = {"role": role, "disaggregated": True}
    skipped = {*NOT_TUNED, *signs.file, *signs.model}
    settings = {name: value for name, value in options.values.items() if name not in skipped}
    question["current"] = {**environment, **settings}
    places = {name: path for name, path in options.places.items() if name in settings}
    places |= {
        name: f"--{name.replace('_', '-')}"
        for name in ADDRESSES
        if name not in settings and (name in options.values or name in options.unknown)
    }
    if places:
        question["places"] = places
    notes += [f"{NOT_READ} {options.values[name]}" for name in signs.file if name in options.values]
    return LaunchFacts(question=question, notes=tuple(notes))


def _divides(program: str) -> bool:
    """True if a program runs on one device unless a setting divides the model."""
    return program != "llama.cpp"  # it spreads the layers over all devices that it sees
