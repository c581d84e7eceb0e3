"""Questions and their answers: read, recommend, predict, estimate, explain."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InfeasibleError, InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.entities import WorkloadKind
from kg.terms.circumstances import LOAD
from recommender.answers.explanation.explanation import explain
from recommender.answers.explanation.neighbours import describe
from recommender.store import answered_questions
from recommender.workspace.desk import Desk
from recommender.workspace.questions import QuestionDesk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kg.nouns.entities import Problem
    from recommender.answers.answer import Answer
    from recommender.answers.benefit import Prediction
    from recommender.answers.capacity import Capacity, CapacityRequest
    from recommender.answers.deploying.files import DeploymentFiles
    from recommender.answers.estimate import Estimate
    from recommender.answers.explanation.explanation import Explanation
    from recommender.answers.sensitivity import LayerSensitivity
    from recommender.ranking.starts.starts import Starts
    from recommender.retrieval.neighbours import Neighbour
    from recommender.space.space import SearchSpace


class AskDesk(Desk):
    """Questions as one snapshot of a workspace reads and answers them; what was asked is remembered."""

    __slots__ = ()

    @property
    def questions(self) -> QuestionDesk:
        """Questions as people put them."""
        return QuestionDesk(self.workspace)

    def model_facts(self, problem: Problem) -> dict[str, float | str]:
        """Return facts and architecture of a problem's model; without it, the sizes in the problem."""
        return self.snapshot.model_facts(problem)

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
        problem, notes = self.questions.understood(problem, notes)
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
        fit = self.snapshot.recommender.planner.starts.divided_fit(self.questions.understood(problem, ())[0])
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

        problem, notes = self.questions.understood(problem, notes)
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
        problem, notes = self.questions.understood(problem, notes)
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
        one_pass: Mapping[str, object] | None = None,
    ) -> Estimate:
        """Time, throughput, memory and energy of a step, by the cost model.

        ``raw`` is a question as for :meth:`problem`; ``settings`` of the cost model win over it, and every
        combination of the values of ``axes`` is estimated; ``compare`` has two sets of settings for side by
        side, ``pareto`` results in which no other configuration beats some. ``server`` is a name, empty if it
        is not stated. ``by_operator`` lists the operators of the passes of the one configuration,
        ``one_pass`` prices one: its ``phase``, and its own ``batch``, ``chunk``, ``context`` and ``images``.

        Raises:
            InputError: The question, the phase or a setting is wrong, or no such layout can be.
            MissingFactError: A fact that the estimate needs is unknown.
        """
        from recommender.answers.estimate import estimate_problem
        from recommender.cost_model.question import check_phase
        from recommender.cost_model.settings.plans import canonical_name

        if phase:
            check_phase(phase)
        raw = {**raw, **({"phase": phase} if phase else {})}
        load = {name: own for name in settings or () if (own := canonical_name(name)) in LOAD}
        if settings and isinstance(shape := raw.get("shape") or {}, dict):
            # what is decided is decided for it
            raw["shape"] = {**shape, **{own: settings[name] for name, own in load.items()}}
            settings = {name: value for name, value in settings.items() if name not in load}
        problem, notes = self.questions.problem(raw)
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
            one_pass=one_pass,
            about=self.snapshot.near_runs.about,
            notes=[*notes, around.note] if around and around.note else notes,
        )

    def similar(self, problem: Problem, k: int = 10) -> list[Neighbour]:
        """Return the k nearest known problems; those of another operator or metric come last."""
        problem, _ = self.questions.understood(problem)
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
        problem, notes = self.questions.problem(json.loads(remembered.question))
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
