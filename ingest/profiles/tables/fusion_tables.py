"""msprof's fusion_op: operators that the graph compiler fused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ingest.profiles.cells import read_table
from ingest.profiles.facts.details import FusedOperator
from ingest.profiles.facts.place import FactPlace


def is_fusion_table(header: frozenset[str]) -> bool:
    """True if a CSV file lists fused operators."""
    return {"Fusion Op", "Original Ops"} <= header


def read_fused(path: Path, file: str, on_fault: Callable[[str], None]) -> list[FusedOperator]:
    """Fused operators with the names of their parts, which commas or semicolons part."""
    return [
        FusedOperator(
            name=row["Fusion Op"],
            parts=tuple(
                part.strip() for part in row["Original Ops"].replace(";", ",").split(",") if part.strip()
            ),
            place=FactPlace(file, (line,)),
            device=row.get("Device_id", ""),
        )
        for line, row in read_table(path, on_fault)
    ]
