"""Tables of training throughput in the READMEs of llm-foundry (MPT) and Megatron-Bridge.

A cell such as ``3986 (3546)`` gives two variants of a run: what stands in parentheses in any cell of the row
belongs to the second, which differs in how numbers are quantised. ``n/a`` is a parameter that is not set.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content, ContentError
from ingest.files.markdown import Heading, MarkdownTable, load_markdown, parse_blocks, strip_markup
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_FOUNDRY = "Throughput (T/s/GPU)"
_MEGATRON = "Tokens / sec / GPU"
_FOUNDRY_CONFIG = {
    "MicroBatchSize": "micro_batch",
    "GradAccum": "grad_accum",
    "Precision": "precision",
    "MP Mode": "mp_mode",
    "Sharding Strategy": "sharding",
    "Activation Checkpointing": "act_ckpt",
    "Activation CPUOffload": "act_offload",
}
_MEGATRON_CONFIG = ("MBS", "FSDP", "TP", "PP", "CP", "VP", "EP", "GA")
_PAIR = re.compile(r"(.*?\S)\s*\(([^()]*)\)$")
_CONTAINER = re.compile(r"(\d\d\.\d\d(?:\.\d\d)?) NeMo")
_TASKS = {"Pre-Training Performance": "pretrain"}
_UNSET = {"n/a", "", "-"}


@dataclass(slots=True, kw_only=True)
class _Place:
    """Headings above a table."""

    section: str = ""
    activity: str = ""
    model: str = ""
    system: str = ""


def sniff(head: Head) -> bool:
    """True if a table's header is one of theirs."""
    return any(
        name in line
        for line in head.text.splitlines()
        if line.lstrip().startswith("|")
        for name in (_FOUNDRY, _MEGATRON)
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each row, two for one with values in parentheses."""
    try:
        lines = load_markdown(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    place = _Place()
    for block in parse_blocks(lines):
        if isinstance(block, Heading):
            _enter(place, block)
        elif isinstance(block, MarkdownTable) and (_FOUNDRY in block.header or _MEGATRON in block.header):
            for line, count in block.uneven:
                reason = f"{count} cells, where the header has {len(block.header)}"
                yield Fault(place=f"line {line}", reason=reason)
            for line, cells in block.rows:
                row = dict(zip(block.header, (strip_markup(cell) for cell in cells), strict=True))
                try:
                    made = _foundry(row, place) if _FOUNDRY in row else _megatron(row, place, records)
                    for record in made:
                        yield case_or_fault(
                            records, f"line {line}", record | {"source": _source(content, row)}
                        )
                except (ContentError, KeyError) as fault:
                    reason = f"no column {fault}" if isinstance(fault, KeyError) else str(fault)
                    yield Fault(place=f"line {line}", reason=reason)


def _enter(place: _Place, heading: Heading) -> None:
    if heading.level <= 2:
        place.section, place.activity, place.model, place.system = heading.text, "", "", ""
    elif heading.level == 3:
        place.activity = heading.text
    elif heading.text.startswith("Model:"):
        place.model = heading.text.removeprefix("Model:").strip()
    elif heading.text.startswith("System:"):
        place.system = heading.text.removeprefix("System:").strip()


def _source(content: Content, row: Mapping[str, str]) -> dict[str, object]:
    title = "llm-foundry training benchmarks" if _FOUNDRY in row else "Megatron-Bridge performance summary"
    return {"title": title, "path": content.reference}


def _foundry(row: Mapping[str, str], place: _Place) -> list[dict[str, object]]:
    record: dict[str, object] = {
        "task": {
            "kind": "training",
            "op": "llm_pretrain",
            "model": f"mpt-{row['Model']}",
            "shape": {
                "seq_len": parse_value(row["SeqLen (T)"]),
                "params": parse_value(row["NumParams"]),
                "global_batch": parse_value(row["GlobalBatchSize"]),
            },
        },
        "hardware": {
            "name": row["GPU"],
            "count": parse_value(row["# GPUs"]),
            "interconnect": place.section,
        },
        "config": {
            name: parse_value(row[column])
            for column, name in _FOUNDRY_CONFIG.items()
            if row[column] not in _UNSET
        },
        "outcome": _outcome(row[_FOUNDRY]),
    }
    return [record]


def _megatron(row: Mapping[str, str], place: _Place, records: Records) -> list[dict[str, object]]:
    cells = dict(row)
    model, quirk = cells.get("Model") or place.model, ""
    if (named := _PAIR.match(model)) is not None:  # DeepSeekV3 (tokendrop) is no second variant
        model, quirk = named[1], named[2]
    cells.pop("Model", None)
    variants = [{name: _variant(cell, second=False) for name, cell in cells.items()}]
    if any(_PAIR.match(cell) for cell in cells.values()):
        variants.append({name: _variant(cell, second=True) for name, cell in cells.items()})
        records.guess(
            "values in parentheses are read as a second run of the row, with another quantisation (see the "
            "document's footnotes)"
        )
    made: list[dict[str, object]] = []
    for at, variant in enumerate(variants):
        task: dict[str, object] = {
            "kind": "training",
            "op": _TASKS.get(place.activity, place.activity or "pretrain"),
            "model": model,
            "shape": {
                "seq_len": parse_value(variant["Sequence Length"]),
                "global_batch": parse_value(variant["GBS"]),
            },
            "dtype": variant.get("Precision"),
        }
        if quirk:
            task["variant"] = quirk
        if at and variant.get("Precision") == variants[0].get("Precision"):
            task["quantisation"] = "in parentheses"
        container = _CONTAINER.search(place.section)
        record: dict[str, object] = {
            "task": task,
            "hardware": {
                "name": variant.get("System") or place.system,
                "count": parse_value(variant["#-GPUs"]),
            },
            "config": {
                name.lower(): None if variant[name] in _UNSET else parse_value(variant[name])
                for name in _MEGATRON_CONFIG
                if name in variant
            },
            "outcome": _outcome(variant[_MEGATRON]),
            "software": {"nemo-container": container[1]} if container else None,
        }
        made.append(record)
    return made


def _variant(cell: str, *, second: bool) -> str:
    pair = _PAIR.match(cell)
    if pair is None:
        return cell
    return pair[2].strip() if second else pair[1].strip()


def _outcome(cell: str) -> dict[str, object]:
    outcome: dict[str, object] = {"metric": "throughput", "unit": "tokens/s/gpu", "value": None}
    if cell in _UNSET:
        return outcome | {"status": "not_reported"}
    return outcome | {"value": parse_number(cell.replace(",", ""), "throughput"), "status": "ok"}


FORMAT = Format(
    name="training-tables",
    title="training tables of llm-foundry or Megatron-Bridge (Markdown)",
    sniff=sniff,
    read=read,
)
