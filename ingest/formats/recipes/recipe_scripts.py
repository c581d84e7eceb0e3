"""Launch scripts as recipes: each launch of vLLM, SGLang or Megatron in a shell script.

A script names neither its address nor its hardware: the options ``source`` and ``hardware`` of an ingest do.
"""

import re
from collections.abc import Iterator, Sequence

from ingest.door.records import RecordError, Records
from ingest.files.content import Content, ContentError
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.recipes.recipe_commands import READ, command_parts
from ingest.formats.recipes.recipe_records import recipe
from ingest.questions.launches import megatron
from ingest.questions.launches.options import parse_options
from ingest.questions.launches.program import StartedProgram, started_program
from ingest.questions.launches.script import ShellCommand
from ingest.questions.launches.shell import read_script
from ingest.questions.launches.trainers import devices_of
from kg.errors import Fault
from kg.nouns import recipe as nouns
from kg.nouns.recipe import SIZES, Authority, Recipe

_MAXIMUM_BYTES = 1 << 20
_LAUNCHES = re.compile(
    r"^[^#\n]*\b(vllm\s+serve|sglang[. ](launch_server|serve)|torchrun|msrun)\b", re.MULTILINE
)
_ASCEND = re.compile(r"ASCEND|HCCL|TASK_QUEUE|_NPU_|torch_npu|mindspeed", re.IGNORECASE)


def sniff(head: Head) -> bool:
    """True if it is a shell script that launches something known."""
    is_shell = head.name.endswith((".sh", ".bash")) or head.text.startswith(
        ("#!/bin/bash", "#!/bin/sh", "#!/usr/bin/env bash")
    )
    return is_shell and _LAUNCHES.search(head.text) is not None


def read(content: Content, records: Records) -> Iterator[Recipe | Fault]:
    """A recipe for each launch."""
    try:
        text = content.read_all(_MAXIMUM_BYTES).decode("utf-8-sig")
    except (ContentError, UnicodeDecodeError) as fault:
        yield Fault(place="", reason=str(fault))
        return
    launches = [(launch, item) for item in read_script(text).commands if (launch := _launch(item, text))]
    for (framework, words, model, devices), command in launches:
        try:
            yield recipe(_record(framework, words, model, devices, command, content, records), records)
        except RecordError as fault:
            yield Fault(place=f"line {command.line}", reason=str(fault))
    if not launches:
        yield Fault(place="", reason="launches nothing that is known")


def _launch(command: ShellCommand, text: str) -> tuple[str, Sequence[str], str, int | None] | None:
    """Framework, options, model and devices of a launch; None if the command is none."""
    started = started_program(command.words)
    if not isinstance(started, StartedProgram) or started.signs.id not in READ:
        return None
    program, words, options = started.signs.id, started.words, parse_options(started.words)
    on_ascend = bool(_ASCEND.search(text))
    if started.signs.reader == "server":
        framework = "vllm-ascend" if on_ascend and program == "vllm" else program
        served = options.text("model_path" if program == "sglang" else "model", "model", "model_path")
        return framework, words, served or next(iter(options.others), ""), None
    framework = "mindspeed-llm" if on_ascend else program
    return framework, words, megatron.model_hint("", options), devices_of(started, options)


def _record(
    framework: str,
    words: Sequence[str],
    model: str,
    devices: int | None,
    command: ShellCommand,
    content: Content,
    records: Records,
) -> dict[str, object]:
    parts = command_parts(framework, words, command.environment, devices=devices)
    for key in parts.unknown:
        records.guess(f"line {command.line}: the value of {key} is not set in the script; left out")
    if parts.faults:
        raise RecordError(list(parts.faults))
    if not model or model.startswith(("\0", "$")):
        model = re.sub(r"[_\W]+", "-", content.path.stem)
        records.guess(f"line {command.line}: the model is not set in the script; named after the file")
    if devices is None:
        devices = nouns.devices_of(parts.layout)
        if not any(name in parts.layout for name in SIZES):
            records.guess(f"line {command.line}: one device, since no parallel size is set")
    return {
        "role": parts.role.value,
        "model": model.rstrip("/").rpartition("/")[2] if model.startswith(("/", ".")) else model,
        "framework": framework,
        "devices": devices,
        "layout": dict(parts.layout),
        "settings": [{"where": s.where.value, "key": s.key, "value": s.value} for s in parts.settings],
        "title": content.path.name,
        "source": records.context.source or None,
        "authority": Authority.THIRD_PARTY.value,
    }


FORMAT = Format(
    name="launch-script",
    title="shell script that launches vLLM, SGLang or Megatron",
    sniff=sniff,
    read=read,
)
