"""What a workspace understands of a question: its names, a user's defaults, the machine at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.questions.problems import problem_from
from kg.errors import InputError, NoEvidenceError, UnknownEntityError
from recommender.store.views.contents import WorkspaceContents

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Problem
    from recommender.answers.this_machine import MachineFacts


class WorkspaceQuestions(WorkspaceContents):
    """Questions as one snapshot of a workspace reads them."""

    def problem(self, raw: Mapping[str, object]) -> tuple[Problem, tuple[str, ...]]:
        """Read a question (keys of ``ingest.questions.problems.KEYS``); return it with notes on assumptions.

        Raises:
            InputError: Something of it is wrong, or a name is not known.
            NoEvidenceError: The workspace knows nothing at all.
        """
        try:
            problem, notes = problem_from(raw, self.names, self.operator)
        except InputError:
            if self.hardware.ids():
                raise
            raise NoEvidenceError(
                "the workspace is empty: it knows no hardware and no case",
                hint="tunegraph ingest FOLDER reads cases, tunegraph kb add hardware FILE adds a device; "
                "a workspace made anew begins with the shipped knowledge",
            ) from None
        if problem.software:
            from kg.nouns.framework import Framework
            from kg.triples.serialisation import all_of
            from recommender.applicability.programs import with_programs

            problem = with_programs(problem, list(all_of(self.graph, Framework)))
        return problem, (*notes, self.age_note) if self.age_note else notes

    def with_defaults(
        self, raw: Mapping[str, object], defaults: Mapping[str, object], place: str
    ) -> dict[str, object]:
        """A question with what it leaves open taken from a user's defaults (``ingest.questions.defaults``).

        Raises:
            UnknownEntityError: A default names no hardware, or no framework.
        """
        from ingest.questions.defaults import with_defaults
        from kg.nouns.framework import Framework
        from kg.triples.serialisation import all_of
        from recommender.applicability.framework import newest_release

        framework = str(defaults.get("framework") or "")
        phases = (
            {item.id: frozenset(item.phases) for item in all_of(self.graph, Framework)} if framework else {}
        )
        if framework and framework not in phases:
            raise UnknownEntityError(
                f"{place}: no framework named {framework!r}", hint=f"known: {', '.join(sorted(phases))}"
            )

        def same_hardware(one: str, other: str) -> bool:
            return self.names.hardware(one).id == self.names.hardware(other).id

        version = str(defaults.get("version") or "") or newest_release(framework)
        return with_defaults(
            raw, {**defaults, "version": version}, place, same_hardware=same_hardware, phases=phases
        )

    def this_machine(self) -> MachineFacts:
        """The hardware of this machine as the graph names it, and the framework that is installed."""
        from kg.nouns.framework import Framework
        from kg.triples.serialisation import all_of
        from recommender.answers.this_machine import machine_facts

        return machine_facts(self.names, list(all_of(self.graph, Framework)))
