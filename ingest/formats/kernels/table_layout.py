"""Tuning tables whose file name states device and problem, as vLLM and SGLang keep them.

One JSON object a file: a size to the winning Triton configuration, without its time. The other sizes, device,
number format and block shape are in the file name; the Triton version is in the file or names the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ingest.door.values import parse_value
from ingest.formats.kernels.winner_tables import entries, facts_in, load_table, winner
from kg.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case

_FOLDER = re.compile(r"triton_\d+(_\d+)*")
_DOWN = "_down"
"""Ending of the file name for the second GEMM of an expert."""


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """The place of each fact in the tuning tables of one operator.

    Attributes:
        operator: Name of the operator.
        title: Title of the source.
        sizes: Sizes in the file name, in their order.
        key: Size that leads to a configuration.
        precision: Fact of the file name that is the number format.
    """

    operator: str
    title: str
    sizes: tuple[str, ...]
    key: str
    precision: str = "dtype"

    @cached_property
    def _name(self) -> re.Pattern[str]:
        sizes = "".join(rf"{name}=\d+," for name in self.sizes)
        return re.compile(rf"{sizes}device_name=[^,]+(?:,.*)?\.json")

    def matches(self, head: Head) -> bool:
        """True if a file name states the facts that the table itself lacks."""
        return self._name.fullmatch(head.name) is not None and not head.flaw

    def read(self, content: Content, records: Records) -> Iterator[Case | Fault]:
        """The winner for each size of a table."""
        table = load_table(content)
        if isinstance(table, Fault):
            yield table
            return
        facts = file_name_facts(content.path)
        stated = {*self.sizes, self.precision, "device_name", "block_shape"}
        traits: dict[str, object] = {
            name: parse_value(item) for name, item in facts.items() if name not in stated
        }
        if "block_shape" in facts:
            traits["block_shape"] = [int(size) for size in re.findall(r"\d+", facts["block_shape"])]
        source: dict[str, object] = {"title": self.title, "path": content.reference}
        if version := table.pop("triton_version", None) or _folder_version(content.path):
            source["triton"] = str(version)
        for entry in entries(table, levels=1):
            if isinstance(entry, Fault):
                yield entry
                continue
            sizes, config = entry
            task = {
                "kind": "kernel",
                "op": self.operator,
                "shape": {self.key: sizes[0], **{name: int(facts[name]) for name in self.sizes}},
                "dtype": facts.get(self.precision),
                "traits": traits,
            }
            device = facts["device_name"].replace("_", " ")
            yield winner(records, sizes, task=task, device=device, config=config, source=source)


def file_name_facts(path: Path) -> dict[str, str]:
    """The facts in a file name, such as ``E=8,N=3584,device_name=NVIDIA_H20,dtype=fp8_w8a8_down.json``.

    The ending ``_down`` becomes the fact ``gemm``.
    """
    stem = path.name.removesuffix(".gz").removesuffix(".json")
    gemm = {"gemm": "down"} if stem.endswith(_DOWN) else {}
    return gemm | facts_in(stem.removesuffix(_DOWN))


def _folder_version(path: Path) -> str:
    return path.parent.name if _FOLDER.fullmatch(path.parent.name) else ""
