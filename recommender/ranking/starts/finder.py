"""The start configuration of a question, alternatives of another kind, and what recipes offer beyond it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kg.errors import InputError, MissingFactError, UnknownEntityError
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Model
from kg.nouns.recipe import Where
from kg.nouns.setting import SettingPlace
from kg.terms.purposes import plain_key
from kg.terms.setting_conflicts import broken_conflicts
from kg.triples.finders import StrategyFinder, recipes_of
from kg.triples.serialisation import all_of, from_graph
from recommender.applicability.framework import running_framework
from recommender.applicability.question_facts import question_facts
from recommender.cost_model.question import Question, is_step
from recommender.ranking.start import (
    ExpectedValue,
    Origin,
    ParallelLayout,
    PlanSetting,
    StartConfiguration,
)
from recommender.ranking.starts.agreement import agreed_settings
from recommender.ranking.starts.assumed import assumed_settings
from recommender.ranking.starts.layout_choice import (
    OTHER_PRECISION,
    TRUST_FOR_LATENCY,
    TRUST_IN_TIMES,
    choose_layouts,
)
from recommender.ranking.starts.layout_flags import SPLITTING, layout_settings
from recommender.ranking.starts.layout_options import SHORTEST, LayoutQuestion, layout_options, smallest_fit
from recommender.ranking.starts.resemblance import weigh
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import ModelTraits, Situation
from recommender.ranking.starts.values import adapted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Problem
    from kg.nouns.recipe import Recipe
    from kg.nouns.values import Value
    from kg.triples.graph import GraphStore
    from kg.terms.setting_registry import ReleaseSettings
    from kg.triples.hardware_tree import HardwareTree
    from recommender.ranking.plan_change import NotHere
    from recommender.ranking.starts.agreement import AgreedSetting
    from recommender.ranking.starts.layout_choice import ChosenLayout
    from recommender.ranking.starts.resemblance import WeighedRecipe

IN_THE_START = 0.5
"""Weight of recipes from which a setting is part of the start: more set it than do not."""
WORTH_TESTING = 0.15
"""Weight from which a setting is a change worth testing; a choice."""
NORMAL_90 = 1.645
_QUANTISED = "quantization"
_FOUR_BIT = "w4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """Start configurations of a question.

    Attributes:
        situation: What they are for.
        first: The one to begin with; the smallest that fits, with ``fits`` false, where none does.
        alternatives: Others of another kind.
        further: Settings that fewer recipes have, most agreed first.
        not_here: Settings of recipes that are not for this question.
        recipes: The recipes behind them, nearest first.
        notes: What was assumed, and what could not be asked.
    """

    situation: Situation
    first: StartConfiguration
    alternatives: tuple[StartConfiguration, ...] = ()
    further: tuple[AgreedSetting, ...] = ()
    not_here: tuple[NotHere, ...] = ()
    recipes: tuple[WeighedRecipe, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    """What is gathered while starts are found."""

    situation: Situation
    kept: list[AgreedSetting]
    refused: list[NotHere]
    weighed: list[WeighedRecipe]
    notes: list[str] = field(default_factory=list)

    def of_precision(self) -> list[WeighedRecipe]:
        """The recipes with those whose weights have another width weighing less."""
        is_quantised = self.value(_QUANTISED) is not None
        return [
            one
            if _quantises(one.recipe) == is_quantised
            else replace(one, weight=one.weight * OTHER_PRECISION)
            for one in self.weighed
        ]

    def value(self, plain: str) -> str | None:
        """The value of a setting of the start; None if it is not part of it."""
        return next(
            (item.value for item in self.kept if item.share >= IN_THE_START and plain_key(item.key) == plain),
            None,
        )


class StartFinder:
    """Finds start configurations with the knowledge of one graph.

    Args:
        graph: The knowledge.
        tree: Its hardware.
        withheld: Ids of recipes that are not looked at; for backtests.
    """

    def __init__(self, graph: GraphStore, tree: HardwareTree, withheld: frozenset[str] = frozenset()) -> None:
        self._graph = graph
        self._tree = tree
        self._withheld = withheld
        self._finder = StrategyFinder(graph)
        self._models: dict[str, Model | None] = {}

    @cached_property
    def frameworks(self) -> list[Framework]:
        """The frameworks of the graph."""
        return list(all_of(self._graph, Framework))

    def situation(self, problem: Problem) -> Situation | None:
        """The situation of a question; None where no framework runs such a model on such hardware."""
        name = problem.workload.model or ""
        model = self._model(name)
        path = self._tree.path(problem.hardware.name)
        framework = running_framework(
            problem, path[-1] if path else "", model.architecture if model else "", self.frameworks
        )
        if framework is None:
            return None
        facts = question_facts(problem, self._tree, model)
        if facts.get("phase") == "serving":  # one server for both, unless something else is stated
            facts.setdefault("role", "mixed")
            facts.setdefault("disaggregated", facts["role"] != "mixed")
        if framework.is_assumed:
            facts[f"software[{framework.id}]"] = framework.version
        return Situation(
            problem=problem,
            framework=framework,
            model=ModelTraits.of(model, name),
            hardware=self._path(problem.hardware.name),
            devices=problem.hardware.count,
            facts=facts,
        )

    def release(self, situation: Situation) -> ReleaseSettings | None:
        """The settings of the release in use; None where none ship."""
        return Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting).release()

    def find(self, situation: Situation, sizes: Mapping[str, Value]) -> Starts:
        """The start configurations of a situation.

        Args:
            situation: What is asked.
            sizes: Facts of the model by name, with its ``architecture``.
        """
        weighed = weigh(situation, self._recipes(situation), self._traits, self._path)
        screen = Screen(situation=situation, frameworks=self.frameworks, setting=self._finder.setting)
        weighed = screen.usable(weighed)
        agreed = [item for item in agreed_settings(weighed) if item.share >= WORTH_TESTING]
        kept, refused = screen.sift(agreed)
        draft = _Draft(situation=situation, kept=kept, refused=refused, weighed=weighed)
        layouts = self._layouts(draft, sizes)
        if isinstance(layouts, StartConfiguration):
            return self._starts(draft, [layouts])
        found = []
        to_price: list[ChosenLayout | None] = [*layouts] or [None]
        for one in to_price:
            layout = one.option.layout if one else self._plain_layout(situation)
            divided = replace(screen, situation=_divided(situation, layout))
            kept, refused = divided.sift(agreed)
            kept = [item for item in kept if item.share >= WORTH_TESTING]
            of_layout = replace(draft, kept=kept, refused=refused)
            found.append(self._configuration(of_layout, one, layout, divided))
            if one is None or one is layouts[0]:
                draft.kept, draft.refused = kept, refused
        return self._starts(draft, found)

    def _starts(self, draft: _Draft, found: Sequence[StartConfiguration]) -> Starts:
        further = [item for item in draft.kept if item.share < IN_THE_START]
        return Starts(
            situation=draft.situation,
            first=found[0],
            alternatives=tuple(found[1:]),
            further=tuple(_together(draft, further)),
            not_here=tuple(draft.refused),
            recipes=tuple(draft.weighed),
            notes=tuple(dict.fromkeys([draft.situation.framework.note, *draft.notes])),
        )

    def _layouts(self, draft: _Draft, sizes: Mapping[str, Value]) -> list[ChosenLayout] | StartConfiguration:
        """The first layout and two of another kind; or the smallest that fits, where none does."""
        situation = draft.situation
        asked = self._layout_question(draft, sizes)
        if asked is None:
            return []
        options = layout_options(asked)
        if not options:
            smallest = smallest_fit(asked)
            return self._unfit(draft, smallest.layout if smallest else None)
        chosen = choose_layouts(
            options,
            draft.of_precision(),
            training=situation.is_training,
            trust=TRUST_FOR_LATENCY if asked.objective in SHORTEST else TRUST_IN_TIMES,
            settings=asked.question.settings,
        )
        kinds: dict[tuple[int, int, bool], ChosenLayout] = {}
        for one in chosen:
            layout = one.option.layout
            kinds.setdefault((layout.tp, layout.pp, layout.ep > 1), one)
        return list(kinds.values())[:3]

    def _layout_question(self, draft: _Draft, sizes: Mapping[str, Value]) -> LayoutQuestion | None:
        situation = draft.situation
        problem = situation.problem
        if not is_step(problem):
            return None
        phase = "training" if situation.is_training else "serving"
        try:
            question = Question.of(problem, sizes, self._tree, phase=phase)
        except (InputError, MissingFactError) as fault:
            draft.notes.append(f"layouts are not priced: {fault}")
            return None
        if not question.model.layers or "tokens_per_image" in sizes:
            return None
        settings = {**question.settings, "precision": self._precision(draft, question)}
        if situation.is_training:
            settings.setdefault("zero_stage", 1)
            micro = draft.value("micro_batch_size")
            if micro is not None and micro.isdigit():
                settings.setdefault("micro_batch", int(micro))
            if draft.value("recompute_granularity") is not None:
                settings.setdefault("recompute", draft.value("recompute_granularity"))
            if "seq_len" not in settings and not question.model.tokens_per_image:
                settings["seq_len"] = 4096
                draft.notes.append("sequences of 4,096 tokens are assumed; --shape seq_len=N says otherwise")
        degrees = {
            "tensor_parallel",
            "pipeline_parallel",
            "data_parallel",
            "expert_parallel",
            "context_parallel",
        }
        question = replace(question, settings={n: v for n, v in settings.items() if n not in degrees})
        return LayoutQuestion(
            question=question,
            objective=problem.objective.metric,
            limits=problem.limits,
            concurrency=situation.number("concurrency"),
            splits=situation.framework.id in SPLITTING,
        )

    def _precision(self, draft: _Draft, question: Question) -> str:
        """The precision of the weights: what the start quantises to, what is asked for, or the device's own."""
        stated = question.settings.get("precision")
        if draft.value(_QUANTISED) is not None:
            first = next(one.recipe for one in draft.weighed if _quantises(one.recipe))
            wanted = "w4a8" if _FOUR_BIT in first.precision.lower() else "int8"
            if draft.value(_QUANTISED) == "fp8":
                wanted = "fp8"
            return wanted
        if stated:
            return str(stated)
        return "bf16" if question.machine.device.facts.get("peak_bf16_flops") else "fp16"

    def _unfit(self, draft: _Draft, layout: ParallelLayout | None) -> StartConfiguration:
        framework = draft.situation.framework
        return StartConfiguration(
            framework=framework.id, version=framework.version, layout=layout, fits=False
        )

    def _configuration(
        self, draft: _Draft, chosen: ChosenLayout | None, layout: ParallelLayout | None, screen: Screen
    ) -> StartConfiguration:
        situation, framework = draft.situation, draft.situation.framework
        if layout is not None and framework.id == "sglang" and situation.model.is_mixture and layout.dp > 1:
            layout = replace(layout, tp=layout.tp * layout.dp, dp_attention=True)
        settings: list[PlanSetting] = []
        if layout is not None:
            source = chosen.nearest.source.url if chosen and chosen.nearest else ""
            settings += layout_settings(
                layout,
                framework.id,
                experts=bool(situation.model.is_mixture),
                origin=Origin.RECIPE if chosen and chosen.agreement > IN_THE_START else Origin.COST_MODEL,
                source=source,
            )
        settings += [_planned(item, situation, layout) for item in draft.kept if item.share >= IN_THE_START]
        if chosen is not None and layout is not None:
            priced = {**chosen.settings, **chosen.option.settings}
            settings += _further_than(draft, settings, assumed_settings(situation, layout, priced), screen)
        settings = _with_current(settings, situation, screen)
        return StartConfiguration(
            framework=framework.id,
            version=framework.version,
            layout=layout,
            fits=True if chosen else None,
            settings=tuple(sorted(settings, key=lambda item: list(SettingPlace).index(item.where))),
            expected=_expected(chosen) if chosen else (),
            because=tuple(_because(draft, chosen)),
        )

    def _plain_layout(self, situation: Situation) -> ParallelLayout | None:
        """A replica on each device, where nothing is known that would split the model."""
        if not situation.devices:
            return None
        return ParallelLayout(dp=situation.devices)

    def _recipes(self, situation: Situation) -> list[Recipe]:
        roles = {str(role) for role in situation.roles}
        found = recipes_of(self._graph, situation.framework.id, roles)
        return [item for item in found if item.id not in self._withheld]

    def _path(self, hardware: str) -> tuple[str, ...]:
        if not hardware:
            return ()
        node = self._tree.node(hardware)
        return self._tree.path(node.device if node is not None and node.device else hardware)

    def _traits(self, name: str) -> ModelTraits:
        return ModelTraits.of(self._model(name), name)

    def _model(self, name: str) -> Model | None:
        if name not in self._models:
            try:
                self._models[name] = from_graph(self._graph, Model, name)
            except UnknownEntityError:
                self._models[name] = None
        return self._models[name]


