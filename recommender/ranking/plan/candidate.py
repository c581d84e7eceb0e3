"""Changes before they have their place: strategies and settings of recipes, with what orders them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Kind, Problem
from kg.nouns.gain import Gain, joined_gain
from kg.nouns.knowledge import Assignment, FactKind, Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value, show
from kg.terms.conditions import Condition
from kg.terms.metrics import priced_as
from kg.terms.purposes import QUANTISATION, Purpose, plain_key, purpose
from kg.triples.hardware_tree import Distance
from recommender.applicability.draft_heads import DraftHead, draft_head
from recommender.applicability.gate import IN_PROFILES
from recommender.cost_model.change import modelled_change, modelled_gain
from recommender.cost_model.question import Question
from recommender.ranking.change import LEAST_LOG_GAIN, OF_ACCURACY, Change, Support, recommendation_id
from recommender.ranking.changes.ranked_strategy import RankedStrategy
from recommender.ranking.changes.recommendations import as_change
from recommender.ranking.layout_question import batches
from recommender.ranking.model_traits import accuracy_with
from recommender.ranking.plan.reach import Reach
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.drafting import DRAFT_MODEL
from recommender.ranking.starts.flags.layout_flags import spelt_settings
from recommender.ranking.starts.layout_options import USUAL_TPOT_S, missed
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.starts import Starts
from recommender.ranking.starts.writing import planned

NOT_TRUSTED = frozenset({"overlap_tensor_parallel"})
"""Settings whose modelled gain is not used: the cost model takes this overlap for free up to 0.7 of the
time of the products, which is five to fifteen times what was published of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedChange:
    """A change as the cost model prices it.

    Attributes:
        gain: Log gain in what is asked for, with its interval; None where the cost model has nothing to say.
        fits: Whether the memory suffices with it.
        load: What tells the program to let in the requests that it frees memory for.
    """

    gain: Gain | None = None
    fits: bool = True
    load: tuple[PlanSetting, ...] = ()


UNSAID = SimulatedChange()


def simulated(
    question: Question | None, configuration: Mapping[str, Value], result: str = "throughput"
) -> SimulatedChange:
    """A change simulated on a problem.

    Args:
        question: The start as the cost model was asked about it; None if it has no price.
        configuration: What the change sets, by the names of a framework.
        result: What is asked for: ``"throughput"``, ``"tpot"`` or ``"ttft"``.
    """
    if question is None:
        return UNSAID
    try:
        change = modelled_change(question, configuration)
    except (InputError, MissingFactError):
        return UNSAID
    if change is None or change.settings.keys() <= NOT_TRUSTED:
        return UNSAID
    fits = change.after.fits is not False or change.before.fits is False
    gained = change.log_gain_in(result)
    if gained is None:
        return SimulatedChange(fits=fits)
    return SimulatedChange(gain=modelled_gain(0.0 if abs(gained) < LEAST_LOG_GAIN else gained), fits=fits)


def at_own_load(starts: Starts, configuration: Mapping[str, Value], said: SimulatedChange) -> SimulatedChange:
    """A change of a server simulated with the requests that it makes room for, where memory bounds them.

    Args:
        starts: The start, and what it was asked for.
        configuration: What the change sets.
        said: What is said of it with the requests of the start.
    """
    question, price, asked = starts.question, starts.price, starts.query
    now = price.settings.get("batch") if price is not None else None
    if not (said.gain and question and price and asked and isinstance(now, int | float)):
        return said
    room, best = asked.usable * (price.capacity_bytes or 0.0), said.gain
    loads = [row["batch"] for row in batches(asked, price.layout.dp) if row["batch"] > now]
    change = modelled_change(question, configuration) if loads else None
    if change is None or change.log_memory >= 0:
        return said
    held = price.memory_parts["kv_cache"] / now
    if price.memory_bytes + held * (min(loads) - now) < room:
        return said  # more fit already, and bring nothing
    each = change.after.memory_parts["kv_cache"] / now
    fitting = [load for load in loads if change.after.memory_bytes + each * (load - now) < room]
    framework = starts.situation.framework
    for load in fitting[-2:]:
        told = spelt_settings({"batch": int(load)}, framework.id, framework.version, copies=price.layout.dp)
        change = modelled_change(question, {**configuration, **{item.name: item.value for item in told}})
        if not told or change is None or change.after.memory_bytes > room:
            continue
        gain = modelled_gain(change.log_gain)
        if asked.is_load_open and change.after.results.get("tpot_s", 0.0) > USUAL_TPOT_S:
            continue
        if missed(asked.limits, change.after) <= price.beyond_limits and gain.expected > best.expected:
            said, best = SimulatedChange(gain=gain, load=tuple(told)), gain
    return said


