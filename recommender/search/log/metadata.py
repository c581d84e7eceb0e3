"""The metadata in the log of a search: its file, its sources, and how it began and ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kg.nouns.codec import Empty, JsonNoun, in_json, noun_of
from kg.nouns.values import Settings
from recommender.search.evaluations import SourceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStamp(JsonNoun):
    """The program and the files with which a search began; its workers must have the same.

    Attributes:
        version: Of tunegraph.
        code: Digest of the sources that choose and measure.
        files: Digests by name of the files that the command or the table names in the folder.
    """

    version: str
    code: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMetadata(JsonNoun):
    """The record, beside its trials, that a search needs to go on from its log alone.

    Attributes:
        file: Content of the search file with the facts of the cost model looked up, for
            ``recommender.search.run.task_reader``.
        digest: Of space, objectives and limits (``Task.digest``); empty if it was not kept.
        seed: Of the search's randomness.
        folder: Where its commands run and the paths of the file start.
        program: What its workers must have alike; None in a log of a version without workers.
        environment: The machine on which it began, and versions of programs.
        allow_unmeasured_accuracy: True where settings of unknown accuracy may be proposed.
        notes: What was assumed, in words.
        stop_reason: Why it ended; empty before its end.
    """

    file: Mapping[str, Any] = field(default_factory=dict, metadata=in_json("task"))
    digest: str = ""
    seed: int = 0
    folder: str = "."
    environment: Mapping[str, Any] = field(default_factory=dict)
    allow_unmeasured_accuracy: bool = False
    notes: tuple[str, ...] = ()
    program: ProgramStamp | None = field(default=None, metadata=in_json("made_by", empty=Empty.OMITTED))
    stop_reason: str = field(default="", metadata=in_json(empty=Empty.OMITTED))

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Metadata from plain content; what older versions did not write keeps its default."""
        kept = {name: value for name, value in content.items() if name != "schema" and value is not None}
        return noun_of(cls, kept)


def sources_to_json(sources: Iterable[SourceTable]) -> list[dict[str, object]]:
    """Source tables as plain content; the cost of a failure is null."""
    return [
        {
            "name": item.name,
            "similarity": item.similarity,
            "problem_id": item.problem_id,
            "configurations": [one.to_json() for one in item.configurations],
            "costs": [float(cost) if np.isfinite(cost) else None for cost in item.costs],
        }
        for item in sources
    ]


def sources_from_json(content: Iterable[Mapping[str, Any]]) -> tuple[SourceTable, ...]:
    """Source tables from plain content."""
    return tuple(
        SourceTable(
            name=item["name"],
            similarity=item["similarity"],
            configurations=[Settings(one) for one in item["configurations"]],
            costs=np.array([np.inf if cost is None else cost for cost in item["costs"]], np.float64),
            problem_id=item["problem_id"],
        )
        for item in content
    )
