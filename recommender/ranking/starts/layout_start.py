"""The start of one layout, with what recipes set as far as memory goes; a layout without a price."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kg.errors import InfeasibleError, InputError
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.terms.dialects import positive, statement
from recommender.cost_model.layout_domain import BY_LAYERS, divisors, powers
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.ranking.change import NotHere
from recommender.ranking.feasibility.training_fit import TrainingFit
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.assumed import assumed_settings
from recommender.ranking.starts.draft import WORTH_TESTING, StartDraft
from recommender.ranking.starts.flags.layout_flags import SPLITTING
from recommender.ranking.starts.launchable import launchable
from recommender.ranking.starts.layout_choice import ChosenLayout, choose_layouts
from recommender.ranking.starts.layout_options import missed
from recommender.ranking.starts.lengths import falls_short
from recommender.ranking.starts.pricing import started_price, started_question
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.writing import repriced, write_start


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutStart:
    """A start configuration of one layout, and how it came about.

    Attributes:
        start: What is written.
        recipe_settings: Settings of recipes that may be set with it, most agreed first.
        refused: Those that may not, with the reason.
        notes: What could not be written.
        question: What it was priced by; None if it has no price.
        price: Its price as written; None if it has none.
    """

    start: StartConfiguration
    recipe_settings: list[AgreedSetting]
    refused: list[NotHere]
    notes: list[str]
    question: Question | None = None
    price: PricedStep | None = None

    @property
    def overflows(self) -> bool:
        """True if the settings as written take more memory than there is."""
        return self.price is not None and not self.price.fits

    def strays(self, draft: StartDraft, chosen: ChosenLayout) -> float:
        """Distance of the settings as written from the chosen layout: excess bytes, or nats over a limit."""
        if self.price is None or draft.query is None:
            return 0.0
        if self.overflows:
            return self.price.memory_bytes
        over = missed(draft.query.limits, self.price)
        return over if over > chosen.option.beyond_limits else 0.0


def layout_start(
    draft: StartDraft, chosen: ChosenLayout | None, agreed: Sequence[AgreedSetting], screen: Screen
) -> LayoutStart:
    """The start of a layout with everything that recipes agree on and its memory allows or not.

    Args:
        draft: What was gathered for all layouts.
        chosen: The layout; None where none has a price.
        agreed: What recipes agree on.
        screen: Knows the situation and the release.
    """
    layout = chosen.option.layout if chosen else unpriced_layout(draft)
    divided = replace(screen, situation=draft.situation.divided(layout))
    kept, refused = divided.sift(agreed)
    batch = chosen.option.settings.get("batch") if chosen else None
    at_once = float(batch) if isinstance(batch, int | float) else None
    kept = [item for item in kept if item.share >= WORTH_TESTING and not falls_short(item, at_once)]
    of_layout = replace(draft, recipe_settings=kept, refused=refused)
    start, notes = launchable(write_start(of_layout, chosen, layout, divided), screen.release())
    found = LayoutStart(start=start, recipe_settings=kept, refused=refused, notes=notes)
    if chosen is None:
        return found
    question = started_question(draft.question, chosen, start)
    if (price := started_price(question)) is None:  # a fact that a switch needs is not known
        price = started_price(question := started_question(draft.question, chosen, None))
    if price is not None:
        start = repriced(start, chosen.option, price, draft.situation.problem)
    return replace(found, start=start, question=question, price=price)


def within_bounds(
    start: LayoutStart,
    draft: StartDraft,
    chosen: ChosenLayout,
    agreed: Sequence[AgreedSetting],
    screen: Screen,
) -> LayoutStart:
    """A start without the settings of recipes with which its layout overflows, or misses a limit it keeps.

    What helps most goes first, until it is as the layout was chosen or nothing is left to take away.
    """
    while strays := start.strays(draft, chosen):
        keys = {item.key for item in start.recipe_settings if draft.is_agreed(item)}
        rests = [(key, [item for item in agreed if item.key != key]) for key in sorted(keys)]
        tried = [(key, rest, layout_start(draft, chosen, rest, screen)) for key, rest in rests]
        nearer = [one for one in tried if one[2].overflows <= start.overflows]
        nearer = [one for one in nearer if one[2].strays(draft, chosen) < strays]
        if not nearer:
            break
        what = "takes more memory than there is" if start.overflows else "misses a limit"
        key, agreed, start = min(nearer, key=lambda one: one[2].strays(draft, chosen))
        start.refused.append(
            NotHere(strategy=key, because=f"with it {chosen.option.layout} {what}", fact="memory")
        )
    return start


def unpriced_layout(draft: StartDraft) -> ParallelLayout | None:
    """The layout of a model whose sizes are not known: as recipes have it, or a replica on each device."""
    situation, devices = draft.situation, draft.situation.devices
    if not devices:
        return None
    now = statement(situation.current or {}, situation.framework.id, devices=devices).facts
    degrees = draft.degrees or {DEGREES[n]: size for n in DEGREES if (size := positive(now.get(n)))}
    if degrees:
        layout = ParallelLayout.of_degrees(degrees)
        if "data_parallel" not in degrees:
            layout = replace(layout, dp=max(devices // layout.devices, 1))
        if layout.devices < devices:
            draft.notes.append(f"{layout.devices} of {devices} devices are used: {layout} is told")
        runs = situation.problem.situation.has_script
        if layout.devices <= devices:
            of_one = layout.devices if situation.model.is_mixture else layout.tp * layout.pp
            if of_one < draft.least_devices and runs:
                draft.notes.append("by its weights it does not fit, but your script is kept")
            elif of_one < draft.least_devices:
                raise InfeasibleError(f"{layout} leaves a device more weights than it holds")
            return layout
        if not runs:
            raise InputError(f"current: its parallel sizes take {layout.devices} devices, of {devices}")
    width = next((one for one in divisors(devices) if one >= draft.least_devices), 1)
    if situation.is_training:
        return ParallelLayout(dp=devices)
    if situation.framework.id in BY_LAYERS:
        return ParallelLayout(pp=width, dp=devices // width)
    plain = ParallelLayout(tp=width, dp=devices // width)
    if situation.framework.id not in SPLITTING or not draft.weighed:
        return plain
    experts = {1, devices} if situation.model.is_mixture else {1}
    layouts = [
        ParallelLayout(tp=width, dp=devices // width, ep=spread)
        for width in powers(devices)
        if width >= plain.tp
        for spread in experts
    ]
    options = [PricedStep(layout=layout) for layout in layouts]
    return choose_layouts(options, draft.for_layout(), training=False)[0].option.layout


def unfit_start(
    situation: StartSituation,
    smallest: PricedStep | None,
    narrower: tuple[str, PricedStep] | None,
    fit: TrainingFit | None = None,
) -> StartConfiguration:
    """The start of what does not fit: the smallest layout that does, and what fits on the devices told.

    Args:
        situation: What is asked.
        smallest: The layout; None where none fits.
        narrower: Number format in which it fits here, and how.
        fit: The verdict on a launch that trains.
    """
    framework = situation.framework
    relief = fit.relief if fit is not None and situation.problem.situation.has_script else ""
    if smallest is not None:
        assumed_settings(situation, smallest.layout, None)  # refuses what it cannot be told
    return StartConfiguration(
        framework=framework.id,
        version=framework.version,
        layout=smallest.layout if smallest else None,
        fits=False,
        fits_in=(narrower[0], narrower[1].layout) if narrower else None,
        because=(relief,) if relief else (),
    )