def _quantises(recipe: Recipe) -> bool:
    return any(plain_key(item.key) == _QUANTISED for item in recipe.settings)


def _planned(item: AgreedSetting, situation: Situation, layout: ParallelLayout | None) -> PlanSetting:
    value, why = adapted(item, situation, layout)
    return PlanSetting(
        where=SettingPlace(item.where.value),
        key=item.key,
        value=value if item.where is Where.ENV else typed(value),
        origin=Origin.COST_MODEL if why else Origin.RECIPE,
        source=why or item.first.source.url,
        agreement=item.share,
    )


def typed(text: str) -> Value:
    """A value of a recipe as what it is: a truth, a number, or the text."""
    low = text.lower()
    if low in {"true", "false"}:
        return low == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _divided(situation: Situation, layout: ParallelLayout | None) -> Situation:
    """The situation with the sizes of a layout among its facts."""
    if layout is None:
        return situation
    sizes = {name: size for name, size in layout.to_json().items() if name != "devices"}
    return replace(situation, facts={**sizes, **situation.facts})


def _further_than(
    draft: _Draft, settings: Sequence[PlanSetting], assumed: Sequence[PlanSetting], screen: Screen
) -> list[PlanSetting]:
    """The assumed settings that nothing sets yet, as far as the release takes them and recipes set them so."""
    present = {plain_key(item.key) for item in settings}
    release = screen.release()
    found: list[PlanSetting] = []
    sets = [{plain_key(setting.key) for setting in one.recipe.settings} for one in draft.weighed]
    apart = {key for key in present if sum(key in keys for keys in sets) >= FEWEST_TO_TELL}
    for item in assumed:
        plain = plain_key(item.key)
        if plain in present or (
            sum(plain in keys for keys in sets) >= _COMMON * len(sets) > 0
            and any(not any(plain in keys for keys in sets if key in keys) for key in apart)
        ):
            continue  # set already, or switched off by all who set something else of the start
        if release is not None:
            taken = release.look_up(item.key, item.where)
            if not taken.usable or taken.is_default(item.value):
                continue
            if broken_conflicts(release, {one.key: one.value for one in [*settings, *found, item]}):
                continue
        found.append(item)
    return found


