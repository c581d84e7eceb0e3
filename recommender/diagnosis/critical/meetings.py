"""Meetings of ranks in their communication operators: who waited there, and for whom.

Operators are one meeting where their ranks share a communicator and the operators stand at the same place in
its order. Only lengths of waits are compared, so the clocks of ranks need not agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recommender.diagnosis.rank.collectives import idle_us
from recommender.diagnosis.rank.groups import group_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.profiles.facts.run import Collective, Rank

_PAIRS = ("send", "recv", "receive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One communication operator on the ranks of its communicator that were profiled.

    Attributes:
        group: Communicator.
        about: What the group is for, such as ``"dp_cp"``; empty if unknown.
        members: Ranks of the group; where it is not described, those that were profiled and their links name.
        operators: The operator by rank.
    """

    group: str
    about: str
    members: tuple[int, ...]
    operators: Mapping[int, Collective]

    def wait_us(self, rank: int) -> float:
        """Time for which a rank waited there."""
        return idle_us(self.operators[rank])

    @property
    def last(self) -> int:
        """The profiled rank that came last: it waited least."""
        return min(self.operators, key=lambda rank: (self.wait_us(rank), rank))

    @property
    def absent(self) -> tuple[int, ...]:
        """Members that were not profiled."""
        return tuple(rank for rank in self.members if rank not in self.operators)


def meetings_of(ranks: Sequence[Rank], step: str) -> list[Meeting]:
    """The meetings of a step; operators of ranks without a number are left out.

    Where ranks have differently many operators of one kind in a communicator, which belong together is not
    told: each stands by itself.
    """
    numbered = {rank.rank: rank for rank in ranks if rank.rank is not None}
    held: dict[tuple[str, bool], dict[int, list[Collective]]] = {}
    for number, rank in numbered.items():
        for item in rank.collectives:
            if item.step in {"", step} and item.start_us is not None:
                pair = item.is_p2p or any(part in item.name.lower() for part in _PAIRS)
                held.setdefault((item.group, pair), {}).setdefault(number, []).append(item)
    found: list[Meeting] = []
    for (group, _), by_rank in held.items():
        for items in by_rank.values():
            items.sort(key=lambda item: item.start_us or 0.0)
        kinds = {item.name.lower().replace("_", "") for items in by_rank.values() for item in items}
        stated = group_of(group, tuple(by_rank), kinds, list(numbered.values()))
        about = stated.about if stated else ""
        members = stated.ranks if stated else _linked([numbered[number] for number in by_rank])
        if len({len(items) for items in by_rank.values()}) == 1:
            rows = [dict(zip(by_rank, items, strict=True)) for items in zip(*by_rank.values(), strict=True)]
        else:
            rows = [{number: item} for number, items in by_rank.items() for item in items]
        found += [Meeting(group=group, about=about, members=members, operators=row) for row in rows]
    return found


def _linked(ranks: Sequence[Rank]) -> tuple[int, ...]:
    """These ranks and, where no process group is described, those that their links name."""
    found = {rank.rank for rank in ranks if rank.rank is not None}
    if not any(rank.details.groups for rank in ranks):
        ends = {end for rank in ranks for link in rank.links for end in (link.source, link.target)}
        found |= {int(end) for end in ends if end.isdecimal()}
    return tuple(sorted(found))
