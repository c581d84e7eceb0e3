"""The critical path of a step: from its end back to its begin, over the ranks that the others waited for.

Where a rank waited in a meeting and another one came later, what the other did until then made the step as
long as it is: the path goes on there. Where those that came later were not profiled, the path says so and
stays. Each rank is followed on its own clock; the segments add up to the step of the rank where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kg.nouns.codec import OR_NULL, JsonNoun, in_json
from recommender.diagnosis.critical.timeline import timeline_of
from recommender.diagnosis.rank.collectives import idle_us
from recommender.diagnosis.rank.groups import group_of
from recommender.diagnosis.rank.identity import stage_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.profiles.facts.run import Collective, Profile, Rank
    from recommender.diagnosis.critical.timeline import Timeline


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


LEAST_SHARE = 0.002
"""Share of the step from which a wait moves the path: shorter ones change nothing that is told."""
MOST_SEGMENTS = 10_000
"""Segments at most; a path has as many as ranks hand over to each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSegment(JsonNoun):
    """A stretch of the path on one rank.

    Attributes:
        rank: Its number.
        stage: Its pipeline stage; None if unknown.
        us: How long it is.
        operators: Time by operator, the longest first; empty for a wait.
        waits_for: Ranks that it waits for and that were not profiled; empty for work.
        group: What the group of that wait is for; empty if unknown, or for work.
    """

    rank: int
    stage: int | None
    us: float = field(metadata=in_json(digits=3))
    waits_for: tuple[int, ...] = ()
    group: str = field(default="", metadata=OR_NULL)
    operators: Mapping[str, float] = field(metadata=in_json(digits=3))


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """The critical path of one step.

    Attributes:
        step: Its name.
        step_us: Length of the path: of the step on the rank where it begins.
        segments: From the end back to the begin.
    """

    step: str
    step_us: float
    segments: tuple[PathSegment, ...]

    @property
    def unseen_us(self) -> float:
        """Time of the path that is waiting for ranks that were not profiled."""
        return sum(item.us for item in self.segments if item.waits_for)

    @property
    def by_rank(self) -> Mapping[int, float]:
        """Time of work on the path by rank, the longest first."""
        sums: dict[int, float] = {}
        for item in self.segments:
            if not item.waits_for:
                sums[item.rank] = sums.get(item.rank, 0.0) + item.us
        return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def operators(self) -> Mapping[tuple[int, str], float]:
        """Time on the path by rank and operator, the longest first."""
        sums: dict[tuple[int, str], float] = {}
        for item in self.segments:
            for name, us in item.operators.items():
                sums[item.rank, name] = sums.get((item.rank, name), 0.0) + us
        return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))

    @property
    def waits(self) -> Mapping[tuple[int, tuple[int, ...], str], float]:
        """Time of waiting for unprofiled ranks, by rank, those ranks and their group, the longest first."""
        sums: dict[tuple[int, tuple[int, ...], str], float] = {}
        for item in self.segments:
            if item.waits_for:
                key = (item.rank, item.waits_for, item.group)
                sums[key] = sums.get(key, 0.0) + item.us
        return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))

    def stage(self, rank: int) -> int | None:
        """The pipeline stage of a rank on the path; None if unknown."""
        return next((item.stage for item in self.segments if item.rank == rank), None)

    def to_json(self) -> dict[str, object]:
        """Plain content, from the begin of the step to its end."""
        return {
            "step": self.step,
            "length_us": round(self.step_us, 3),
            "waits_for_unprofiled_us": round(self.unseen_us, 3),
            "segments": [item.to_json() for item in reversed(self.segments)],
        }


def critical_path(profile: Profile) -> CriticalPath | None:
    """The critical path of the longest step that ranks have in common; None where no rank meets another."""
    ranks = [rank for rank in profile.ranks if rank.rank is not None and rank.collectives]
    if not ranks or len({rank.rank for rank in ranks}) < len(ranks):
        return None
    step = _common_step(ranks)
    lines = {rank.rank: line for rank in ranks if (line := timeline_of(rank, step)) is not None}
    meetings = meetings_of([rank for rank in ranks if rank.rank in lines], step)
    walk = _Walk({rank.rank: rank for rank in ranks if rank.rank is not None}, lines, meetings)
    return walk.path(step) if walk.can_start else None  # without kernels, steps have no begin