USUAL = 0.3
"""Agreement from which a change has its place though a condition of it is open; a choice."""
EVEN = 0.5
"""Chance of a condition that the question leaves open, by which its gain counts; a choice."""
LEAST_CHANCE = 0.5
"""Chance to help below which a change is not offered: testing it would be expected to lose."""
AGREEMENT_AS_GAIN = 0.1
"""Log gain that full agreement of recipes counts as, for the order alone and never shown; a choice: what
all experts set comes before a published gain of less than 10 %."""
QUANTISED_AT_LOAD = frozenset({"fp8", "bitsandbytes"})
"""Formats that engines make of 16-bit weights as they load them (vLLM, docs/features/quantization)."""
LONGEST_TITLE = 40
"""Characters of a setting in a title: two of them fit a line."""


def of_strategy(
    problem: Problem,
    item: RankedStrategy,
    share: float,
    place: int,
    start_settings: Mapping[str, object],
    version: str,
    *,
    starts: Starts | None = None,
    reach: Reach | None = None,
) -> Change | None:
    """A strategy as a change; None if it is expected to lose, does not fit, or experts decided otherwise."""
    seen = item.gain if item.effects else None
    result = priced_as(problem.objective, problem.workload.kind)
    # a gain in one phase, measured elsewhere, counts for that phase's share of the time here alone
    if seen is not None and reach is not None and result == "throughput" and not _is_measured_here(item):
        seen = seen.of_part(1 - reach.untouched(item.strategy))
    question = starts.question if starts is not None else None
    change_of = simulated(question, item.strategy.configuration, result) if result else UNSAID
    if starts is not None and result == "throughput":
        change_of = at_own_load(starts, item.strategy.configuration, change_of)
    # a measured gain over another baseline, or without the requests that find room, is not of this change
    is_modelled = change_of.gain is not None and (seen is None or bool(item.against or change_of.load))
    against = "" if is_modelled else item.against
    # a modelled gain of exactly nothing is no evidence against a measured one: the model may not see it
    says = change_of.gain if change_of.gain is None or change_of.gain.expected else None
    gain = change_of.gain if is_modelled else joined_gain(seen, says)
    if not change_of.fits or (gain is not None and gain.probability_of_gain < LEAST_CHANCE):
        return None
    if gain is not None:
        gain = gain.capped(item.match.ceiling)
    judged = {name for clause in item.strategy.applies_when for name in Condition(clause.condition).settings}
    overruled = [
        one.parameter
        for one in item.strategy.sets
        if one.parameter in start_settings and one.parameter not in judged  # it is for what runs so
    ]
    if overruled and (gain is None or any(purpose(name) is Purpose.LAYOUT for name in overruled)):
        return None  # one size of a layout is not changed alone
    tier = "modelled" if is_modelled else _tier(item, is_known=gain is not None)
    expected = max(gain.expected if gain else 0.0, AGREEMENT_AS_GAIN * share)
    is_open = bool(item.provided) and share < USUAL
    if is_open:
        expected *= EVEN
    order = (
        not item.match.bottleneck,
        2 if IN_PROFILES in item.provided else int(is_open and not expected > 0),
        not item.strategy.sets and not item.strategy.families,
        -expected * item.match.closeness,
        -(item.match.share or 0.0) * item.match.closeness,
        -round(reach.of(item.strategy), 2) if reach is not None else 0.0,
        item.strategy.accuracy != "unchanged",
        place,
    )
    head = _head(problem, item.strategy, starts)
    change = as_change(item, problem, version)
    known = (
        ""
        if item.strategy.accuracy == "unchanged"
        else accuracy_with(
            starts.situation.model.id if starts is not None else "", item.strategy.configuration
        )
    )
    return replace(
        change,
        evidence=(
            *([Support(kind=OF_ACCURACY, says=known)] if known else []),
            *([Support(kind="documented", says=head.name, source=head.source)] if head else []),
            *change.evidence,
        ),
        configuration=Settings({**change.configuration, **{one.name: one.value for one in change_of.load}}),
        settings=(
            *(
                replace(_assigned(one, item), value=head.name)
                if one.value == DRAFT_MODEL and head
                else _assigned(one, item)
                for one in item.strategy.sets
            ),
            *change_of.load,
        ),
        gain=gain,
        against=against,
        tier=tier,
        basis=tier if gain is not None else f"{tier}, never measured here: no gain is known",
        provided=" and ".join(filter(None, [item.provided, *_needs(item.strategy, head=head)])),
        order=order,
    )