def _with_current(settings: list[PlanSetting], situation: Situation, screen: Screen) -> list[PlanSetting]:
    """The settings with what runs now in place of what recipes say, and all else that runs now."""
    current = dict(situation.current or {})
    if not current:
        return settings
    held = {plain_key(name): (name, value) for name, value in current.items()}
    found = []
    for item in settings:
        short = (
            plain_key(item.key).rpartition(".")[2] if item.where is SettingPlace.JSON else plain_key(item.key)
        )
        if short in held:
            _, value = held.pop(short)
            item = replace(item, value=value, origin=Origin.CURRENT, source="", agreement=None)
        found.append(item)
    for name, value in held.values():
        place, key = screen.place_of(name)
        found.append(PlanSetting(where=place, key=key, value=value, origin=Origin.CURRENT))
    return found


def _together(draft: _Draft, further: Sequence[AgreedSetting]) -> list[AgreedSetting]:
    """Settings that some recipe has together with those of the start: what never goes together is left out."""
    start = {(item.where, plain_key(item.key)) for item in draft.kept if item.share >= IN_THE_START}
    sets = [
        {(setting.where, plain_key(setting.key)) for setting in one.recipe.settings} for one in draft.weighed
    ]
    kept = []
    for item in further:
        place = (item.where, plain_key(item.key))
        having = [keys for keys in sets if place in keys]
        if all(any(other in keys for keys in having) or not _is_common(other, sets) for other in start):
            kept.append(item)
    return kept


