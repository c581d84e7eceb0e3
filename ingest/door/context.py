"""Facts that the user states for files that lack them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """Options of an ingest that readers may need.

    Attributes:
        hardware: Hardware of the runs whose files name none; empty if not given.
        mapping: Mapping file for plain CSV tables; None to look for one beside each table.
        source: Address at which files that name none are published; empty if not said.
    """

    hardware: str = ""
    mapping: Path | None = None
    source: str = ""