def _head(problem: Problem, strategy: Strategy, starts: Starts | None) -> DraftHead | None:
    """The published draft model that a strategy names, for the model and what launches it."""
    named = [one for one in strategy.sets if one.value == DRAFT_MODEL]
    programs = [starts.situation.framework.id] if starts is not None else [one.software for one in named]
    model, checkpoint = problem.workload.model or "", problem.situation.checkpoint
    methods = [str(one.value) for one in strategy.sets] if named else []
    return next(filter(None, (draft_head(model, item, programs, checkpoint) for item in methods)), None)


def _needs(strategy: Strategy, head: DraftHead | None) -> Iterator[str]:
    """Needs of a strategy's settings that no setting can meet, in words."""
    for one in strategy.sets:
        if plain_key(one.parameter) == QUANTISATION and show(one.value) not in QUANTISED_AT_LOAD:
            yield "the checkpoint is quantised so"
        elif one.value == DRAFT_MODEL and head is None:
            yield "there is a draft model trained for it"


def of_recipes(
    problem: Problem, items: Sequence[AgreedSetting], version: str, question: Question | None = None
) -> Change | None:
    """Settings that some recipes have, and no strategy of the graph is about; None if they are to lose."""
    share = max(item.share for item in items)
    first = items[0]
    settings = tuple(planned(item, item.value) for item in items)
    configuration = Settings({item.key.lstrip("-"): item.value for item in settings})
    result = priced_as(problem.objective, problem.workload.kind)
    change_of = simulated(question, configuration, result) if result else UNSAID
    gain = change_of.gain
    if not change_of.fits or (gain is not None and gain.probability_of_gain < LEAST_CHANCE):
        return None
    basis = f"set by {share:.0%} of the recipes for such problems, by weight; no time was published"
    expected = max(gain.expected if gain else 0.0, AGREEMENT_AS_GAIN * share)
    support = Support(
        kind="recipe", says=f"set in {first.first.title or first.first.id}", source=first.first.source.url
    )
    return Change(
        id=recommendation_id(problem, configuration, version),
        title=", ".join(_title(item) for item in settings[:2]),
        configuration=configuration,
        flags=tuple(_flag(item) for item in settings),
        settings=settings,
        gain=gain,
        tier=str(FactKind.DOCUMENTED) if gain is None else "modelled",
        basis=basis,
        evidence=(support,),
        accuracy="unknown",
        order=(True, False, False, -expected, 0.0, 0.0, True, 0),
    )


def _assigned(one: Assignment, item: RankedStrategy) -> PlanSetting:
    return PlanSetting(
        where=one.place,
        key=one.key,
        value=one.value,
        origin=Origin.KNOWLEDGE,
        source=item.strategy.sources[0].url if item.strategy.sources else "",
        file="" if one.carrier.startswith("-") else one.carrier,
    )


def _title(item: PlanSetting) -> str:
    """A setting in few words: of a long path its last name."""
    said = f"{item.key.lstrip('-')} {show(item.value)}"
    if len(said) > LONGEST_TITLE and item.where is SettingPlace.JSON:
        said = f"{item.key.rpartition('.')[2]} {show(item.value)}"
    return said if len(said) <= LONGEST_TITLE else f"{said[: LONGEST_TITLE - 3]}..."


def _flag(item: PlanSetting) -> str:
    """A setting as people paste it."""
    text = show(item.value)
    if item.where is SettingPlace.ENV:
        return f"export {item.key}={text}"
    if item.where is SettingPlace.FLAG:
        return item.key if item.value is True else f"{item.key} {text}"
    return f"{item.key}={text}"


_TIERS = {
    Kind.MEASURED: "measured elsewhere",
    Kind.PUBLISHED: "published",
    Kind.MODELLED: "modelled",
}


def _tier(item: RankedStrategy, *, is_known: bool) -> str:
    """The tier of a strategy's gain, by the best of its effects; without one, the kind of the strategy."""
    if not is_known:
        return str(FactKind.DOCUMENTED)
    if _is_measured_here(item):
        return "measured here"
    kinds = {seen.effect.kind for seen in item.effects}
    return next((tier for kind, tier in _TIERS.items() if kind in kinds), item.strategy.kind)


def _is_measured_here(item: RankedStrategy) -> bool:
    kinds = {seen.effect.kind for seen in item.effects}
    return Kind.MEASURED in kinds and item.distance is Distance.SAME_DEVICE


def without_conflicts(candidates: Sequence[Change]) -> list[Change]:
    """The candidates without those that a better one excludes, or that set what a better one sets."""
    chosen: list[Change] = []
    for one in candidates:
        mine = {(item.where, plain_key(item.key)) for item in one.settings}
        for other in chosen:
            theirs = {(item.where, plain_key(item.key)) for item in other.settings}
            if (
                other.strategy in one.conflicts
                or (one.strategy and one.strategy in other.conflicts)
                or (mine and mine <= theirs)
            ):
                break
        else:
            chosen.append(one)
    return chosen
