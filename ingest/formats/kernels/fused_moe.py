"""Tuned tables of fused mixture-of-experts kernels, as vLLM and SGLang keep them.

One JSON object a file: number of tokens ``M`` to the winning Triton configuration, without its time. Experts,
width, device, number format and block shape are in the file name alone; SGLang has the Triton version in the
folder name, newer vLLM in the file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.door.records import RecordError
from ingest.door.values import typed
from ingest.files.content import ContentError
from ingest.files.documents import load_json
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case

_NAME = re.compile(r"E=\d+,N=\d+,device_name=[^,]+(,.*)?\.json")
_COMMA = re.compile(r",(?![^\[]*\])")
"""A comma that is not inside brackets: ``block_shape=[128, 128]`` is one fact."""
_FOLDER = re.compile(r"triton_\d+(_\d+)*")
_OWN = {"E", "N", "device_name", "dtype", "block_shape"}


def sniff(head: Head) -> bool:
    """Whether the file name has the facts that the table itself lacks."""
    return _NAME.fullmatch(head.name) is not None and not head.flaw


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A winner for each number of tokens."""
    path = content.path
    try:
        table = load_json(content)
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    if not isinstance(table, dict):
        yield Fault(place="", reason="expected an object from number of tokens to configuration")
        return
    facts = file_name_facts(path)
    traits: dict[str, object] = {name: typed(item) for name, item in facts.items() if name not in _OWN}
    if "block_shape" in facts:
        sizes = re.findall(r"\d+", facts["block_shape"])
        traits["block_shape"] = [int(size) for size in sizes]
    version = table.pop("triton_version", None) or _folder_version(path)
    device = facts["device_name"].replace("_", " ")
    source: dict[str, object] = {"title": "fused-MoE tuning table", "path": content.reference}
    if version:
        source["triton"] = str(version)
    for tokens, config in table.items():
        if not tokens.isascii() or not tokens.isdigit() or int(tokens[:19]) == 0 or len(tokens) > 18:
            yield Fault(place=f"key {tokens[:40]!r}", reason="no number of tokens")
            continue
        if config == {}:
            yield Fault(place=f"key {tokens}", reason="an empty configuration")
            continue
        record = {
            "task": {
                "kind": "kernel",
                "op": "fused_moe",
                "shape": {"M": int(tokens), "N": int(facts["N"]), "E": int(facts["E"])},
                "dtype": facts.get("dtype"),
                "traits": traits,
            },
            "hardware": {"name": device},
            "config": config,
            "outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"},
            "source": source,
        }
        try:
            yield records.case(record)
        except RecordError as fault:
            yield Fault(place=f"key {tokens}", reason=str(fault))


def file_name_facts(path: Path) -> dict[str, str]:
    """The facts in a file name, such as ``E=8,N=3584,device_name=NVIDIA_H20,dtype=fp8_w8a8_down.json``.

    The ending ``_down`` (the expert's second GEMM) becomes the fact ``gemm``.
    """
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    facts = {}
    if stem.endswith("_down"):
        stem, facts["gemm"] = stem.removesuffix("_down"), "down"
    for fact in _COMMA.split(stem):
        name, _, value = fact.partition("=")
        facts[name.strip()] = value.strip()
    return facts


def _folder_version(path: Path) -> str:
    return path.parent.name if _FOLDER.fullmatch(path.parent.name) else ""
