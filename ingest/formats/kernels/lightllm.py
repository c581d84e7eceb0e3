"""Tuned Triton kernels as LightLLM's autotuner keeps them.

The folder names the kernel; the file name has its fixed facts in braces and the device,
``{K=512,N=2048,block_size=[128,128],out_dtype=torch.bfloat16}_NVIDIA_H800.json``; one or two levels of size
keys inside lead to the winning configuration.
"""

import re
from collections.abc import Iterator

from ingest.door.records import Records
from ingest.door.values import parse_value
from ingest.files.content import Content
from ingest.files.sniffing import Head
from ingest.formats.format import Format
from ingest.formats.kernels.winner_tables import MAXIMUM_LEVELS, entries, facts_in, load_table, winner
from kg.errors import Fault
from kg.nouns.entities import Case

_NAME = re.compile(r"\{(?=[^{}=]*=)([^{}]*+)\}_([^{}]+)\.json")
_TRITON = re.compile(r"triton_(\d+(?:[._]\d+)*)")
_LIST = re.compile(r"\[[\d,\s]*\]")


def sniff(head: Head) -> bool:
    """True if the file name has facts in braces and a device."""
    return _NAME.fullmatch(head.name) is not None and not head.flaw


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A winner for each combination of sizes."""
    path = content.path
    table = load_table(content)
    if isinstance(table, Fault):
        yield table
        return
    name = _NAME.fullmatch(path.name.removesuffix(".gz"))
    if name is None:
        yield Fault(place="", reason="the file name has no facts in braces")
        return
    kernel = path.absolute().parent.name
    facts = {fact: _fact(item) for fact, item in facts_in(name[1]).items()}
    source: dict[str, object] = {"title": "LightLLM autotuned kernel", "path": content.reference}
    for folder in path.absolute().parts:
        if version := _TRITON.fullmatch(folder):
            source["triton"] = version[1]
    for entry in entries(table, levels=MAXIMUM_LEVELS):
        if isinstance(entry, Fault):
            yield entry
            continue
        sizes, config = entry
        task = {
            "kind": "kernel",
            "op": f"lightllm_{kernel}",
            "shape": {**facts, "run_key": list(sizes)},
        }
        device = name[2].replace("_", " ")
        yield winner(records, sizes, task=task, device=device, config=config, source=source)


def _fact(text: str) -> object:
    if _LIST.fullmatch(text):
        return [int(size) for size in re.findall(r"\d+", text)]
    return parse_value(text)


FORMAT = Format(
    name="lightllm",
    title="LightLLM autotuned kernel ({..}_DEVICE.json)",
    sniff=sniff,
    read=read,
)
