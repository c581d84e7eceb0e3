"""Communication operators: the time in which one moves data, the time in which it waits, and its rows."""

import re
from collections.abc import Iterable

import numpy as np

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Collective, Rank
from ingest.profiles.traces.gpu_collectives import bound_waiting
from recommender.diagnosis.rank.view import PLACES

LOCAL = "LOCAL"
_BETWEEN_TWO = re.compile(r"(?i)send|recv|receive|p2p")


EXCHANGES = ("alltoall", "all_to_all")


def collectives_of(rank: Rank) -> tuple[Collective, ...]:
    """The collectives of a rank: without its peers by the shortest of their size."""
    return rank.collectives or bound_waiting(rank.details.group_calls)


def collectives_by_name(rank: Rank) -> tuple[Collective, ...]:
    """Collectives by the names of their kernels, of which nobody told groups and sizes."""
    if rank.kernels is None or not rank.kernels.is_communication.any():
        return ()
    mine = rank.kernels.where(rank.kernels.is_communication)
    label, spent = mine.label, np.nan_to_num(mine.duration_us)
    sums = np.bincount(label.codes, weights=spent, minlength=len(label.labels)) / 1e3
    return tuple(
        Collective(
            name=label.labels[code],
            group="",
            step="",
            is_p2p=_BETWEEN_TWO.search(label.labels[code]) is not None,
            elapse_ms=float(sums[code]),
            transit_ms=float(sums[code]),
            wait_ms=0.0,
            start_us=None,
            transfers=(),
            place=FactPlace(mine.file, tuple(int(row) for row in mine.rows[label.codes == code][:PLACES])),
        )
        for code in np.flatnonzero(sums)
    )


def idle_us(item: Collective) -> float:
    """Microseconds in which an operator moves nothing."""
    return max(0.0, item.elapse_ms * 1e3 - moving_us(item))


def moving_us(item: Collective) -> float:
    """Microseconds in which data moves.

    Where the operator has no transit time of its own (sends of pairs) it is the longest time over one kind of
    link; else that sum counts links that work side by side one after another.
    """
    if item.transit_ms > 0:
        return item.transit_ms * 1e3
    longest = max((t.time_ms for t in item.transfers if t.transport != LOCAL), default=0.0)
    return min(max(0.0, item.elapse_ms - item.wait_ms), longest) * 1e3


def is_of(item: Collective, parts: tuple[str, ...]) -> bool:
    """True if the name of an operator holds one of ``parts``."""
    low = item.name.lower().replace("_", "")
    return any(part.replace("_", "") in low for part in parts)


def places(items: Iterable[Collective]) -> tuple[FactPlace, ...]:
    """Files and rows of the operators that take longest."""
    worst = sorted(items, key=lambda item: -item.elapse_ms)[:PLACES]
    rows: dict[str, list[int]] = {}
    for item in worst:
        rows.setdefault(item.place.file, []).extend(item.place.rows)
    return tuple(FactPlace(file, tuple(lines)) for file, lines in rows.items())
