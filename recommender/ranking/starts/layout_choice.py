"""The layout to begin with: what the cost model prices, weighed with what recipes for such problems use."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg.nouns.layout import DEGREES, ParallelLayout
from kg.nouns.recipe import Recipe, experts_spread
from recommender.cost_model.priced_step import PricedStep
from recommender.ranking.model_traits import ModelTraits
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe

TRUST_IN_TIMES = 0.3
"""Weight of a nat of modelled merit against a nat of agreement among recipes. Chosen on the shipped recipes;
``benchmarks/answers/recipes.py`` refits it with the asked family left out."""
TRUST_UNHEARD = 10.0
"""The same where recipes are for other ends: a time is to be short, which few are for and none says, or cards
that PCIe alone joins, while recipes are for linked servers; a choice."""
OTHER_PRECISION = 0.2
"""Factor on a recipe whose weights have another width, and need another share of memory; a choice."""
RULE_OF_THUMB = 0.25
"""Weight, in recipes for such problems, of the rule that serving splits tensors over a server and copies it
beyond. Chosen with the trust in times, families left out (``benchmarks/answers/recipes.py``, nested)."""
SERVER = 8
"""Devices of most servers: the rule splits tensors over them, and takes it for an unstated number."""
WIDEST = 16
"""Devices up to which a recipe that splits tensors over all of its devices, two or more, is taken to do so on
as many or fewer: the widest tensor parallelism among shipped recipes."""
CLEARLY = math.log(1.3)
"""Difference in merit that is one: beyond the standard deviation of the error between two layouts up to four
doublings apart (0.14 to 0.25 by the scales in ``cost_model.measured``)."""
AS_MUCH = 0.1
"""Difference in agreement that is none where no recipe is of the asked model: a choice on shipped recipes. It
raises first layouts of training in withheld families from .16 to .20 and leaves serving as it is
(docs/figures-notes.md)."""
MEASURED = 0.5
"""Doubt below which a price counts as measured: runs of the layout on the device leave less; a choice."""
UNSEEN = 0.02
"""Agreement on a layout that no recipe has: a layout never published is not excluded; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLayout:
    """A layout with the reasons for its place.

    Attributes:
        option: The layout, priced.
        agreement: Weight of the recipes whose layout is like it, 0 to 1.
        score: What orders layouts, in nats.
        nearest: The heaviest recipe whose layout is like it; None where none is.
        settings: Of the cost model, that all layouts were priced with.
    """

    option: PricedStep
    agreement: float
    score: float
    nearest: Recipe | None = None
    settings: Mapping[str, object] = field(default_factory=dict)


def choose_layouts(
    options: Sequence[PricedStep],
    weighed: Sequence[WeighedRecipe],
    *,
    training: bool,
    model: ModelTraits | None = None,
    trust: float = TRUST_IN_TIMES,
    rule: float = RULE_OF_THUMB,
    settings: Mapping[str, object] | None = None,
    tested: Mapping[tuple[int, ...], float] | None = None,
) -> list[ChosenLayout]:
    """Layouts by one score, best first; those within the limits before the others.

    None is first that another beats in both that is shown of them, agreement and (clearly) modelled merit:
    the rule of thumb decides between layouts that have each something for them. Nor does one come first
    that is slower than a measured one.

    Args:
        options: Layouts that fit.
        weighed: Recipes for such problems, with weights.
        training: Whether the model is trained: then the memory of a device counts, else spread experts do.
        model: Traits of the model that is divided; None where they are unknown.
        trust: Weight of the modelled merit.
        rule: Weight of the rule of thumb beside the recipes.
        settings: What all of them were priced with.
        tested: Factor on the odds of a layout by its split, from tests; 0 drops it while another is left.
    """
    tested = tested or {}
    options = [item for item in options if tested.get(item.layout.split, 1.0)] or options
    best = max((item.log_merit for item in options if item.log_merit is not None), default=0.0)
    silent = sum(one.weight for one in weighed if not one.recipe.layout)  # they are for any layout
    weighed = [one for one in weighed if one.recipe.layout]
    heard = sum(one.weight for one in weighed)
    published = [degrees(one.recipe) for one in weighed]
    chosen = []
    for option in options:
        votes = [
            (one.weight * likeness(option.layout, one, model, training=training, published=sizes), one.recipe)
            for one, sizes in zip(weighed, published, strict=True)
        ]
        agreement = sum(vote for vote, _ in votes)
        top = max(votes, key=lambda vote: vote[0], default=(0.0, None))
        merit = option.log_merit - best if option.log_merit is not None else 0.0
        shared = agreement
        if not training:
            shared = (agreement + rule * heard * _by_rule(option.layout)) / (1 + rule)
        score = trust * merit + (math.log(UNSEEN + silent + shared) if weighed else 0.0)
        score += math.log(tested.get(option.layout.split) or 1.0)
        chosen.append(
            ChosenLayout(
                option=option,
                agreement=min(agreement, 1.0),
                score=score,
                nearest=top[1] if top[0] else None,
                settings=settings or {},
            )
        )
    chosen.sort(key=lambda item: (item.option.beyond_limits, -item.score))
    is_known = model is not None and any(one.recipe.model == model.id for one in weighed)
    return _unbeaten_first(chosen, tested, 0.0 if is_known else AS_MUCH)


