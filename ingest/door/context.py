"""What the user says of files that do not say it themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestContext:
    """Options of an ingest that readers may need.

    Attributes:
        hardware: Where runs were made whose files name no hardware; empty if not told.
        mapping: Mapping file for plain CSV tables; None to look for one beside each table.
        source: Address at which files that name none are published; empty if not said.
    """

    hardware: str = ""
    mapping: Path | None = None
    source: str = ""
