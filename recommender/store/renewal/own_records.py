"""What a workspace has above the knowledge that it began with: its own cases, outcomes, trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.rows.cases import cases_by_batch, trusts_after
from kg.triples.iris import outcome_iri
from kg.triples.serialisation import all_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.nouns.entities import Case, Trust
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore

_OF_THIS_WORKSPACE = ("import/", "undo/", "version/", "effect/", "calibration")
"""Beginnings of marks that mean something in the workspace that made them alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBatch:
    """A batch that is no part of the base.

    Attributes:
        batch: Its description.
        cases: Its cases, in the order in which they came.
        completed: Marks of files that it took in whole.
        outcomes: Outcomes of the tests that its cases are from.
    """

    batch: Batch
    cases: list[Case]
    completed: tuple[str, ...]
    outcomes: list[Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRecords:
    """The records of a workspace that did not come from its base.

    Attributes:
        graph: Its graph.
        trials: Its rows.
        after: Newest batch of the base.
        base: Graph of the base; None where an earlier program did not keep it.
    """

    graph: GraphStore
    trials: TrialStore
    after: int
    base: GraphStore | None

    def batches(self) -> Iterator[OwnBatch]:
        """Yield the batches that brought cases, or took in files whole, oldest first."""
        cases = dict(cases_by_batch(self.graph, self.trials, self.after))
        outcomes = {item.source.id: item for item in self.outcomes()}
        for batch in self._batches():
            its = cases.get(batch.number, [])
            marks = tuple(mark for mark in batch.completed if not mark.startswith(_OF_THIS_WORKSPACE))
            if its or marks:
                sources = dict.fromkeys(case.source.id for case in its)
                about = [outcomes[key] for key in sources if key in outcomes]
                yield OwnBatch(batch=batch, cases=its, completed=marks, outcomes=about)

    def outcomes(self) -> list[Outcome]:
        """The outcomes that the base did not have."""
        return [
            item
            for item in all_of(self.graph, Outcome)
            if self.base is None or not any(self.base.triples(outcome_iri(item.id)))
        ]

    def trusts(self) -> dict[str, Trust]:
        """Trust of sources that was set here, by id."""
        return trusts_after(self.trials, self.after)

    @property
    def has_foreign_effects(self) -> bool:
        """Whether effects came in without their cases, from another workspace or an imported graph."""
        marks = (mark for item in self._batches() for mark in item.completed)
        return any(mark.startswith(("effect/", "import/")) for mark in marks)

    def _batches(self) -> list[Batch]:
        """The batches that the base did not have, oldest first."""
        own = (batch for batch in all_of(self.graph, Batch) if batch.number > self.after)
        return sorted(own, key=lambda batch: batch.number)
