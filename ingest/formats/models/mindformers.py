"""MindFormers model cards: a table of throughput whose rows link the YAML that was run.

Configuration and outcome are in different files; the machine is in the sentence above the table. A row
whose YAML is not at hand is a fault, because a throughput without its configuration is no tuning case.
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.markdown import MarkdownTable, Text, first_link, load_markdown, parse_blocks, strip_markup
from ingest.files.safe_yaml import MAXIMUM_BYTES, load_yaml
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_COLUMNS = {"Config", "Task", "Performance", "Phase"}
_MACHINE = re.compile(r"由([^由]+?)硬件环境下")
_PERFORMANCE = re.compile(r"([\d.,]+)\s*(tokens?|samples?|images?)\s*/\s*s\s*(/\s*p)?", re.IGNORECASE)
_PHASES = {
    "predict": ("serving", "llm_generate"),
    "pretrain": ("training", "pretrain"),
    "finetune": ("training", "finetune"),
    "train": ("training", "train"),
}
_KEPT = (
    *("runner_config", "parallel", "parallel_config", "micro_batch_interleave_num", "recompute_config"),
    *("moe_config", "swap_config"),
)
"""Sections of the YAML that set how it runs."""
_KEPT_OF_CONTEXT = ("mode", "max_device_memory", "mempool_block_size", "memory_optimize_level", "jit_config")
_KEPT_OF_MODEL = (
    *("use_flash_attention", "fine_grain_interleave", "use_past", "block_size", "num_blocks", "qkv_concat"),
    *("is_dynamic", "batch_size"),
)
_SHAPE = {
    "seq_length": "seq_len",
    "hidden_size": "hidden_size",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "n_kv_heads": "kv_heads",
    "vocab_size": "vocab_size",
}
MAXIMUM_PARALLEL = 100_000
"""A larger parallel size is a mistake."""

_PARALLEL = ("data_parallel", "model_parallel", "pipeline_stage", "context_parallel")


def sniff(head: Head) -> bool:
    """True if a table has the columns of a model card and links YAML."""
    return any(
        line.lstrip().startswith("|") and all(name in line for name in _COLUMNS)
        for line in head.text.splitlines()
    )


def companion(head: Head) -> str:
    """The reason why a configuration is not read by itself; empty for other files."""
    is_one = head.name.endswith((".yaml", ".yml")) and all(
        mark in head.text for mark in ("runner_config:", "parallel_config:")
    )
    return "a configuration of MindFormers, read together with the model card that links it" if is_one else ""


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row whose YAML is found."""
    try:
        lines = load_markdown(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    machine = ""
    for block in parse_blocks(lines):
        if isinstance(block, Text):
            if (named := _MACHINE.search(block.text)) is not None:
                machine = named[1].strip()
        elif isinstance(block, MarkdownTable) and set(block.header) >= _COLUMNS:
            for line, count in block.uneven:
                reason = f"{count} cells, where the header has {len(block.header)}"
                yield Fault(place=f"line {line}", reason=reason)
            for line, cells in block.rows:
                row = dict(zip(block.header, cells, strict=True))
                try:
                    record = _record(row, machine or records.context.hardware, content, records)
                    yield case_or_fault(records, f"line {line}", record)
                except ContentError as fault:
                    yield Fault(place=f"line {line}", reason=str(fault))


def _record(row: Mapping[str, str], machine: str, content: Content, records: Records) -> dict[str, object]:
    if not machine:
        raise ContentError("no sentence above the table names the machine; tell it with --hardware")
    outcome = _outcome(row["Performance"])
    phase = strip_markup(row["Phase"]).lower()
    kind, operator = _PHASES.get(phase, ("", ""))
    if not kind:
        raise ContentError(f"phase {phase[:40]!r} is unknown")
    settings = _configuration(row["Config"], content.path.absolute().parent, records)
    config, shape, precision = _of_settings(settings)
    hardware: dict[str, object] = {"name": machine}
    given = [settings.get("parallel_config", {}).get(name, 1) for name in _PARALLEL]
    sizes = [size for size in given if isinstance(size, int) and 0 < size < MAXIMUM_PARALLEL]
    if kind == "training" and len(sizes) == len(given):
        hardware["count"] = math.prod(sizes)
        records.guess("the number of devices is the product of the parallel sizes in the YAML")
    if row.get("SeqLength", "").strip().isdigit():
        shape["seq_len"] = int(row["SeqLength"])
    return {
        "task": {
            "kind": kind,
            "op": operator,
            "model": strip_markup(row["Config"]),
            "shape": shape,
            "dtype": precision,
        },
        "hardware": hardware,
        "config": {"framework": "mindformers"} | config,
        "outcome": outcome,
        "source": {"title": "MindFormers model card", "path": content.reference},
    }


def _outcome(cell: str) -> dict[str, object]:
    found = _PERFORMANCE.fullmatch(strip_markup(cell))
    if found is None:
        raise ContentError(f"performance {cell[:40]!r} is no rate such as 337 tokens/s/p")
    symbol = f"{found[2].lower()}/s" + ("/p" if found[3] else "")
    value = parse_number(found[1].replace(",", ""), "Performance")
    return {"metric": "throughput", "unit": symbol, "value": value, "status": "ok"}


def _configuration(cell: str, folder: Path, records: Records) -> dict[str, dict[str, object]]:
    """The sections of the YAML that a cell links.

    Raises:
        ContentError: It links none, or none is at hand.
    """
    link = unquote(first_link(cell).partition("#")[0])
    if not link.endswith((".yaml", ".yml")) or "://" in link:
        raise ContentError("links no YAML, so its configuration is unknown")
    try:
        path = _linked(link, folder, records)
    except ContentError:
        raise
    except (OSError, ValueError) as fault:  # too long for a name, or with a NUL in it
        raise ContentError(f"its configuration {link[:60]!r} is no path") from fault
    try:
        with path.open("rb") as stream:
            settings = load_yaml(stream.read(MAXIMUM_BYTES + 1))
    except OSError as fault:
        raise ContentError(f"its configuration {link} cannot be read ({fault.strerror})") from fault
    except ContentError as fault:
        raise ContentError(f"its configuration {link}: {fault}") from fault
    if not isinstance(settings, dict):
        raise ContentError(f"its configuration {link} has no sections")
    return {str(name): item if isinstance(item, dict) else {"": item} for name, item in settings.items()}


def _linked(link: str, folder: Path, records: Records) -> Path:
    """The file that a link means: at its place under the folder, else beside the card.

    Raises:
        ContentError: It is outside of the folder, or nowhere.
        OSError: The link is no path.
        ValueError: Likewise.
    """
    path = (folder / link).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ContentError(f"its configuration {link} is outside of the card's folder, and is not opened")
    if path.is_file():
        return path
    beside = folder / path.name
    if not beside.is_file():
        raise ContentError(f"its configuration {link} is not there, so nothing is known of how it ran")
    records.guess(f"{link} is not there; {path.name} beside the card is taken for it")
    return beside


def _of_settings(
    settings: Mapping[str, Mapping[str, object]],
) -> tuple[dict[str, object], dict[str, object], object]:
    """Configuration, shape and number format of a YAML."""
    config: dict[str, object] = {}
    for section in _KEPT:
        _flatten(section, settings.get(section), config)
    context = settings.get("context", {})
    for name in _KEPT_OF_CONTEXT:
        if name in context:
            _flatten(f"context.{name}", context[name], config)
    model = settings.get("model", {}).get("model_config")
    if not isinstance(model, dict):
        model = {}
    for name in _KEPT_OF_MODEL:
        if name in model:
            config[f"model_config.{name}"] = model[name]
    shape = {name: model[key] for key, name in _SHAPE.items() if isinstance(model.get(key), int)}
    precision = model.get("compute_dtype")
    return config, shape, precision if isinstance(precision, str) else None


def _flatten(name: str, item: object, config: dict[str, object]) -> None:
    if isinstance(item, dict):
        for key, value in item.items():
            _flatten(f"{name}.{key}" if key != "" else name, value, config)
    elif item is not None and item != "":
        config[name] = parse_value(item)


FORMAT = Format(
    name="mindformers",
    title="MindFormers model card (Markdown that links YAML)",
    sniff=sniff,
    read=read,
    beside=None,
    companion=companion,
)
