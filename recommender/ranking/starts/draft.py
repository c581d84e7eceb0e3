"""The draft of a start, filled while start configurations are found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg.nouns.recipe import Recipe
from kg.nouns.situation import StatedFact
from kg.terms.dialects import statement
from kg.terms.purposes import QUANTISATION, plain_key
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.ranking.change import NotHere
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.starts.layout_choice import OTHER_PRECISION
from recommender.ranking.starts.recipes.agreement import AgreedSetting, agreed_settings
from recommender.ranking.starts.recipes.kin import kin_of
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe
from recommender.ranking.starts.situation import StartSituation

IN_THE_START = 0.5
"""Weight of recipes from which a setting is part of the start: more set it than do not."""
WORTH_TESTING = 0.15
"""Weight from which a setting is a change worth testing; a choice."""


@dataclass(slots=True, kw_only=True)
class StartDraft:
    """The draft of a start, filled step by step while starts are found.

    Attributes:
        situation: What they are for.
        recipe_settings: Settings of recipes that may be set here, most agreed first.
        refused: Those that may not, with the reason.
        weighed: The recipes.
        notes: What could not be asked.
        assumed: What is assumed where the question is silent.
        question: What layouts were priced by; None if they have no price.
        load: Requests at once on all devices, stated or assumed; None where nothing says.
        droppable: What recipes of training agree on, which no layout has to keep that would not fit with it.
        roomier: The layout with more requests at once than the launch admits, where that is better.
        tested: Factor on the odds of a layout by its split, from tests of starts.
        measured: Measured runs of the model near by.
        is_copied: Whether a measured run is kept as it was: what recipes set beyond it are changes.
        is_divided_anew: Whether the layout that runs now does not go, and another was chosen.
        degrees: Parallel sizes that run now, where nothing prices them.
        least_devices: Devices that the weights alone fill, where nothing prices layouts.
        has_memory: Whether the memory of the program is modelled for such a model.
        is_narrowed: Whether the weights are in a narrower format than is published, as no other fits.
        weight_format: Number format that the weights are published in; empty for 16 bit.
        query: What layouts were asked for; None likewise.
    """

    situation: StartSituation
    recipe_settings: list[AgreedSetting]
    refused: list[NotHere]
    weighed: list[WeighedRecipe]
    notes: list[str] = field(default_factory=list)
    assumed: list[StatedFact] = field(default_factory=list)
    question: Question | None = None
    load: float | None = None
    roomier: PricedStep | None = None
    droppable: tuple[str, ...] = ()
    tested: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    measured: tuple[MeasuredRun, ...] = ()
    is_copied: bool = False
    is_divided_anew: bool = False
    least_devices: int = 1
    has_memory: bool = False
    is_narrowed: bool = False
    weight_format: str = ""
    degrees: Mapping[str, int] = field(default_factory=dict)
    query: LayoutQuestion | None = None

    def is_agreed(self, item: AgreedSetting) -> bool:
        """True if enough recipes have a setting to make it part of the start."""
        return item.share >= IN_THE_START and not self.is_copied

    @property
    def agreed(self) -> list[AgreedSetting]:
        """Settings of the start."""
        return [item for item in self.recipe_settings if self.is_agreed(item)]

    @property
    def further(self) -> list[AgreedSetting]:
        """Settings worth testing beyond it."""
        return [item for item in self.recipe_settings if not self.is_agreed(item)]

    def for_layout(self) -> list[WeighedRecipe]:
        """The recipes that say something of the layout.

        Those whose weights have another width weigh less. Adapters need little of the memory that full
        training divides, so recipes of the one are silent about the other; so are those of other programs.
        """
        is_quantised = self.value(QUANTISATION) is not None
        has_kin = bool(kin_of(self.situation.framework.id))
        is_adapted = bool(self.question and self.question.settings.get("lora_rank"))
        return [
            one
            if quantises(one.recipe) == is_quantised
            else replace(one, weight=one.weight * OTHER_PRECISION)
            for one in self.weighed
            if trains_adapters(one.recipe) == is_adapted and (one.recipe.layout or not has_kin)
        ]

    def value(self, plain: str) -> str | None:
        """The value of a setting of the start; None if it is not part of it."""
        return next((item.value for item in self.agreed if plain_key(item.key) == plain), None)


def trains_adapters(recipe: Recipe) -> bool:
    """True if a recipe trains low-rank adapters (LoRA)."""
    return bool(statement({item.key: item.value for item in recipe.settings}).facts.get("lora_rank"))


def quantises(recipe: Recipe) -> bool:
    """True if a recipe names a format of quantised weights."""
    return any(plain_key(item.key) == QUANTISATION for item in recipe.settings)


def worth_testing(weighed: Sequence[WeighedRecipe]) -> list[AgreedSetting]:
    """Settings that recipes of the same vendor agree on."""
    local = [one for one in weighed if not one.is_foreign]
    total = sum(one.weight / one.reliability for one in local)
    shares = [replace(one, weight=one.weight / total) for one in local] if total else []
    return [item for item in agreed_settings(shares) if item.share >= WORTH_TESTING]
