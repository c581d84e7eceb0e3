"""The start configuration of a question, alternatives of another kind, and what recipes offer beyond it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kg.errors import InputError, NoEvidenceError
from kg.nouns.entities import Better, Objective, Problem
from kg.nouns.framework import Framework
from kg.nouns.values import Settings, Value
from kg.terms.metrics import priced_as
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings
from kg.triples.finders import ModelFinder, StrategyFinder
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import model_facts
from kg.triples.serialisation import all_of
from recommender.applicability.framework import maker_of, running_framework
from recommender.applicability.programs import refuse_unmodelled
from recommender.applicability.question_facts import question_facts
from recommender.applicability.unread_names import unread_names
from recommender.cost_model.assumed import assumed_count, assumed_precision
from recommender.cost_model.layout_domain import LARGEST
from recommender.cost_model.machine import TOLD_FACTS, link_note
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.settings.engine_defaults import host_note
from recommender.ranking.feasibility.training_fit import (
    TrainingFit,
    fit_of,
    fit_of_question,
    refuse_inference_chips,
)
from recommender.ranking.layout_question import LIMITED, LayoutQuestion, on_devices
from recommender.ranking.measured.exact_runs import ExactRun, words_of
from recommender.ranking.measured.near_runs import NearRuns
from recommender.ranking.model_traits import ModelTraits, accuracy_in
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.draft import StartDraft, worth_testing
from recommender.ranking.starts.flags.server_flags import PYTORCH, of_diffusion
from recommender.ranking.starts.launchable import in_release
from recommender.ranking.starts.layout_choice import (
    TRUST_IN_TIMES,
    TRUST_UNHEARD,
    ChosenLayout,
    choose_layouts,
    shown_layouts,
)
from recommender.ranking.starts.layout_options import (
    layout_options,
    most_copies,
    narrower_fit,
    on_fewer_devices,
    roomier,
    smallest_fit,
    with_room,
)
from recommender.ranking.starts.layout_start import layout_start, unfit_start, within_bounds
from recommender.ranking.starts.lengths import stretched_positions
from recommender.ranking.starts.pinned_start import as_it_ran, asked_work, with_own_number, written_layout
from recommender.ranking.starts.pricing import layout_question, why_unpriced
from recommender.ranking.starts.recipes.company import Company
from recommender.ranking.starts.recipes.resemblance import KnownRecipes, WeighedRecipe, weigh
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.starts import StartReliability, Starts
from recommender.ranking.starts.support import (
    assumed_by,
    beyond_memory,
    is_believed,
    is_judged,
    known_of,
    overload_note,
    tables_beyond_memory,
    weights_of,
    why_not_judged,
)

TOO_FEW = "nor on any number of devices that the {:,.0f} samples of a step keep busy"
NO_ROOM = "the parallel sizes in use leave too little memory"


class StartFinder:
    """Finds start configurations with the knowledge of one graph.

    Args:
        graph: The knowledge.
        tree: Its hardware.
        withheld: Ids of recipes that are not looked at; for backtests.
        reliability: Gives what tests of starts say for a situation.
        runs: Finds measured runs; None where there are no cases.
    """

    def __init__(
        self,
        graph: GraphStore,
        tree: HardwareTree,
        withheld: frozenset[str] = frozenset(),
        reliability: Callable[[StartSituation], StartReliability] = lambda _: StartReliability(),
        runs: NearRuns | None = None,
    ) -> None:
        self._graph = graph
        self._tree = tree
        self._reliability = reliability
        self._runs = runs
        self._finder = StrategyFinder(graph)
        self._models = ModelFinder(graph)
        self._traits_of: dict[str, ModelTraits] = {}
        self._recipes = KnownRecipes(graph, tree, withheld)

    def withhold(self, recipes: frozenset[str]) -> None:
        """Look at some recipes no more."""
        self._recipes = KnownRecipes(self._graph, self._tree, recipes)

    @cached_property
    def frameworks(self) -> list[Framework]:
        """The frameworks of the graph."""
        return list(all_of(self._graph, Framework))

    def situation(self, problem: Problem) -> StartSituation | None:
        """The situation of a question; None where no framework runs such a model on such hardware."""
        name = problem.workload.model or ""
        model = self._models.of(problem)
        path = self._tree.path(problem.hardware.name)
        vendor = maker_of(path)
        known = known_of(problem, model, self._tree)
        refuse_inference_chips(problem, self._tree)
        published, fit = f"{known}{self._recipes.published(problem)}", self.fit(problem)
        refuse_unmodelled(problem, self.frameworks, published, fit.words if fit else "")
        framework = running_framework(problem, vendor, model.architecture if model else "", self.frameworks)
        if framework is None:
            own = self._runs.program(problem) if self._runs and not problem.software else ""
            return self.situation(replace(problem, software=Settings({own: ""}))) if own else None
        facts = question_facts(problem, self._tree, model)
        is_served = facts.get("phase") == "serving" and not problem.current
        is_split = is_served and (problem.hardware.count or 1) > 1 and framework.id in PYTORCH
        if is_split and model and model.architecture == "diffusion":
            raise NoEvidenceError(
                f"{model.id} denoises in steps, which are not modelled: {published}",
                hint="--software sglang gives the command of its server of such models",
            )
        if facts.get("phase") == "serving":  # one server for both, unless something else is stated
            facts.setdefault("role", "mixed")
            facts.setdefault("disaggregated", facts["role"] != "mixed")
        if framework.version:
            facts[f"software[{framework.id}]"] = framework.version
        return StartSituation(
            problem=problem,
            framework=framework,
            model=ModelTraits.of(model, name),
            hardware=self._path(problem.hardware.name),
            devices=problem.hardware.count,
            facts=facts,
        )

    def fit(self, problem: Problem) -> TrainingFit | None:
        """Check that the training of a question fits the memory; None where that is not modelled."""
        return fit_of(problem, model_facts(self._graph, problem), self._tree)

    def divided_fit(self, problem: Problem) -> TrainingFit | None:
        """Check that training fits in the layout that a plan begins with; without a plan, as it is asked."""
        try:
            situation = self.situation(problem) if problem.workload.model else None
        except NoEvidenceError:  # a program without a plan
            situation = None
        starts = self.find(situation, model_facts(self._graph, problem)) if situation is not None else None
        if starts is None or starts.question is None or starts.first.layout is None:
            return self.fit(problem)
        return fit_of_question(starts.question, starts.assumed, str(starts.first.layout))

    def release(self, situation: StartSituation) -> ReleaseSettings | None:
        """The settings of the release in use; None where none ship."""
        return Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting).release()

    def priced(
        self, situation: StartSituation, weighed: Sequence[WeighedRecipe], sizes: Mapping[str, Value]
    ) -> LayoutQuestion | None:
        """The question by which layouts are priced, given some recipes; None if they cannot be priced."""
        return layout_question(self._draft(situation, list(weighed)), sizes, self._tree)

    def find(
        self,
        situation: StartSituation,
        sizes: Mapping[str, Value],
        *,
        is_copied: bool = False,
    ) -> Starts:
        """The start configurations of a situation.

        Args:
            situation: What is asked.
            sizes: Facts of the model by name, with its ``architecture``.
            is_copied: What runs now is a measured run, to be kept as it was.
        """
        draft = self._begun(situation, sizes)
        draft.is_copied, situation = is_copied, draft.situation
        screen = Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting)
        stretched_positions(situation, screen.release())  # refuses lengths that no setting makes possible
        agreed = worth_testing(draft.weighed)
        layouts = self._layouts(draft, sizes)
        pinned = [] if is_copied else self._pinned(draft)
        if isinstance(layouts, StartConfiguration):
            starts = self._starts(draft, [layouts])
            return self._kept(starts, pinned, screen, sizes) if pinned else starts
        found = [layout_start(draft, layouts[0] if layouts else None, agreed, screen)]
        if layouts:
            found[0] = within_bounds(found[0], draft, layouts[0], agreed, screen)
            others = replace(draft, is_divided_anew=True)
            found += [layout_start(others, one, agreed, screen) for one in layouts[1:]]
            found[1:] = [one for one in found[1:] if not one.overflows]
        denoises = sizes.get("architecture") == "diffusion" and not situation.current
        if denoises and situation.framework.id == "sglang":
            found = [replace(found[0], recipe_settings=[], start=of_diffusion(found[0].start))]
        first = found[0]
        draft.recipe_settings, draft.refused = first.recipe_settings, first.refused
        draft.notes += first.notes
        if layouts:
            draft.assumed += assumed_by(layouts[0], draft)
            draft.notes += [*self._not_judged(draft), *filter(None, [overload_note(draft, layouts[0])])]
        starts = self._starts(draft, [one.start for one in found])
        divided = {one.start.layout: one.question for one in found if one.start.layout and one.question}
        starts = replace(starts, question=first.question, price=first.price, divided=divided)
        return self._kept(starts, pinned, screen, sizes) if pinned else starts

    @staticmethod
    def _not_judged(draft: StartDraft) -> list[str]:
        """Notes on the parts of the question that the price of layouts ignores."""
        if draft.question is None:
            return []
        problem, question = draft.situation.problem, draft.question
        notes = [link_note(question.machine), host_note(question.engine, question.settings)]
        decides = problem.objective.metric
        if decides in LIMITED or priced_as(problem.objective, problem.workload.kind):
            return [note for note in notes if note]
        by_rate = f"{decides} is not modelled for layouts: they are ordered by throughput"
        return [by_rate, *(note for note in notes if note)]

    def _pinned(self, draft: StartDraft) -> list[ExactRun]:
        """The measurements of exactly this question, best first."""
        problem, runs = draft.situation.problem, self._runs
        if runs is None:
            return []
        asked = asked_work(draft.situation, draft.question, runs.lengths(problem))
        found = runs.exactly(asked, problem.objective, problem.limits)
        if found or problem.objective.metric != "throughput" or draft.situation.is_training:
            return found
        of_phase = Objective(metric="decode_throughput", better=Better.HIGHER)
        return runs.exactly(asked, of_phase, problem.limits)

    def _kept(
        self, modelled: Starts, pinned: Sequence[ExactRun], screen: Screen, sizes: Mapping[str, Value]
    ) -> Starts:
        """The best measurement of this very question as it ran, and what is modelled beside it."""
        situation = modelled.situation
        if situation.problem.current:
            return with_own_number(modelled, pinned)
        words = words_of(
            pinned[0], screen.release(), situation.framework.id, written_layout(pinned[0].layout, situation)
        )
        running = replace(situation, problem=replace(situation.problem, current=words))
        return as_it_ran(modelled, self.find(running, sizes, is_copied=True), pinned, screen)

    def _begun(self, situation: StartSituation, sizes: Mapping[str, Value]) -> StartDraft:
        """Agreement of recipes, weighed by tests of starts too; a release that runs stays."""
        frameworks, release = [item.id for item in self.frameworks], self.release(situation)
        unread = unread_names(situation.problem, sizes, frameworks, release)
        situation, moved = in_release(situation, release)
        weighed = weigh(situation, self._recipes.of(situation), self._traits, self._path)
        screen = Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting)
        tests = self._reliability(situation)
        usable = [one.trusted(tests.recipes.get(one.recipe.id, 1.0)) for one in screen.usable(weighed)]
        draft = self._draft(situation, usable)
        draft.tested = tests.layouts
        draft.notes += [*unread, *moved]
        return draft

    def _draft(self, situation: StartSituation, weighed: list[WeighedRecipe]) -> StartDraft:
        """The start on which recipes agree, before a layout is chosen."""
        screen = Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting)
        kept, refused = screen.sift(worth_testing(weighed))
        return StartDraft(situation=situation, recipe_settings=kept, refused=refused, weighed=weighed)

    def _starts(self, draft: StartDraft, found: Sequence[StartConfiguration]) -> Starts:
        company, begun = Company.of(draft.weighed), {plain_key(item.key) for item in draft.agreed}
        return Starts(
            situation=draft.situation,
            first=found[0],
            alternatives=tuple(found[1:]),
            further=tuple(one for one in draft.further if not company.avoids(plain_key(one.key), begun)),
            not_here=tuple(draft.refused),
            recipes=tuple(draft.weighed),
            notes=tuple(dict.fromkeys(draft.notes)),
            assumed=(*draft.situation.framework.assumed, *dict.fromkeys(draft.assumed)),
            has_memory=draft.has_memory,
            query=draft.query,
            roomier=draft.roomier,
        )

    def _layouts(
        self, draft: StartDraft, sizes: Mapping[str, Value]
    ) -> list[ChosenLayout] | StartConfiguration:
        """The first layout and two of another kind; or the smallest that fits, where none does."""
        situation = draft.situation
        asked = self._asked(draft, sizes)
        if asked is None:
            return self._unpriced(draft, sizes)
        count = asked.question.machine.count
        # where nothing fits, wishes go in the order of what they cost the user: agreed settings, then devices
        # that the model does not divide over, then the number format; more devices only if none are stated
        asked, options, assumed = with_room(asked, draft.droppable)
        draft.assumed += assumed
        if not options and not any(asked.domain.layouts()):
            if why := asked.domain.why_none():
                raise InputError(f"current: {why}")
            asked = on_fewer_devices(asked) or asked
            options = layout_options(asked)
        if not options and (why := why_not_judged(situation, asked)):
            fit = self._training_fit(situation, asked) if is_judged(asked) else None
            draft.notes += [why] if fit is None else [why, fit.words]
            draft.degrees = {name: int(float(str(size))) for name, size in asked.degrees.items()}
            return [] if situation.problem.situation.has_script else self._unpriced(draft, sizes)
        if not options and (others := asked.degrees and layout_options(asked.undivided)):
            return replace(unfit_start(draft.situation, others[0], None), because=(NO_ROOM,))
        if not options:
            asked = on_fewer_devices(asked) or self._narrowed(draft, asked)
            options = layout_options(asked)
        if not options:
            smallest = smallest_fit(asked.undivided if asked.degrees else asked)
            if smallest is None or situation.devices is not None:
                fit = self._training_fit(situation, asked)
                draft.notes += [fit.words] if fit is not None else []
                unfit = unfit_start(draft.situation, smallest, narrower_fit(asked), fit)
                most = most_copies(asked.question)
                is_bound = smallest is None and most < LARGEST
                relief = fit.relief if fit is not None else ""
                return replace(unfit, because=(relief or TOO_FEW.format(most),)) if is_bound else unfit
            asked = on_devices(asked, smallest.layout.devices)
            options = layout_options(asked)
            draft.assumed.append(assumed_count(asked.question.machine.count))
        if (used := asked.question.machine.count) < count:
            what = "parallel sizes in use do" if asked.degrees else "model does"
            draft.notes.append(f"{used} of {count} devices are used: the {what} not divide over all of them")
        draft.question, draft.query = asked.question, asked
        if options[0].log_merit is None and (reason := why_unpriced(asked.question)):
            tells = next((f"; --trait {name}=NUMBER tells it" for name in TOLD_FACTS if name in reason), "")
            draft.notes.append(f"layouts are not priced: {reason}{tells}")
        chosen = self._chosen(draft, asked, options)
        draft.roomier = roomier(asked, chosen[0].option)
        if asked.degrees:  # another layout than the one that runs is an alternative
            free = on_devices(asked.undivided, max(count, asked.question.machine.count))
            chosen = [chosen[0], *self._chosen(draft, free, layout_options(free))]
        kinds: dict[tuple[int, int, bool], ChosenLayout] = {}
        for one in chosen:
            layout = one.option.layout
            kinds.setdefault((layout.tp, layout.pp, layout.ep > 1), one)
        return shown_layouts(list(kinds.values()))

    @staticmethod
    def _training_fit(situation: StartSituation, query: LayoutQuestion) -> TrainingFit | None:
        """The verdict on the memory of a launch that trains, and what makes it fit."""
        told = replace(query.question, settings={**query.question.settings, **query.degrees})
        return fit_of_question(told) if situation.is_training else None

    @staticmethod
    def _narrowed(draft: StartDraft, query: LayoutQuestion) -> LayoutQuestion:
        """The question in weights that fit, where none are told and their accuracy is published."""
        problem = draft.situation.problem
        is_told = problem.workload.precision or draft.situation.devices is None
        if is_told or is_believed(draft.situation, query):
            return query
        name, _ = narrower_fit(query) or ("", None)
        if not accuracy_in(draft.situation.model.id, name):
            return query
        draft.assumed = [fact for fact in draft.assumed if fact.name != "precision"]
        draft.assumed.append(assumed_precision(f"{name}: wider ones do not fit"))
        draft.is_narrowed = True
        settings = {**query.question.settings, "precision": name}
        return replace(query, question=replace(query.question, settings=settings))

    def _asked(self, draft: StartDraft, sizes: Mapping[str, Value]) -> LayoutQuestion | None:
        """Layouts to price, near the runs that were measured; None where nothing prices them."""
        situation = draft.situation
        asked = layout_question(
            draft, sizes, self._tree, self._runs.lengths(situation.problem) if self._runs else {}
        )
        if asked is None:
            return None
        count = asked.domain.least
        if self._runs is not None:
            draft.measured = self._runs.near(asked.question)
            corrected = self._runs.corrected(asked.question, draft.measured)
            asked = replace(asked, question=corrected)
        if situation.devices is None and count > 1:
            asked = on_devices(asked, count)
            draft.assumed.append(assumed_count(count))
        if count > asked.question.machine.count and situation.problem.situation.has_script:
            draft.is_divided_anew = True
            draft.notes.append(f"the script divides over {count} devices, and there are {situation.devices}")
            asked = asked.undivided
        draft.question = asked.question
        draft.has_memory = is_judged(asked)
        draft.weight_format = str(sizes.get("weight_format", ""))
        return asked

    def _unpriced(
        self, draft: StartDraft, sizes: Mapping[str, Value]
    ) -> list[ChosenLayout] | StartConfiguration:
        """No layout with a price; where the weights alone fill more than there is, none at all."""
        needed, memory, _ = weights_of(draft.situation, sizes, self._tree)
        draft.least_devices = math.ceil(needed / memory) if memory else 1
        draft.notes += tables_beyond_memory(draft.situation.problem, sizes, self._tree)
        bound = beyond_memory(draft.situation, sizes, self._tree)
        return replace(unfit_start(draft.situation, None, None), because=(bound,)) if bound else []

    def _chosen(
        self, draft: StartDraft, query: LayoutQuestion, options: Sequence[PricedStep]
    ) -> list[ChosenLayout]:
        is_unheard = query.is_for_latency or query.question.machine.network.cards
        return choose_layouts(
            options,
            draft.for_layout(),
            training=draft.situation.is_training,
            model=draft.situation.model,
            trust=TRUST_UNHEARD if is_unheard else TRUST_IN_TIMES,
            settings=query.question.settings,
            tested=draft.tested,
        )

    def _path(self, hardware: str) -> tuple[str, ...]:
        if not hardware:
            return ()
        node = self._tree.node(hardware)
        return self._tree.path(node.device if node is not None and node.device else hardware)

    def _traits(self, name: str) -> ModelTraits:
        if name not in self._traits_of:
            self._traits_of[name] = ModelTraits.of(self._models.find(name), name)
        return self._traits_of[name]
