"""Tuned tables of Mamba's ``selective_state_update`` kernel, as vLLM keeps them.

Batch size to the winning Triton configuration. Head and state sizes, device and the format of the cache are
in the file name: ``headdim=64,dstate=128,device_name=NVIDIA_B200,cache_dtype=float16.json``.
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

OPERATOR = "mamba_selective_state_update"

_NAME = re.compile(r"headdim=\d+,dstate=\d+,device_name=[^,]+(?:,.*)?\.json")
_OWN = {"headdim", "dstate", "device_name", "cache_dtype"}


def sniff(head: Head) -> bool:
    """Whether the file name has the facts that the table itself lacks."""
    return _NAME.fullmatch(head.name) is not None and not head.flaw


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A winner for each batch size."""
    table = load_table(content)
    if isinstance(table, Fault):
        yield table
        return
    facts = facts_in(content.path.name.removesuffix(".gz").removesuffix(".json"))
    source: dict[str, object] = {
        "title": "selective_state_update tuning table",
        "path": content.reference,
    }
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
            "shape": {
                "headdim": int(facts["headdim"]),
                "dstate": int(facts["dstate"]),
                "batch": sizes[0],
            },
            "dtype": facts.get("cache_dtype"),
            "traits": {name: typed(item) for name, item in facts.items() if name not in _OWN},
        }
        device = facts["device_name"].replace("_", " ")
        yield winner(records, sizes, task=task, device=device, config=config, source=source)
