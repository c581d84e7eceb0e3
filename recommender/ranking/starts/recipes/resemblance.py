"""The recipes for a situation, and how much each resembles it: half as much with every 0.7 of distance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kg.nouns.entities import Problem
from kg.nouns.recipe import Recipe, Role
from kg.terms.purposes import plain_key
from kg.triples.finders import recipes_of
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.programs import unmodelled
from recommender.ranking.layout_question import SHORTEST
from recommender.ranking.model_traits import ModelTraits, is_same_network
from recommender.ranking.starts.recipes.kin import in_words_of, kin_of
from recommender.ranking.starts.recipes.recipe_load import is_for_latency
from recommender.ranking.starts.situation import StartSituation

MODEL, FAMILY, KIND, SIZE, GENERATION, SCALE = 2.0, 2.0, 1.0, 0.5, 2.0, 1.0
"""Distance of another model, another family, another kind of model (experts, attention, drafts: the half
each for
the last two), per doubling of the parameters, of another generation of hardware, and per four-fold number of
devices or sixteen-fold length. Chosen on the shipped recipes; ``benchmarks/answers/recipes.py`` refits
them with the
asked family left out."""
SAME_SIZES = 0.25
"""Distance, in models, of another model of the same sizes, such as a later training; a choice."""
LATENCY = 2.0
"""Distance of a recipe for short times from a question for many requests; a choice."""
FINETUNING = 1.0
"""Distance of fine-tuning from training; a choice."""
BACKEND = 2.0
"""Distance of a recipe that runs on MindSpore where the question does not name it; a choice."""
UNKNOWN = 1.0
"""Doublings that count where one of two numbers is unknown."""
MOST = 4.0
"""Doublings beyond which a number is as different as it can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRecipe:
    """A recipe and how much it counts for a situation.

    Attributes:
        recipe: The recipe.
        distance: From the situation, 0 for the very same.
        weight: Its share among all that were compared; they add up to 1.
        reliability: Factor of its weight, which holds it already, from tests of its starts; 1 without any.
        model: Traits of its model; None where they were not looked up.
        is_foreign: Whether it is for a chip of another vendor or kind, or another task: its layout counts,
            its settings do not.
    """

    recipe: Recipe
    distance: float
    weight: float
    reliability: float = 1.0
    model: ModelTraits | None = None
    is_foreign: bool = False

    def trusted(self, reliability: float) -> WeighedRecipe:
        """The same after tests: with their factor on its weight, which is not shared out among the others."""
        return replace(self, weight=self.weight * reliability, reliability=self.reliability * reliability)


def weigh(
    situation: StartSituation,
    recipes: Sequence[Recipe],
    model_of: Callable[[str], ModelTraits],
    path_of: Callable[[str], tuple[str, ...]],
) -> list[WeighedRecipe]:
    """The recipes of the same framework and role, nearest first, with their weights.

    A model with many recipes does not outvote others: each of its n counts for one over the root of n.

    Args:
        situation: What is asked.
        recipes: All that are known.
        model_of: Traits of a model by id.
        path_of: A device and what is above it, by the id of hardware.
    """
    fitting = [
        item for item in recipes if item.framework == situation.framework.id and item.role in situation.roles
    ]
    families = {item.family for item in fitting if item.model == situation.model.id}
    crowd = Counter(item.model for item in fitting)
    paths = [path_of(item.hardware) for item in fitting]
    distances = [
        _distance(situation, item, model_of(item.model), path, families)
        for item, path in zip(fitting, paths, strict=True)
    ]
    masses = [
        math.exp(-distance) / math.sqrt(crowd[item.model])
        for item, distance in zip(fitting, distances, strict=True)
    ]
    total = sum(masses)
    kin = [_is_kin(situation, model_of(item.model), path) for item, path in zip(fitting, paths, strict=True)]
    is_told = any(own and path for own, path in zip(kin, paths, strict=True))
    weighed = [
        WeighedRecipe(
            recipe=item,
            distance=distance,
            weight=mass / total,
            model=model_of(item.model),
            is_foreign=_is_abroad(situation, path) or (is_told and not own),
        )
        for item, distance, mass, path, own in zip(fitting, distances, masses, paths, kin, strict=True)
    ]
    return sorted(weighed, key=lambda one: (one.distance, one.recipe.id))


