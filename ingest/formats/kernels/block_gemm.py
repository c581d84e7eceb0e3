"""Tuned tables of block-scaled matrix products (FP8 and INT8), as vLLM and SGLang keep them.

Number of rows ``M`` to the winning Triton configuration. Sizes, device, number format and block shape are in
the file name: ``N=1536,K=7168,device_name=NVIDIA_H20,dtype=fp8_w8a8,block_shape=[128,128].json``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ingest.door.values import typed
from ingest.formats.kernels.winner_tables import entries, facts_in, load_table, winner
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case

OPERATOR = "w8a8_block_fp8_gemm"

_NAME = re.compile(r"(N=\d+,K=\d+,device_name=[^,]+(?:,.*)?)\.json")
_OWN = {"N", "K", "device_name", "dtype", "block_shape"}


def sniff(head: Head) -> bool:
    """Whether the file name has the facts that the table itself lacks."""
    return _NAME.fullmatch(head.name) is not None and not head.flaw


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A winner for each number of rows."""
    table = load_table(content)
    if isinstance(table, Fault):
        yield table
        return
    facts = facts_in(content.path.name.removesuffix(".gz").removesuffix(".json"))
    traits: dict[str, object] = {name: typed(item) for name, item in facts.items() if name not in _OWN}
    if "block_shape" in facts:
        traits["block_shape"] = [int(size) for size in re.findall(r"\d+", facts["block_shape"])]
    source: dict[str, object] = {"title": "block-scaled GEMM tuning table", "path": content.reference}
    version = table.pop("triton_version", None)
    if version:
        source["triton"] = str(version)
    for entry in entries(table, levels=1):
        if isinstance(entry, Fault):
            yield entry
            continue
        sizes, config = entry
        task = {
            "kind": "kernel",
            "op": OPERATOR,
            "shape": {"M": sizes[0], "N": int(facts["N"]), "K": int(facts["K"])},
            "dtype": facts.get("dtype"),
            "traits": traits,
        }
        device = facts["device_name"].replace("_", " ")
        yield winner(records, sizes, task=task, device=device, config=config, source=source)