def _unbeaten_first(
    chosen: list[ChosenLayout], tested: Mapping[tuple[int, ...], float], slack: float
) -> list[ChosenLayout]:
    """The layouts, in front the first that none beats in agreement and clearly in merit, or measured.

    Args:
        chosen: By score.
        tested: Factor on the odds of a layout by its split.
        slack: Difference in agreement that is none.
    """

    def beats(one: ChosenLayout, other: ChosenLayout) -> bool:
        merits = one.option.log_merit, other.option.log_merit
        odds = (tested.get(item.option.layout.split, 1.0) for item in (one, other))
        if merits[0] is None or merits[1] is None or one.option.beyond_limits > other.option.beyond_limits:
            return False
        mine, theirs = odds
        if one.option.doubt < MEASURED:
            return mine >= theirs and merits[0] > merits[1]
        faster = merits[0] - merits[1]
        agrees = one.agreement >= other.agreement - slack
        return agrees and mine >= theirs and faster > CLEARLY

    for place, item in enumerate(chosen):
        if not any(beats(one, item) for one in chosen):
            return [item, *chosen[:place], *chosen[place + 1 :]]
    return chosen


def shown_layouts(kinds: Sequence[ChosenLayout]) -> list[ChosenLayout]:
    """The first three, the last of them the fastest that is modelled where recipes would hide it.

    None that misses the limits by more than the first is shown beside it.
    """
    kinds = [one for one in kinds if one.option.beyond_limits <= kinds[0].option.beyond_limits]
    priced = [one for one in kinds if one.option.within_limits and one.option.log_merit is not None]
    fastest = max(priced, key=lambda one: one.option.log_merit or 0.0, default=None)
    if fastest is None or fastest in kinds[:3]:
        return list(kinds[:3])
    return [*kinds[:2], fastest]


def likeness(
    layout: ParallelLayout,
    one: WeighedRecipe,
    model: ModelTraits | None = None,
    *,
    training: bool,
    published: Mapping[str, int] | None = None,
) -> float:
    """1 for a layout as the recipe has it, a factor e less for each doubling of a degree.

    In training another model needs other stages and spreads its experts otherwise: there the parameters that
    each device holds are compared, where both models are known, in the place of stages and
    expert parallelism; between a dense model and one of experts in the place of tensor parallelism too.

    Args:
        layout: How a model is divided.
        one: The recipe, with its model.
        model: The model that the layout divides.
        training: Whether it is trained.
        published: The degrees of the recipe, where they were looked up before.
    """
    recipe = one.recipe
    published = degrees(recipe) if published is None else published
    is_split_over_all = 1 < recipe.devices <= published["tp"] * published["pp"] * recipe.instances
    if not training and is_split_over_all:
        ways = _over_all(published["tp"], one, model, layout.devices)
        return sum(_served_alike(layout, {**published, "tp": way}) for way in ways) / len(ways)
    if not training:
        return _served_alike(layout, published)
    is_another = model is not None and model.id != recipe.model
    mixtures = {item.is_mixture for item in (model, one.model) if item is not None}
    is_other_kind = is_another and len(mixtures) > 1
    divided = ("cp",) if is_other_kind else ("tp", "cp")  # experts are spread where tensors are split
    apart = sum(_doublings(getattr(layout, name), published[name]) for name in divided)
    held = model.device_parameters(layout.tp, layout.pp, layout.ep) if model and is_another else None
    theirs = {name: published[name] for name in ("tp", "pp", "ep")}
    same = None if one.model is None else one.model.device_parameters(**theirs)
    if held is not None and same is not None:
        return math.exp(-apart - _doublings(held, same))
    return math.exp(-apart - sum(_doublings(getattr(layout, name), published[name]) for name in ("pp", "ep")))


def _served_alike(layout: ParallelLayout, published: Mapping[str, float]) -> float:
    """The likeness of a layout that serves; of experts it counts whether they are spread."""
    apart = sum(_doublings(getattr(layout, name), published[name]) for name in ("tp", "cp", "pp"))
    return math.exp(-apart - 2.0 * ((layout.ep > 1) != (published["ep"] > 1)))


def _over_all(tensor: int, one: WeighedRecipe, model: ModelTraits | None, devices: int) -> tuple[float, ...]:
    """Possible tensor splits, equally likely, of a recipe that splits over all of its devices, on so many.

    On no more devices it splits over all again. On more it may, or copies instances whose devices hold as
    many parameters as the recipe's; a recipe of several instances copies them.
    """
    recipe, theirs = one.recipe, one.model.parameters if one.model else None
    whole = devices if devices <= WIDEST else tensor
    if devices * recipe.instances <= recipe.devices:
        return (whole,)
    wider = model.parameters / theirs if model and model.parameters and theirs else None
    copied = min(max(tensor * (wider or 1.0), 1.0), devices)
    if recipe.instances > 1:
        return (copied,)
    return (whole, copied) if wider else (whole,)


def _by_rule(layout: ParallelLayout) -> float:
    """1 where tensors are split over a server and copied beyond, a factor e less for each doubling apart."""
    return math.exp(-_doublings(layout.tensors, min(layout.devices, SERVER)) - _doublings(layout.pp, 1))


def degrees(recipe: Recipe) -> dict[str, int]:
    """The parallel sizes of a recipe; where data splits attention, ``tp`` is what is left of it."""
    whole = dict(zip(DEGREES, ParallelLayout.from_json(recipe.layout).split, strict=True))
    whole["ep"] = experts_spread(
        recipe.framework, recipe.layout, {item.key: item.value for item in recipe.settings}
    )
    return whole


def _doublings(one: float, other: float) -> float:
    return abs(math.log2(one / other))