def _distance(
    situation: StartSituation,
    recipe: Recipe,
    model: ModelTraits,
    path: tuple[str, ...],
    families: set[str],
) -> float:
    asked = situation.model
    same_model = recipe.model == asked.id
    same_family = (
        same_model or recipe.family in families or bool(model.family and model.family == asked.family)
    )
    model_apart = 0.0 if same_model else SAME_SIZES if is_same_network(asked, model) else 1.0
    return (
        MODEL * model_apart
        + FAMILY * (not same_family)
        + KIND * (0.0 if same_model else _kinds_apart(asked, model))
        + SIZE * (0.0 if same_model else _doublings(asked.parameters, model.parameters))
        + GENERATION * _hardware_apart(situation.hardware, path)
        + SCALE * _scales_apart(situation, recipe)
        + LATENCY * _is_too_small(situation, recipe)
        + FINETUNING * (recipe.role is Role.FINETUNE)
        + BACKEND * (_runs_on_mindspore(recipe) and "mindspore" not in situation.problem.software)
    )


def _is_abroad(situation: StartSituation, path: tuple[str, ...]) -> bool:
    """True if the recipe is for hardware of another vendor."""
    return bool(path and situation.hardware) and path[-1] not in situation.hardware


def _is_kin(situation: StartSituation, model: ModelTraits, path: tuple[str, ...]) -> bool:
    """True if the recipe is for a chip of the same architecture, and for text where the question is."""
    is_near = not path or not situation.hardware or bool(set(path[:-1] or path) & set(situation.hardware))
    return is_near and model.is_pooling == bool(situation.facts.get("pooling"))


def _is_too_small(situation: StartSituation, recipe: Recipe) -> bool:
    """True if the recipe is for short times, and the question for many requests."""
    if situation.is_training or situation.problem.objective.metric in SHORTEST:
        return False
    load = situation.at_once
    few = load is not None and situation.devices is not None and load < situation.devices
    return not few and is_for_latency(recipe)


def _runs_on_mindspore(recipe: Recipe) -> bool:
    return any(
        plain_key(item.key) in {"ai_framework", "training_backend"} and item.value.lower() == "mindspore"
        for item in recipe.settings
    )


def _kinds_apart(one: ModelTraits, other: ModelTraits) -> float:
    apart = 0.0
    if one.is_mixture is not None and other.is_mixture is not None:
        apart += one.is_mixture != other.is_mixture
    apart += 0.5 * (one.attention != other.attention)
    apart += 0.5 * (bool(one.has_draft) != bool(other.has_draft))
    return apart + 0.5 * (one.is_multimodal != other.is_multimodal)


def _hardware_apart(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """0 for the same generation, 1 for another of the vendor, 2 for another vendor."""
    shared = len(set(one) & set(other))
    if not other or shared >= min(len(one), len(other)) or shared >= 3:  # generation and above
        return 0.0
    return 1.0 if shared else 2.0


def _scales_apart(situation: StartSituation, recipe: Recipe) -> float:
    context = recipe.context
    length = situation.number("input_len") or situation.number("seq_len")
    other = context.get("input_len") or context.get("seq_len")
    return 0.5 * _doublings(situation.devices, recipe.devices) + 0.25 * _doublings(length, other)


def _doublings(one: object, other: object) -> float:
    if not (isinstance(one, int | float) and isinstance(other, int | float)) or one <= 0 or other <= 0:
        return UNKNOWN
    return min(abs(math.log2(one / other)), MOST)


class KnownRecipes:
    """Finds the recipes of a graph.

    Args:
        graph: The knowledge.
        tree: Its hardware.
        withheld: Ids of recipes that are not looked at; for backtests.
    """

    def __init__(self, graph: GraphStore, tree: HardwareTree, withheld: frozenset[str]) -> None:
        self._graph = graph
        self._tree = tree
        self._withheld = withheld
        self._found: dict[tuple[str, frozenset[Role], tuple[str, ...]], list[Recipe]] = {}

    def of(self, situation: StartSituation) -> list[Recipe]:
        """Recipes of its framework and role, for hardware of its vendor or for none in particular."""
        vendor = situation.hardware[-1:]
        key = (situation.framework.id, situation.roles, vendor)
        if key not in self._found:
            found = [
                item
                for program in (key[0], *kin_of(key[0]))
                for item in recipes_of(
                    self._graph,
                    program,
                    {str(role) for role in key[1]},
                    lambda hardware: not vendor or self._tree.path(hardware)[-1:] in {vendor, ()},
                )
                if item.id not in self._withheld
            ]
            self._found[key] = list(in_words_of(key[0], found))
        return self._found[key]

    def published(self, problem: Problem) -> str:
        """The command that shows published recipes of a program that is not modelled; empty without any."""
        model = problem.workload.model or ""
        for name in sorted(set(problem.software) & set(unmodelled())):
            found = recipes_of(self._graph, name, set(Role), bool)
            own = [item.id for item in found if item.model == model]
            shown = (
                f" {own[0]}" if len(own) == 1 else f" --framework {name}" + f" --model {model}" * bool(own)
            )
            if found:
                return f"; published of it ({len(own) or len(found)}): tunegraph kb list recipes{shown}"
        return ""
