"""Results in FlagPerf's READMEs, in Chinese: training runs by machine, and operators by implementation.

Training: a row such as ``R300单机8卡（1x8）`` gives nodes and cards, ``bs=24,lr=0.00035`` the settings;
``p_core`` is the throughput without input and output. An empty cell or ``/`` was not published, which is no
failure.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.markdown import (
    Block,
    Heading,
    MarkdownTable,
    Text,
    load_markdown,
    parse_blocks,
    strip_markup,
)
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.trackers.experiments import case_or_fault, parse_number
from kg.errors import Fault
from kg.nouns.entities import Case

_SOURCE = {"title": "FlagPerf README"}
_LAYOUT = re.compile(r"[（(]\s*(\d{1,5})\s*[x×X*]\s*(\d{1,5})\s*[）)]")
_FACT = re.compile(r"^[*\-\s]*([^:：]{1,40})[:：](.*)")
_OPERATOR_FILE = re.compile(
    r"operation_benchmarks_(.+?)_(?:iluvatar|nvidia|kunlunxin|ascend|mthreads|metax)_"
)
_TRAINING_FILE = re.compile(r"training_[a-z]+_([\w.]+-[a-z]+)$")
_UNPUBLISHED = {"", "/", "-"}
_MICROSECONDS = re.compile(r"([-+.\deE]+)\s*us")


def sniff(head: Head) -> bool:
    """True if it has the table of a training run, or of an operator."""
    return ("p_core" in head.text and "fix_hp" in head.text) or (
        "评测项" in head.text and "kerneltime" in head.text
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """The rows of its result tables."""
    try:
        found = list(parse_blocks(load_markdown(content)))
        facts = _facts(found)
        for block in found:
            if not isinstance(block, MarkdownTable):
                continue
            is_training = {"p_core", "fix_hp", "precision"} <= set(block.header)
            if not is_training and "kerneltime" not in block.header:
                continue
            for line, count in block.uneven:
                reason = f"{count} cells, where the header has {len(block.header)}"
                yield Fault(place=f"line {line}", reason=reason)
            about = _training(content, facts, records) if is_training else _operation(content, facts, records)
            for line, cells in block.rows:
                row = dict(zip(block.header, (strip_markup(cell) for cell in cells), strict=True))
                try:
                    record = _training_row(row, about) if is_training else _operator_row(row, about)
                    yield case_or_fault(records, f"line {line}", record)
                except ContentError as fault:
                    yield Fault(place=f"line {line}", reason=str(fault))
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))


def _facts(found: list[Block]) -> dict[str, str]:
    """Facts that the document states, such as ``加速卡型号: R300``, and the rows of its table of names."""
    facts: dict[str, str] = {}
    for block in found:
        if isinstance(block, Text | Heading):
            if (stated := _FACT.match(block.text)) is not None and stated[2].strip():
                facts.setdefault(stated[1].strip(), stated[2].strip())
        elif isinstance(block, MarkdownTable) and block.header[:2] == ("指标名称", "指标值"):
            for _, cells in block.rows:
                facts.setdefault(strip_markup(cells[0]), strip_markup(cells[1]))
    return facts


def _training(content: Content, facts: Mapping[str, str], records: Records) -> dict[str, object]:
    device = facts.get("加速卡型号") or facts.get("硬件设备简称") or records.context.hardware
    model = facts.get("模型")
    if not device or not model:
        raise ContentError(f"names no {'model (模型)' if device else 'card (加速卡型号)'}")
    task: dict[str, object] = {"kind": "training", "op": "train", "model": model}
    case = _case_name(content.path.absolute(), model)
    if case:
        model = case.rpartition("-")[0] or case
        if model != task["model"]:
            records.guess(f"model {model!r} is taken from the name {case!r}; the text says {task['model']!r}")
        task |= {"case": case, "model": model}
    return {
        "task": task,
        "hardware": {"name": device},
        "source": _SOURCE | {"path": content.reference},
    }


def _case_name(path: Path, model: str) -> str:
    """Name of the benchmark case (``retinanet-pytorch``) from the folder or the file; may be empty."""
    if (named := _TRAINING_FILE.search(path.stem)) is not None:
        return named[1]
    folder = path.parent.name
    return folder if path.stem.upper().startswith("README") and model.lower() in folder.lower() else ""


def _training_row(row: Mapping[str, str], about: Mapping[str, object]) -> dict[str, object]:
    place = row.get("配置", "")
    layout = _LAYOUT.search(place)
    if layout is None:
        raise ContentError(f"{place[:40]!r} says no number of nodes and cards, as （1x8） does")
    nodes, cards = int(layout[1]), int(layout[2])
    config: dict[str, object] = {"precision": row["precision"]}
    for setting in re.split(r"[,，;；]\s*", row["fix_hp"]):
        name, equals, value = setting.partition("=")
        if equals and name.strip():
            config[name.strip()] = value.strip()
        elif setting.strip() not in _UNPUBLISHED:
            raise ContentError(f"fix_hp: {setting[:40]!r} is no setting")
    outcome: dict[str, object] = {"metric": "p_core", "unit": "samples_or_tokens/s", "value": None}
    cell = row["p_core"]
    if cell in _UNPUBLISHED:
        outcome["status"] = "not_reported"
    else:
        outcome |= {"value": parse_number(cell, "p_core"), "status": "ok"}
    hardware = about["hardware"]
    assert isinstance(hardware, dict)  # noqa: S101  made by _training
    return {
        "task": about["task"],
        "hardware": hardware | {"nodes": nodes, "cards_per_node": cards, "count": nodes * cards},
        "config": config,
        "outcome": outcome,
        "source": about["source"],
    }


def _operation(content: Content, facts: Mapping[str, str], records: Records) -> dict[str, object]:
    device = facts.get("产品型号") or facts.get("产品名称") or records.context.hardware
    if not device:
        raise ContentError("names no product (产品型号)")
    path = content.path.absolute()
    named = _OPERATOR_FILE.search(path.stem)
    if named is not None:
        operator = named[1]
    elif (
        len(path.parents) > 3 and path.parents[3].name == "benchmarks"
    ):  # benchmarks/OP/VENDOR/CHIP/README.md
        operator = path.parents[2].name
    else:
        raise ContentError("the operator is named by neither the file nor its folders")
    records.guess(f"operator {operator!r} is taken from the path")
    precision = path.stem.upper().removesuffix("README").strip("_")
    task: dict[str, object] = {
        "kind": "operator",
        "op": operator,
        "shape": {"note": "one fixed shape per operator and precision"},
    }
    if precision and named is None:
        task["dtype"] = precision
    return {
        "task": task,
        "hardware": {"name": device},
        "source": _SOURCE | {"path": content.reference},
    }


def _operator_row(row: Mapping[str, str], about: Mapping[str, object]) -> dict[str, object]:
    outcome: dict[str, object] = {"metric": "kernel_time", "unit": "us", "value": None}
    cell = row["kerneltime"]
    if cell in _UNPUBLISHED:
        outcome["status"] = "not_reported"
    elif (time := _MICROSECONDS.fullmatch(cell)) is not None:
        outcome |= {"value": parse_number(time[1], "kerneltime"), "status": "ok"}
    else:
        raise ContentError(f"kerneltime: {cell[:40]!r} is no time in us")
    return {**about, "config": {"implementation": row["评测项"]}, "outcome": outcome}


FORMAT = Format(
    name="flagperf",
    title="FlagPerf result (Markdown)",
    sniff=sniff,
    read=read,
)
