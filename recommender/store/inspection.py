"""Checks that graph, trials, vectors and index of a workspace agree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kg.triples.finders import problem_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embeddings.index import ProblemIndex
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore


class Severity(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    NOTE = "note"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One thing looked at.

    Attributes:
        about: What was looked at.
        severity: Whether something must be done.
        says: What was found.
        remedy: What to do; empty if nothing.
    """

    about: str
    severity: Severity
    says: str
    remedy: str = ""


OLD_KNOWLEDGE = CheckResult(
    about="knowledge",
    severity=Severity.NOTE,
    says="this program ships newer knowledge than the workspace was made with",
    remedy="tunegraph workspace renew renews it and keeps what is yours, or go on with the old knowledge",
)


def check_agreement(graph: GraphStore, trials: TrialStore, index: ProblemIndex) -> Iterator[CheckResult]:
    """Check that every problem of the graph has rows and a vector, and nothing else has.

    Args:
        graph: A published snapshot, or the live graph of the only writer.
        trials: Opened with the newest batch of ``graph`` as acknowledged.
        index: The vectors.
    """
    described = problem_ids(graph)
    keys = trials.keys().tolist()
    stored = {row.id for row in trials.summary(keys)}
    yield _compare(
        "problems",
        len(described - stored),
        len(stored - described),
        ("the graph", "the trial store"),
        "restore the workspace, or make one anew and ingest again",
    )
    if empty := trials.empty_problems():
        yield CheckResult(
            about="trials",
            severity=Severity.FAULT,
            says=f"{empty} problems have no rows",
            remedy="ingest their files again",
        )
    problems, vectors = set(keys), set(index.keys(trials.acknowledged).tolist())
    yield _compare(
        "vectors",
        len(problems - vectors),
        len(vectors - problems),
        ("the trial store", "the vectors"),
        "tunegraph doctor --repair",
    )


def _compare(about: str, missing: int, surplus: int, places: tuple[str, str], remedy: str) -> CheckResult:
    here, there = places
    if not missing and not surplus:
        return CheckResult(about=about, severity=Severity.OK, says=f"{here} and {there} agree")
    return CheckResult(
        about=about,
        severity=Severity.FAULT,
        says=f"{missing} are in {here} and not in {there}, {surplus} the other way round",
        remedy=remedy,
    )
