"""The name of a rank and its pipeline stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.profiles.facts.run import Rank


def rank_name(rank: Rank, path: str) -> str:
    """The name of a rank: its number, else its folder, else the last part of the path that was read."""
    if rank.rank is not None:
        return str(rank.rank)
    return rank.folder if rank.folder not in {"", "."} else Path(path).name


def stage_of(rank: Rank) -> int | None:
    """The stage, from parallel sizes and rank number as Megatron counts them; None if unknown."""
    stages, world = rank.parallel.get("pipeline_model_parallel_size"), rank.parallel.get("world_size")
    if not isinstance(stages, int) or not isinstance(world, int) or rank.rank is None:
        return None
    return rank.rank * stages // world if stages > 1 and world >= stages else None
