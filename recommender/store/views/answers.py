"""Everything that a workspace answers: recommendations, predictions, diagnoses, search files and searches."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from kg.errors import InputError, UnknownEntityError
from recommender.answers.explanation.explanation import explain
from recommender.answers.explanation.neighbours import describe
from recommender.store import answered_questions
from recommender.store.views.questions import WorkspaceQuestions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from ingest.profiles.facts.run import Profile
    from kg.nouns.entities import Problem
    from kg.nouns.knowledge import Strategy
    from recommender.answers.answer import Answer
    from recommender.answers.benefit import Prediction
    from recommender.answers.capacity import Capacity, CapacityRequest
    from recommender.answers.diagnose import Allowed, DiagnosisAnswer
    from recommender.answers.estimate import Estimate
    from recommender.answers.explanation.explanation import Explanation
    from recommender.answers.space_making import SpaceMaker
    from recommender.answers.verification import VerificationRequest
    from recommender.cost_model.anchors import Anchors
    from recommender.cost_model.question import Question
    from recommender.cost_model.step_runs import StepRun
    from recommender.diagnosis.logs import SeenFault
    from recommender.diagnosis.serving import ServingLoad
    from recommender.evolution.exploring import Exploration
    from recommender.experiment.preparing import PreparedTest
    from recommender.retrieval.neighbours import Neighbour
    from recommender.search.logged_search import LoggedSearch
    from recommender.search.report.search_report import CourseReport
    from recommender.search.run.preparation import Prepared, SearchOptions
    from recommender.space.space import SearchSpace


class WorkspaceAnswers(WorkspaceQuestions):
    """The answers that one snapshot of a workspace gives; what was asked is remembered beside it."""

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
        return self.snapshot.recommender.answer(
            problem, k, model=self.model_facts(problem), notes=notes, space=space
        )

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
        from recommender.ranking.deployments.deployments import Deployments

        starts = self.snapshot.recommender.planner.starts
        situation = starts.situation(problem)
        if situation is None:
            raise InputError(
                f"no framework is known that serves {problem.workload.model} on {problem.hardware.name}",
                hint="--software NAME=VERSION names one",
            )
        unread = starts.unread(situation, self.model_facts(problem))
        said = [note for note in (*notes, situation.framework.note, *unread) if note]
        return capacity(
            problem,
            request,
            Deployments(self.snapshot.hardware, self.snapshot.sizes_of, self.snapshot.near_runs.about),
            precision=starts.precision(situation, self.model_facts(problem)),
            framework=situation.framework.id,
            version=situation.framework.version,
            has_experts=bool(situation.model.is_mixture),
            notes=said,
        )

    def explore(
        self, problem: Problem, k: int = 5, *, rng: np.random.Generator, notes: Sequence[str] = ()
    ) -> Exploration:
        """Recommend by Thompson sampling, hypotheses included, with the price of exploring.

        Args:
            problem: The question.
            k: How many at most.
            rng: Draws the gains.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError, InfeasibleError: As for :meth:`recommend`.
        """
        from recommender.evolution.exploring import POOL, explore

        model = self.model_facts(problem)
        pool = self.snapshot.recommender.answer(
            problem, POOL * k, model=model, notes=notes, with_hypotheses=True
        )
        return explore(pool, k, self.snapshot.recommender.strategies.outcomes(problem), rng)

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
        from recommender.answers.predict import check_intensity, predict, question_of

        check_intensity(intensity_g_per_kwh)
        answer = self.recommend(problem, k, notes=notes)
        around = self.names.server(server).id if server else ""
        if answer.priced is not None and not around:
            return predict(answer, answer.priced, intensity_g_per_kwh=intensity_g_per_kwh, notes=())
        about = self.snapshot.near_runs.about
        question, assumed = question_of(problem, self.model_facts(problem), self.hardware, around, about)
        return predict(answer, question, intensity_g_per_kwh=intensity_g_per_kwh, notes=assumed)

    def estimate(
        self,
        raw: Mapping[str, object],
        *,
        phase: str = "training",
        server: str = "",
        settings: Mapping[str, object] | None = None,
        axes: Mapping[str, Sequence[object]] | None = None,
        compare: Sequence[Mapping[str, object]] = (),
        pareto: Sequence[str] = (),
        constants: Path | None = None,
    ) -> Estimate:
        """Time, throughput, memory and energy of a step, by the cost model.

        ``raw`` is a question as for :meth:`problem`; ``settings`` of the cost model win over it, and every
        combination of the values of ``axes`` is estimated; ``compare`` has two sets of settings for side by
        side, ``pareto`` results in which no other configuration beats some. ``server`` is a name, empty if it
        is not stated.

        Raises:
            InputError: The question, the phase or a setting is wrong, or no such layout can be.
            MissingFactError: A fact that the estimate needs is unknown.
        """
        from recommender.answers.estimate import estimate_problem
        from recommender.cost_model.question import check_phase

        check_phase(phase)
        problem, notes = self.problem({**raw, "phase": phase})
        around = self.names.server(server) if server else None
        return estimate_problem(
            problem,
            self.model_facts(problem),
            self.hardware,
            phase=phase,
            server=around.id if around else "",
            settings=settings,
            axes=axes,
            compare=compare,
            pareto=pareto,
            constants=constants,
            about=self.snapshot.near_runs.about,
            notes=[*notes, around.note] if around and around.note else notes,
        )

    def calibrate_steps(self, files: Sequence[Path], folder: Path) -> Anchors:
        """Anchor the cost model on runs of whole steps beside the shipped ones; written into ``folder``.

        Raises:
            InputError: A file is no table of runs, or a run cannot be.
            MissingFactError: A fact of a run is unknown.
        """
        from recommender.cost_model.anchors import OWN_SITE, STEPS_FILE, Anchors, shipped_anchors
        from recommender.cost_model.step_runs import measured_steps, read_runs

        shipped = shipped_anchors()
        own = [
            step
            for path in files
            for step in measured_steps(read_runs(path), self.question_of_run, name=path.name, site=OWN_SITE)
        ]
        anchors = Anchors(
            steps=(*shipped.steps, *own),
            deviations=shipped.deviations,
            errors=shipped.errors,
            site=OWN_SITE,
        )
        folder.mkdir(parents=True, exist_ok=True)
        anchors.write(folder / STEPS_FILE)
        return anchors

    def question_of_run(self, run: StepRun) -> Question:
        """The question for the cost model that a measured run answers."""
        from recommender.cost_model.question import Question
        from recommender.cost_model.settings.plans import PHASES

        names = run.names
        phase = names["phase"] or "serving"
        raw: dict[str, object] = {name: names[name] for name in ("model", "hardware")}
        raw |= {"count": run.count, "phase": phase}
        own = {name: value for name, value in run.settings.items() if name in PHASES.get(phase, ())}
        if len(own) < len(run.settings):
            raw["current"] = {name: value for name, value in run.settings.items() if name not in own}
        problem, _ = self.problem(raw)
        around = self.names.server(names["server"]).id if names["server"] else ""
        question = Question.of(problem, self.model_facts(problem), self.hardware, server=around, phase=phase)
        settings = {**question.settings, **own}
        return replace(question, settings=settings, engine=names["engine"], version=names["version"])

    def diagnose(
        self,
        profile: Path | Profile,
        *,
        before: Path | Profile | None = None,
        least: float = 0.05,
        allowed: Allowed | None = None,
        hardware: str = "",
        model: str = "",
    ) -> DiagnosisAnswer:
        """The causes of lost time in a profile, with remedies and matching cases.

        Args:
            profile: A profile, or the path of one.
            before: An earlier profile of the same job: then what became worse is explained.
            least: Share of the step from which a cause is significant.
            allowed: What remedies may do; anything if None.
            hardware: Name of the device; as far as the profile tells if empty.
            model: Name of the model; empty if it is not stated.

        Raises:
            InputError: A path is no profile.
        """
        from kg.rows.gains import gains
        from recommender.answers.diagnose import diagnose_profile, present_of, profile_at

        run = profile_at(profile)
        return diagnose_profile(
            self.graph,
            run,
            before=None if before is None else profile_at(before),
            least=least,
            allowed=allowed,
            gains=gains(self.trials),
            present=present_of(self.graph, self.names, self.hardware, run, hardware, model),
        )

    def faults(self, log: Path) -> list[SeenFault]:
        """The known faults in a log.

        Raises:
            InputError: It cannot be read.
        """
        from recommender.answers.diagnose import faults_in

        return faults_in(self.graph, log)

    def serving_load(self, log: Path) -> tuple[ServingLoad | None, list[Strategy]]:
        """The load of a server in a log or page of metrics, and settings against a lack of KV blocks.

        Raises:
            InputError: It cannot be read.
        """
        from recommender.answers.diagnose import serving_load_in

        return serving_load_in(self.graph, log)

    @property
    def space(self) -> SpaceMaker:
        """Makes search files: layouts, kernels, run-time variables, or a file pruned by measurements."""
        from recommender.answers.space_making import SpaceMaker

        return SpaceMaker(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            problem=self.problem,
            similar=self.similar,
        )

    def similar(self, problem: Problem, k: int = 10) -> list[Neighbour]:
        """Return the k nearest known problems; those of another operator or metric come last."""
        comparable = self.snapshot.retriever.find(problem, most=k)
        there = {item.problem.key for item in comparable}
        others = self.snapshot.retriever.find(problem, most=k, any_operator=True)
        return [*comparable, *(item for item in others if item.problem.key not in there)][:k]

    def neighbours(self, problem: Problem, k: int = 10) -> list[dict[str, object]]:
        """Describe the k nearest known problems: shape, number of rows, and best value of each."""
        return [describe(item, self.graph, self.trials) for item in self.similar(problem, k)]

    def explain(self, recommendation_id: str) -> Explanation:
        """Explain a recommendation; its answer is computed again from the remembered question.

        Raises:
            UnknownEntityError: No remembered answer has this id, or the knowledge has changed since.
        """
        remembered = answered_questions.question_of(self.snapshot.layout.questions, recommendation_id)
        problem, notes = self.problem(json.loads(remembered.question))
        answer = self.recommend(problem, remembered.k, notes=notes)
        if any(item.id == remembered.id for item in answer):
            return explain(answer, remembered.id)
        if any(start.id == remembered.id for start in answer.starts):
            hint = "the lines below it say what it rests on: tunegraph recommend -v"
            raise UnknownEntityError(f"{remembered.id} is a start, not a change", hint=hint)
        raise UnknownEntityError(
            f"{remembered.id} was answered by knowledge {remembered.version};"
            f" now it is {self.knowledge_version}",
            hint="ask again: tunegraph recommend",
        )

    def remember(self, answer: Answer, raw: Mapping[str, object], k: int) -> bool:
        """Keep which question an answer is to; whether that was possible."""
        question = json.dumps(raw, ensure_ascii=False, sort_keys=True)
        return answered_questions.remember(
            self.snapshot.layout.questions, answer, question=question, k=k, version=self.knowledge_version
        )

    def search(
        self, raw: Mapping[str, object], *, log: str, **options: Unpack[SearchOptions]
    ) -> LoggedSearch:
        """Begin a search that starts from the tables of similar problems; needs Optuna.

        Args:
            raw: Content of a search file (docs/search.md).
            log: File or URL of its log.
            options: See ``recommender.search.run.preparation.SearchOptions``.

        Returns:
            The search; it needs the workspace no more.

        Raises:
            InputError: ``raw`` is wrong, or the log holds such a search already.
        """
        from recommender.search.logged_search import LoggedSearch

        return LoggedSearch(self.prepare_search(raw, **options).begin(log))

    def searches_in(self, path: Path, *, metric: str = "") -> dict[str, CourseReport]:
        """The courses of searches of another tool, by problem, in the order of the file.

        Args:
            path: Any file of measurements in their order.
            metric: Only this one; all if empty.

        Raises:
            InputError: No measurement of the metric could be read.
        """
        from ingest.reading import read
        from kg.nouns.entities import Case
        from recommender.search.report.history import histories_of
        from recommender.search.report.search_report import CourseReport

        cases = [item for item in read([path], self.names) if isinstance(item, Case)]
        if not cases:
            hint = "see why: tunegraph ingest --dry-run"
            raise InputError(f"{path}: no measurement could be read", hint=hint)
        histories = histories_of(cases, metric=metric)
        return {title: CourseReport(item) for title, item in histories.items() if item.evaluations}

    def prepare_search(self, raw: Mapping[str, object], **options: Unpack[SearchOptions]) -> Prepared:
        """Prepare a search without beginning it; see :meth:`search`."""
        from recommender.search.run.preparation import Tuner

        tuner = Tuner(
            graph=self.graph,
            names=self.names,
            hardware=self.hardware,
            trials=self.trials,
            retriever=lambda: self.snapshot.retriever,
            operator=self.operator,
            about=self.snapshot.near_runs.about,
        )
        return tuner.prepare(raw, **options)

    @staticmethod
    def verification(answer: Answer, raw: Mapping[str, object], request: VerificationRequest) -> PreparedTest:
        """The A/B test of an answer's first recommendations against the current settings.

        Raises:
            InputError: The question does not say what is set now, or the command can try nothing.
        """
        from recommender.answers.verification import prepare_verification

        return prepare_verification(answer, raw, request)
