"""Start configurations of a question, and what tests of earlier ones say of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kg.nouns.layout import ParallelLayout
from kg.nouns.situation import StatedFact
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.ranking.change import NotHere
from recommender.ranking.layout_question import LIMITED, LayoutQuestion
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.situation import StartSituation


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReliability:
    """Reliability of start configurations in a situation, by their tests.

    Attributes:
        recipes: Factor on the weight of a recipe, by id.
        layouts: Factor on the odds of a layout, by its split.
    """

    recipes: Mapping[str, float] = field(default_factory=dict)
    layouts: Mapping[tuple[int, ...], float] = field(default_factory=dict)


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
        notes: What could not be asked.
        assumed: What is assumed where the question is silent.
        question: What the first layout was priced by, its settings included; None if it has no price.
        price: That price; None if the cost model gave none.
        divided: What the alternatives were priced by, by their layouts.
        has_memory: Whether the memory of the program is modelled for such a model: else nothing is unfit.
        query: What layouts were asked for, the loads that were tried among it; None likewise.
        roomier: The first layout with more requests at once than the launch admits, where that is better.
    """

    situation: StartSituation
    first: StartConfiguration
    alternatives: tuple[StartConfiguration, ...] = ()
    further: tuple[AgreedSetting, ...] = ()
    not_here: tuple[NotHere, ...] = ()
    recipes: tuple[WeighedRecipe, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: tuple[StatedFact, ...] = ()
    question: Question | None = None
    price: PricedStep | None = None
    divided: Mapping[ParallelLayout, Question] = field(default_factory=dict)
    has_memory: bool = False
    query: LayoutQuestion | None = None
    roomier: PricedStep | None = None

    @property
    def support(self) -> dict[str, object]:
        """Support for the program here: how its layouts are known, and if its memory is modelled."""
        framework = self.situation.framework
        known = "modelled" if self.price is not None else "recipe" if self.recipes else "read only"
        return {"program": framework.id, "layouts": known, "memory": self.has_memory}

    def checks(self, metric: str) -> bool:
        """True if a limit on a metric was held against the price of the layouts."""
        if metric == "peak_memory":
            return self.first.fits is not None
        known = {} if self.price is None else self.price.results  # of an overload a time without bound
        return not math.isnan(known.get(LIMITED.get(metric, metric), math.nan))
