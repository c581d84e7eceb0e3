"""Ranks of a collective that timed out: the one that is behind the others keeps them waiting."""

import re
from collections import defaultdict

MARK = b"Watchdog caught collective operation timeout: WorkNCCL("
_TIMED_OUT = re.compile(
    rb"\[((?:PG [^\]]{0,200} )?)Rank (\d+)\] Watchdog caught collective operation timeout: "
    rb"WorkNCCL\(SeqNum=(\d+)"
)
"""Group, rank and number in a line of PyTorch's watchdog (c10d/ProcessGroupNCCL.cpp)."""


class RankSequences:
    """The collective at which each rank of a group of processes timed out, by its number in the group."""

    def __init__(self) -> None:
        """Begin without ranks."""
        self._numbers: dict[bytes, dict[int, int]] = defaultdict(dict)

    def take(self, line: bytes) -> None:
        """Take a line of the watchdog; the lowest number of a rank counts."""
        if (found := _TIMED_OUT.search(line)) is not None:
            numbers, rank, number = self._numbers[found[1]], int(found[2]), int(found[3])
            numbers[rank] = min(number, numbers.get(rank, number))

    def behind(self) -> tuple[tuple[int, ...], int, int] | None:
        """Ranks that are behind most others of their group, their number and the highest; None if none is."""
        for numbers in self._numbers.values():
            low, high = min(numbers.values()), max(numbers.values())
            ranks = tuple(sorted(rank for rank, number in numbers.items() if number == low))
            if low < high and 2 * len(ranks) <= len(numbers):
                return ranks, low, high
        return None
