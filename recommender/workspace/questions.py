"""Questions as people put them, read against what a workspace knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.questions.bounds import device_count, with_own_count
from ingest.questions.launches.launch_facts import is_told
from ingest.questions.problems import problem_from, resolved_problem
from ingest.questions.training_methods import with_method
from kg.errors import AmbiguousEntityError, InputError, NoEvidenceError, UnknownEntityError
from kg.triples.iris import hardware_iri, model_iri
from recommender.applicability.unread_names import refuse_misspelt
from recommender.store import shipped_knowledge as shipped
from recommender.store.inspection import OLD_KNOWLEDGE
from recommender.store.lists import listings
from recommender.workspace.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.questions.aims import KnownOperator
    from ingest.questions.problems import Resolver
    from kg.nouns.entities import Problem
    from recommender.answers.this_machine import MachineFacts


class QuestionDesk(Desk):
    """Questions as one snapshot of a workspace reads them."""

    __slots__ = ()

    def problem(self, raw: Mapping[str, object]) -> tuple[Problem, tuple[str, ...]]:
        """Read a question (keys of ``ingest.questions.problems.KEYS``); return it with notes on assumptions.

        Raises:
            InputError: Something of it is wrong, or a name is not known.
            NoEvidenceError: The workspace knows nothing at all.
        """
        try:
            raw, names = self.on_this_machine(raw)
            problem, notes = problem_from(raw, names, self.operator)
        except InputError:
            if not self.hardware.is_empty:
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
        refuse_misspelt(problem)
        return problem, (*notes, self.age_note) if self.age_note else notes

    def on_this_machine(self, raw: Mapping[str, object]) -> tuple[Mapping[str, object], Resolver]:
        """A question about what it is asked on, with that by name; other questions as they are.

        A script's own word for its devices (a type of a cluster's scheduler) that names none is left out.
        """
        raw = with_own_count(with_method(raw))
        name = str(raw.get("hardware") or "")
        if name and not is_told(raw, "hardware"):
            try:
                self.names.hardware(name, device_count(raw.get("count")))
            except AmbiguousEntityError:
                return raw, self.names
            except UnknownEntityError:
                return {key: value for key, value in raw.items() if key != "hardware"}, self.names
        if not name.startswith("this "):
            return raw, self.names
        from recommender.measuring.environment import capture, this_machine
        from recommender.search.run.preparation import LenientNames

        machine = this_machine(name, capture({}))
        if machine is None:
            return raw, self.names
        told = {"count": machine[1], **{key: value for key, value in raw.items() if value is not None}}
        return {**told, "hardware": machine[0]}, LenientNames(self.names)

    def understood(self, problem: Problem, notes: Sequence[str] = ()) -> tuple[Problem, tuple[str, ...]]:
        """A problem as it would be if its names had been asked for in words, with the notes on them.

        One that :meth:`problem` made is as it was. A device or model that no node has, and that measured
        cases name so, keeps its name.

        Raises:
            UnknownEntityError: A name is not known, or stands for several.
        """
        if problem.situation.facts:
            return problem, tuple(notes)
        try:
            problem, more = resolved_problem(problem, self.names)
        except AmbiguousEntityError:
            raise
        except UnknownEntityError:
            if not self._is_measured(problem):
                raise
            more = ()
        return problem, (*notes, *more)

    def _is_measured(self, problem: Problem) -> bool:
        """True if some case has the device of a problem, and its model, under these very names."""
        names = [hardware_iri(problem.hardware.name)]
        names += [model_iri(problem.workload.model)] if problem.workload.model else []
        return all(any(self.graph.triples(None, None, name)) for name in names)

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
        known = {item.id: item for item in all_of(self.graph, Framework)} if framework else {}
        phases = {name: frozenset(item.phases) for name, item in known.items()}
        if framework and framework not in phases:
            raise UnknownEntityError(
                f"{place}: no framework named {framework!r}", hint=f"known: {', '.join(sorted(phases))}"
            )

        def named(text: str) -> str:
            return self.names.hardware(text, device_count(raw.get("count"))).id

        def same_hardware(one: str, other: str) -> bool:
            return one == other or named(one) == named(other)

        def runs_on(name: str) -> bool:
            makers = known[framework].hardware
            return not makers or not name or self.hardware.path(named(name))[-1] in makers

        version = str(defaults.get("version") or "") or newest_release(framework)
        return with_defaults(
            raw,
            {**defaults, "version": version},
            place,
            same_hardware=same_hardware,
            phases=phases,
            runs_on=runs_on,
        )

    def this_machine(self) -> MachineFacts:
        """The hardware of this machine as the graph names it, and the framework that is installed."""
        from kg.nouns.framework import Framework
        from kg.triples.serialisation import all_of
        from recommender.answers.this_machine import machine_facts

        return machine_facts(self.names, list(all_of(self.graph, Framework)))

    def operator(self, name: str) -> KnownOperator:
        """Return the kind and the usual objective of an operator, from its cases.

        Raises:
            UnknownEntityError: No case has it.
        """
        return listings.known_operator(self.graph, self.trials, name)

    @property
    def age_note(self) -> str:
        """A note if the program ships newer knowledge than the workspace was made with; else empty."""
        if self.snapshot.manifest.get("shipped") in {None, shipped.version()}:
            return ""
        return f"{OLD_KNOWLEDGE.says}; tunegraph doctor says what to do"