def _common_step(ranks: Sequence[Rank]) -> str:
    """The longest step that all ranks have; the longest of the first where they share none."""
    shared = set.intersection(*({step.step for step in rank.steps} for rank in ranks))
    lengths: dict[str, float] = {}
    for rank in ranks:
        for step in rank.steps:
            if not shared or step.step in shared:
                lengths[step.step] = max(lengths.get(step.step, 0.0), step.step_us)
    return max(lengths, key=lambda name: (lengths[name], name), default="")


class _Walk:
    """The way back from the end of a step."""

    def __init__(
        self,
        ranks: Mapping[int, Rank],
        lines: Mapping[int | None, Timeline],
        meetings: Sequence[Meeting],
    ) -> None:
        self._ranks = ranks
        self._lines = {number: line for number, line in lines.items() if number is not None}
        self._met = [item for item in meetings if set(item.operators) | set(item.absent)]
        self._length = max((line.finish_us - line.begin_us for line in self._lines.values()), default=0.0)
        self._least_us = LEAST_SHARE * self._length

    @property
    def can_start(self) -> bool:
        starts = [line for number, line in self._lines.items() if self._span(number) == self._length]
        return any(line.has_kernels for line in starts) and any(len(item.members) > 1 for item in self._met)

    def path(self, step: str) -> CriticalPath:
        """Follow the step from its end."""
        rank = max(self._lines, key=lambda number: (self._span(number), -number))
        at, segments = self._lines[rank].finish_us, []
        used: set[tuple[int, int]] = set()
        for _ in range(MOST_SEGMENTS):
            found = self._wait_before(rank, at, used)
            if found is None:
                segments.append(self._work(rank, self._lines[rank].begin_us, at))
                break
            place, meeting = found
            used.add((rank, place))
            last, waited = self._comes_last(meeting, rank)
            begin = _begin_us(meeting.operators[rank])
            segments.append(self._work(rank, begin + meeting.wait_us(rank), at))
            if last is None:
                segments.append(
                    PathSegment(
                        rank=rank, stage=stage_of(self._ranks[rank]), us=waited, operators={},
                        waits_for=meeting.absent, group=meeting.about,
                    )
                )  # fmt: skip
                at = begin
            else:  # both waits end at one moment, on two clocks
                rank, at = last, _begin_us(meeting.operators[last]) + meeting.wait_us(last)
        kept = tuple(item for item in segments if item.us > 0)
        return CriticalPath(step=step, step_us=sum(item.us for item in kept), segments=kept)

    def _span(self, number: int) -> float:
        return self._lines[number].finish_us - self._lines[number].begin_us

    def _wait_before(self, rank: int, at: float, used: set[tuple[int, int]]) -> tuple[int, Meeting] | None:
        """The last meeting before a moment in which a rank waited for one that came later."""
        best: tuple[float, int, Meeting] | None = None
        for place, item in enumerate(self._met):
            if (rank, place) in used or rank not in item.operators:
                continue
            begin = _begin_us(item.operators[rank])
            _, waited = self._comes_last(item, rank)
            if waited < self._least_us or begin + item.wait_us(rank) > at + self._least_us:
                continue
            if best is None or begin > best[0]:
                best = (begin, place, item)
        return None if best is None else best[1:]

    def _comes_last(self, item: Meeting, rank: int) -> tuple[int | None, float]:
        """The profiled rank that came last, and how long another waited for it.

        None for the rank where the last that were profiled waited too: for one of those that were not.
        """
        last, mine = item.last, item.wait_us(rank)
        later = mine - item.wait_us(last)
        if last != rank and later >= self._least_us:
            return last, later
        return (None, mine) if item.absent else (None, 0.0)

    def _work(self, rank: int, first: float, last: float) -> PathSegment:
        spent = self._lines[rank].between(first, last)
        return PathSegment(
            rank=rank,
            stage=stage_of(self._ranks[rank]),
            us=max(0.0, last - first),
            operators=dict(sorted(spent.items(), key=lambda pair: (-pair[1], pair[0]))),
        )


def _begin_us(item: Collective) -> float:
    return item.start_us or 0.0