FEWEST_TO_TELL = 3
"""Recipes with a setting from which what none of them sets beside it is taken to be left out on purpose; a choice."""
_COMMON = 0.25
"""Share of recipes from which a setting is met often enough that never meeting it says something; a choice."""


def _is_common(place: tuple[Where, str], sets: Sequence[set[tuple[Where, str]]]) -> bool:
    return sum(place in keys for keys in sets) >= _COMMON * len(sets)


def _expected(chosen: ChosenLayout) -> tuple[ExpectedValue, ...]:
    from math import exp, isfinite

    option = chosen.option
    units = {"throughput": "tokens/s", "tpot_s": "s", "ttft_s": "s"}
    factor = exp(NORMAL_90 * option.spread) if isfinite(option.spread) else 1.0
    return tuple(
        ExpectedValue(
            metric=name.removesuffix("_s"),
            unit=unit,
            value=value,
            low=value / factor,
            high=value * factor,
            tier="modelled",
        )
        for name, unit in units.items()
        if (value := option.results.get(name)) is not None and isfinite(value)
    )


def _because(draft: _Draft, chosen: ChosenLayout | None) -> list[str]:
    lines = []
    if chosen is not None:
        said = f"{chosen.option.layout} fits with {chosen.option.memory_bytes / 1e9:.0f} GB of each device"
        batch = chosen.option.settings.get("batch")
        if isinstance(batch, int | float):
            said += f" at {batch:.0f} sequences an engine"
        lines.append(said)
        if draft.weighed:
            lines.append(
                f"{chosen.agreement:.0%} of the recipes for such problems, by weight, divide the work so"
            )
    near = [one for one in draft.weighed if one.weight >= 0.1][:3]  # what counts a tenth
    lines += [f"recipe {one.recipe.id}, weight {one.weight:.0%} <{one.recipe.source.url}>" for one in near]
    return lines
