"""Questions and their answers: read, recommend, predict, estimate, explain."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from ingest.questions.bounds import device_count, with_own_count
from ingest.questions.launches.launch_facts import is_told
from ingest.questions.problems import problem_from, resolved_problem
from kg.errors import AmbiguousEntityError, InfeasibleError, InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.entities import WorkloadKind
from kg.triples.iris import hardware_iri, model_iri
from recommender.answers.explanation.explanation import explain
from recommender.answers.explanation.neighbours import describe
from recommender.applicability.unread_names import refuse_misspelt
from recommender.store import answered_questions
from recommender.store import shipped_knowledge as shipped
from recommender.store.inspection import OLD_KNOWLEDGE
from recommender.store.lists import listings
from recommender.workspace.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ingest.questions.aims import KnownOperator
    from ingest.questions.problems import Resolver
    from kg.nouns.entities import Problem
    from recommender.answers.answer import Answer
    from recommender.answers.benefit import Prediction
    from recommender.answers.capacity import Capacity, CapacityRequest
    from recommender.answers.deploying.files import DeploymentFiles
    from recommender.answers.estimate import Estimate
    from recommender.answers.explanation.explanation import Explanation
    from recommender.answers.sensitivity import LayerSensitivity
    from recommender.answers.this_machine import MachineFacts
    from recommender.ranking.starts.starts import Starts
    from recommender.retrieval.neighbours import Neighbour
    from recommender.space.space import SearchSpace


class AskDesk(Desk):
    """Questions as one snapshot of a workspace reads and answers them; what was asked is remembered."""

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
        refuse_misspelt(problem)
        return problem, (*notes, self.age_note) if self.age_note else notes

    def on_this_machine(self, raw: Mapping[str, object]) -> tuple[Mapping[str, object], Resolver]:
        """A question about what it is asked on, with that by name; other questions as they are.

        A script's own word for its devices (a type of a cluster's scheduler) that names none is left out.
        """
        raw = with_own_count(raw)
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

    def model_facts(self, problem: Problem) -> dict[str, float | str]:
        """Return facts and architecture of a problem's model; without it, the sizes in the problem."""
        return self.snapshot.model_facts(problem)

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

    def recommend(
        self,
        problem: Problem,
        k: int = 5,
        *,
        notes: Sequence[str] = (),
        space: SearchSpace | None = None,
    ) -> Answer:
        """Recommend k configurations, best first, with expected gain, interval and evidence.

        Args:
            problem: The question; :meth:`problem` makes one from plain words.
            k: How many at most.
            notes: What was assumed when the question was read.
            space: The configurations that a kernel or operator can take; None for what is known of it.

        Raises:
            InputError: There is a space, and the question is about a whole model.
            NoEvidenceError: Nothing known is near enough; the hint says what to measure.
            InfeasibleError: All that is known was refused; the message names the rules.
        """
        problem, notes = self.understood(problem, notes)
        answer = self.snapshot.recommender.answer(
            problem, k, model=self.model_facts(problem), notes=notes, space=space
        )
        traits = problem.workload.traits
        if traits.get("disaggregated") is not True or "role" in traits:
            return answer
        apart = self._of_roles(answer, k)
        said = "prefill and decode apart are not planned for this program or load: the start does both"
        return apart if apart.engines else replace(answer, notes=(*answer.notes, said))

    def _of_roles(self, answer: Answer, k: int) -> Answer:
        """The answer where prefill and decode are told to be apart: the start of either role."""
        from recommender.answers.deploying.role_answers import engine_of, of_roles
        from recommender.ranking.deployments.engines import both_sizes, role_problems

        situation = self.snapshot.recommender.planner.starts.situation(answer.problem)
        if situation is None or answer.separation is None or answer.priced is None:
            return answer
        precision = str(answer.priced.settings.get("precision", ""))
        engines, last = [], answer
        for role, count, problem in role_problems(answer.problem, situation, answer.separation, precision):
            last = self.snapshot.recommender.answer(problem, k, model=self.model_facts(problem))
            if last.plan is None or not last.plan.fits:
                return answer
            engines.append(engine_of(last, role, count))
        return of_roles(answer, last, both_sizes(engines))

    def deployment(self, answer: Answer) -> DeploymentFiles:
        """The files that deploy an answer: a script for each role, compose, Kubernetes, LeaderWorkerSet.

        Raises:
            InputError: It is no plan for a model, or its program or device has no such files.
        """
        from recommender.answers.deploying.files import deployment_files
        from recommender.answers.deploying.role_answers import engine_of
        from recommender.ranking.starts.layout_choice import SERVER

        engines = answer.engines or (engine_of(answer),)
        device = answer.device or answer.problem.hardware.name
        on_server = self.hardware.facts(device).get("devices_per_server", SERVER)
        return deployment_files(engines, self.hardware.path(device), int(str(on_server)))

    def decision(self, problem: Problem) -> Starts | None:
        """The start that the plan for a question begins with, priced; None where no framework runs it.

        Raises:
            NoEvidenceError: The program that is named is not modelled.
        """
        starts = self.snapshot.recommender.planner.starts
        situation = starts.situation(problem) if problem.workload.model else None
        return None if situation is None else starts.find(situation, self.model_facts(problem))

    def training_fit(self, problem: Problem) -> str:
        """A sentence that says by how much training fits, in the layout that a plan begins with.

        Raises:
            InputError: Its memory is not modelled.
            InfeasibleError: It does not fit; the message says what makes it.
        """
        fit = self.snapshot.recommender.planner.starts.divided_fit(self.understood(problem, ())[0])
        if fit is None:
            raise InputError("what this training keeps in memory is not modelled", hint="tunegraph estimate")
        if not fit.fits:
            raise InfeasibleError(fit.words)
        return fit.words

    def capacity(self, problem: Problem, request: CapacityRequest, *, notes: Sequence[str] = ()) -> Capacity:
        """The devices that a rate of requests needs, or the deployments worth considering.

        Args:
            problem: Model, device, lengths and limits; its ``count`` bounds the devices of an instance.
            request: Rate and price.
            notes: What was assumed when the question was read.

        Raises:
            InputError: It is no serving of a model, or a length is not stated.
            InfeasibleError: None fits the memory; the hint has the smallest that does.
            MissingFactError: A fact of the model or the device is not known.
        """
        from recommender.answers.capacity import capacity

        problem, notes = self.understood(problem, notes)
        starts = self.decision(problem)
        if starts is None:
            raise InputError(
                f"no framework is known that serves {problem.workload.model} on {problem.hardware.name}",
                hint="--software NAME=VERSION names one",
            )
        return capacity(problem, request, starts, notes=notes)

    def predict(
        self,
        problem: Problem,
        k: int = 5,
        *,
        server: str = "",
        intensity_g_per_kwh: float | None = None,
        notes: Sequence[str] = (),
    ) -> Prediction:
        """Predict throughput, memory, energy and carbon of k recommendations, with intervals.

        Args:
            problem: The question.
            k: How many recommendations at most.
            server: Name of the server around the devices; empty if it is not stated.
            intensity_g_per_kwh: Of the grid, in grams of CO2; None for no carbon.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError: Nothing supports a prediction.
            InfeasibleError: All that is known was refused.
            InputError: An intensity that no grid has, or an unknown server.
        """
        from recommender.answers.predict import check_intensity, predict
        from recommender.cost_model.question import Question

        check_intensity(intensity_g_per_kwh)
        problem, notes = self.understood(problem, notes)
        answer = self.recommend(problem, k, notes=notes)
        if server and answer.priced is not None:
            around = self.names.server(server).id
            asked = Question.of(problem, self.model_facts(problem), self.hardware, server=around)
            network = replace(answer.priced.machine, network=asked.machine.network)
            answer = replace(answer, priced=replace(answer.priced, machine=network))
        return predict(answer, intensity_g_per_kwh=intensity_g_per_kwh)

    def estimate(
        self,
        raw: Mapping[str, object],
        *,
        phase: str = "",
        server: str = "",
        settings: Mapping[str, object] | None = None,
        axes: Mapping[str, Sequence[object]] | None = None,
        compare: Sequence[Mapping[str, object]] = (),
        pareto: Sequence[str] = (),
        constants: Path | None = None,
        by_operator: bool = False,
    ) -> Estimate:
        """Time, throughput, memory and energy of a step, by the cost model.

        ``raw`` is a question as for :meth:`problem`; ``settings`` of the cost model win over it, and every
        combination of the values of ``axes`` is estimated; ``compare`` has two sets of settings for side by
        side, ``pareto`` results in which no other configuration beats some. ``server`` is a name, empty if it
        is not stated. ``by_operator`` lists the operators of the passes of the one configuration.

        Raises:
            InputError: The question, the phase or a setting is wrong, or no such layout can be.
            MissingFactError: A fact that the estimate needs is unknown.
        """
        from recommender.answers.estimate import estimate_problem
        from recommender.cost_model.question import check_phase

        if phase:
            check_phase(phase)
        problem, notes = self.problem({**raw, **({"phase": phase} if phase else {})})
        try:
            starts = self.decision(problem)
        except NoEvidenceError:
            if problem.workload.kind is not WorkloadKind.TRAINING:
                raise
            starts = None  # how a trainer divides is not chosen here, what it is told is priced
        around = self.names.server(server) if server else None
        return estimate_problem(
            problem,
            self.model_facts(problem),
            self.hardware,
            phase=problem.workload.kind.value,
            server=around.id if around else "",
            starts=starts,
            settings=settings,
            axes=axes,
            compare=compare,
            pareto=pareto,
            constants=constants,
            by_operator=by_operator,
            about=self.snapshot.near_runs.about,
            notes=[*notes, around.note] if around and around.note else notes,
        )

    def similar(self, problem: Problem, k: int = 10) -> list[Neighbour]:
        """Return the k nearest known problems; those of another operator or metric come last."""
        problem, _ = self.understood(problem)
        comparable = self.snapshot.retriever.find(problem, most=k)
        there = {item.problem.key for item in comparable}
        others = self.snapshot.retriever.find(problem, most=k, any_operator=True)
        return [*comparable, *(item for item in others if item.problem.key not in there)][:k]

    def neighbours(self, problem: Problem, k: int = 10) -> list[dict[str, object]]:
        """Describe the k nearest known problems: shape, number of rows, and best value of each."""
        return [describe(item, self.graph, self.trials) for item in self.similar(problem, k)]

    def explain(self, recommendation_id: str) -> Explanation:
        """Explain a recommendation; its answer is computed again from the remembered question.

        Where the knowledge has changed since, what sets the same today is explained.

        Raises:
            UnknownEntityError: No remembered answer has this id, or nothing of today's answer sets the same.
        """
        path = self.snapshot.layout.questions
        remembered = answered_questions.question_of(path, recommendation_id)
        problem, notes = self.problem(json.loads(remembered.question))
        answer = self.recommend(problem, remembered.k, notes=notes)
        try:
            return explain(answer, remembered.id, answered_questions.configuration_of(path, remembered.id))
        except KeyError:
            raise UnknownEntityError(
                f"{remembered.id} was answered by knowledge {remembered.version};"
                f" by what is known now, {self.snapshot.knowledge_version}, it is no longer recommended",
                hint="ask again: tunegraph recommend",
            ) from None

    def remember(self, answer: Answer, raw: Mapping[str, object], k: int) -> bool:
        """Keep which question an answer is to, as its findings left it; whether that was possible."""
        if answer.findings:
            raw = {**raw, "current": dict(answer.problem.current or {})}
            if answer.problem.workload.precision is None:
                raw.pop("precision", None)
        question = json.dumps(raw, ensure_ascii=False, sort_keys=True)
        return answered_questions.remember(
            self.snapshot.layout.questions,
            answer,
            question=question,
            k=k,
            version=self.snapshot.knowledge_version,
        )

    @staticmethod
    def sensitivity(
        file: Path, *, grouping: str = "kind", low: str = "int8", budget: float | None = None
    ) -> LayerSensitivity:
        """Rank groups of layers by the expected cost of low precision in them; see ``rank_file``.

        Raises:
            InputError: The file cannot be read, or has no losses to spend.
            NoEvidenceError: No statistic covers half of the layers that may go down.
        """
        from recommender.answers.sensitivity import rank_file

        return rank_file(file, grouping=grouping, low=low, budget=budget)
