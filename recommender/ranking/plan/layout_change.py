"""Changes that the cost model prices above the start: layouts, batches, less that is computed again.

What a change wins differs by layout: one that is better than the start only with a change comes with it,
behind the change alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Problem
from kg.nouns.layout import ParallelLayout
from kg.nouns.recipe import experts_spread
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value
from kg.terms.dialects import positive, statement
from kg.terms.metrics import priced_as
from kg.terms.setting_registry import ReleaseSettings
from recommender.cost_model.change import SettingsChange, modelled_change, modelled_gain
from recommender.cost_model.layout_domain import BY_LAYERS
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import replicated_by
from recommender.ranking.change import LEAST_LOG_GAIN, Change, Support, recommendation_id
from recommender.ranking.model_traits import is_same_network
from recommender.ranking.paste import OTHER_WEIGHTS, UNNAMED, change_words
from recommender.ranking.plan_setting import PlanSetting
from recommender.ranking.start import StartConfiguration, log_gain_over
from recommender.ranking.starts.flags.layout_flags import spelt_settings
from recommender.ranking.starts.layout_options import missed
from recommender.ranking.starts.lengths import shared_context
from recommender.ranking.starts.recipes.company import FEWEST_TO_TELL
from recommender.ranking.starts.rollout import ROLLED
from recommender.ranking.starts.starts import Starts

SURE = 0.9
"""Chance to fit from which a larger micro-batch is proposed: as intervals are told; a choice."""


def layout_changes(
    problem: Problem,
    starts: Starts,
    version: str,
    release: ReleaseSettings | None,
    beside: Sequence[Change] = (),
) -> list[Change]:
    """The layouts that are modelled to be clearly better than the start, each as a change of it.

    Args:
        problem: The question.
        starts: The start and its alternatives, with their prices.
        version: Identifier of the knowledge.
        release: Knows how a switch is taken back; None where none ships.
        beside: Other changes of the start.
    """
    found = []
    result = priced_as(problem.objective, problem.workload.kind)
    on_start = list(_priced_with(beside, starts.question)) if result else []
    for other in starts.alternatives:
        if other.layout is None or _keeps_experts_whole(other.layout, starts):
            continue
        if any(one.startswith((UNNAMED, OTHER_WEIGHTS)) for one in {*other.needs} - {*starts.first.needs}):
            continue  # it is not the layout alone that differs, but the weights
        log_gain, first = log_gain_over(starts.first, other), None
        if log_gain < LEAST_LOG_GAIN:
            log_gain, first = _gain_with(on_start, starts.divided.get(other.layout), starts, result or "")
        settings = _difference(starts.first, other, release)
        if log_gain >= LEAST_LOG_GAIN and settings:
            share = f"{other.agreement:.0%}" if other.agreement else "none"
            why = Support(kind="modelled", says=f"the cost model prices it so; recipes agree by {share}")
            title = f"Divide it as {other.layout}"
            if first is not None:
                title = f"{title}, with: {first.title}"
                own = {item.key for item in first.settings}
                settings = (*(item for item in settings if item.key not in own), *first.settings)
            change = _modelled(problem, title, settings, log_gain, version, why)
            found.append(change if first is None else replace(change, order=(*first.order[:4], 1.0)))
    for changes in (_admitting, _filling, _keeping):
        found += changes(problem, starts, version)
    return found


def _priced_with(changes: Sequence[Change], question: Question | None) -> Iterator[tuple[Change, PricedStep]]:
    """The changes that are modelled to win and keep the accuracy, with the price of a start that has them."""
    for one in changes:
        if question is None or not (one.strategy and one.wins) or one.provided or one.against:
            continue
        if one.accuracy != "unchanged":
            continue
        try:
            changed = modelled_change(question, one.configuration)
        except (InputError, MissingFactError):
            continue
        if changed is not None and changed.after.fits is not False:
            yield one, changed.after


def _gain_with(
    on_start: Sequence[tuple[Change, PricedStep]], question: Question | None, starts: Starts, result: str
) -> tuple[float, Change | None]:
    """The log gain over the start of a layout and a change together, and the change; 0 where none pays.

    The two together must be clearly better than the start with any of the changes.

    Args:
        on_start: The changes, each with the price of the start that has it.
        question: What the layout was priced by.
        starts: The start.
        result: What is asked for.
    """
    limits = starts.query.limits if starts.query is not None else ()
    best: tuple[float, Change | None] = (0.0, None)
    for one, both in _priced_with([change for change, _ in on_start], question):
        if starts.price is None or missed(limits, both) > missed(limits, starts.price):
            continue
        over = [_log_gain(step, both, result) for _, step in on_start]
        gained = _log_gain(starts.price, both, result)
        if min(over) >= LEAST_LOG_GAIN and gained > best[0]:
            best = gained, one
    return best


def _log_gain(before: PricedStep, after: PricedStep, result: str) -> float:
    return SettingsChange(settings={}, before=before, after=after).log_gain_in(result) or 0.0


def _admitting(problem: Problem, starts: Starts, version: str) -> Iterator[Change]:
    """More requests at once, where the launch admits fewer than fit and keep the limits."""
    if starts.roomier is None or starts.question is None:
        return
    program, most = starts.situation.framework, starts.roomier.settings["batch"]
    facts = {"batch": int(float(str(most)))}
    copies = 1 if starts.first.layout is None else starts.first.layout.dp
    context = shared_context(starts.situation, facts["batch"]) if program.id in BY_LAYERS else None
    held = facts if context is None else {**facts, "max_len": context}
    settings = spelt_settings(held, program.id, program.version, copies=copies)
    now, more = price(starts.question, [{}, facts])
    log_gain = math.log(more.throughput / now.throughput)
    if settings and log_gain >= LEAST_LOG_GAIN:
        why = Support(kind="modelled", says="as many as fit, within the limits; the launch admits fewer")
        title = "More requests at once"
        asked = "" if starts.situation.at_once else "so many come at once"
        yield _modelled(problem, title, tuple(settings), log_gain, version, why, asked)


def _filling(problem: Problem, starts: Starts, version: str) -> Iterator[Change]:
    """Larger micro-batches of a trainer that replicates the model, where the memory holds them.

    As many less are accumulated where the launch says how many are; else a step takes more samples.
    """
    question, program = starts.question, starts.situation.framework
    if question is None or question.phase != "training" or program.id in ROLLED:
        return  # a rollout is cut into mini-batches, whose samples a micro-batch does not change
    if starts.price is None or replicated_by(question.engine, question.settings) is None:
        return
    size = int(float(str(question.settings.get("micro_batch") or 1)))
    told = statement(problem.current or {}, program.id).facts
    turns = positive(told.get("turns")) or 1
    if "global_batch" in told:
        return
    times = [2**power for power in range(1, 7) if turns == 1 or turns % 2**power == 0]
    open_: dict[str, object] = {"global_batch": 0} if turns == 1 else {}
    now, *larger = price(question, [{}, *({"micro_batch": size * more, **open_} for more in times)])
    fitting = [(one, more) for one, more in zip(larger, times, strict=True) if one.chance_to_fit >= SURE]
    if not fitting:
        return
    top = max(one.throughput for one, _ in fitting)
    best, more = next(pair for pair in fitting if math.log(top / pair[0].throughput) < LEAST_LOG_GAIN)
    log_gain = math.log(best.throughput / now.throughput)
    facts = {"micro_batch": size * more} | ({"turns": turns // more} if turns > 1 else {})
    settings = spelt_settings(facts, program.id, program.version)
    if len(settings) == len(facts) and log_gain >= LEAST_LOG_GAIN:
        why = Support(kind="modelled", says="the memory holds them, and products of more rows run faster")
        asked = "" if turns > 1 else f"a step may take {more} times the samples"
        title = f"Micro-batches of {size * more}"
        yield _modelled(problem, title, tuple(settings), log_gain, version, why, asked)


def _keeping(problem: Problem, starts: Starts, version: str) -> Iterator[Change]:
    """Fewer blocks computed again, as many as the memory then holds, where the trainer counts them.

    Source: T. Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016 (arXiv:1604.06174).
    """
    question, program = starts.question, starts.situation.framework
    is_training = question is not None and question.phase == "training"
    if question is None or not is_training or question.settings.get("recompute") != "full":
        return
    pieces = [
        int(float(str(question.settings.get(name) or 1))) for name in ("pipeline_parallel", "virtual_stages")
    ]
    blocks = math.ceil((question.model.layers or 1) / math.prod(pieces))
    counts = range(1, blocks)
    now, *fewer = price(question, [{}, *({"recompute_layers": count} for count in counts)])
    pairs = zip(fewer, counts, strict=True)
    best, count = next((pair for pair in pairs if pair[0].chance_to_fit >= SURE), (now, blocks))
    log_gain = math.log(best.throughput / now.throughput)
    facts: dict[str, Value] = {"recompute_method": "block", "recompute_layers": count}
    settings = spelt_settings(facts, program.id, program.version)
    if len(settings) == len(facts) and log_gain >= LEAST_LOG_GAIN:
        why = Support(kind="modelled", says="the memory holds what the others keep")
        title = f"Recompute {count} of {blocks} layers of a stage"
        yield _modelled(problem, title, tuple(settings), log_gain, version, why)


def _keeps_experts_whole(layout: ParallelLayout, starts: Starts) -> bool:
    """True if a layout keeps experts whole though all recipes of the model on such chips spread them."""
    asked = starts.situation.model
    own = [
        one.recipe
        for one in starts.recipes
        if not one.is_foreign
        and (one.recipe.model == asked.id or (one.model is not None and is_same_network(asked, one.model)))
    ]
    if layout.ep > 1 or len(own) < FEWEST_TO_TELL:
        return False
    return all(
        experts_spread(one.framework, one.layout, {item.key: item.value for item in one.settings}) > 1
        for one in own
    )


def _difference(
    start: StartConfiguration, other: StartConfiguration, release: ReleaseSettings | None
) -> tuple[PlanSetting, ...]:
    """Settings that turn one start into the other; empty where one of them cannot be taken back."""
    now = {(item.where, item.key): item for item in start.settings}
    then = {(item.where, item.key): item for item in other.settings}
    changed = [item for place, item in then.items() if place not in now or now[place].value != item.value]
    for place, item in now.items():
        if place in then:
            continue
        taken_back = _taken_back(item, release)
        if taken_back is None:
            return ()
        changed.append(taken_back)
    return tuple(changed)


def _taken_back(item: PlanSetting, release: ReleaseSettings | None) -> PlanSetting | None:
    """A setting at its default."""
    known = None if release is None else release.look_up(item.key, item.where, suggest=False).setting
    if known is None or not known.defaults or known.defaults[-1].value is None:
        return None
    if item.value is True or str(item.value).lower() == "true":
        removed = item.where is SettingPlace.FLAG and not known.negation
        return replace(item, value=False, negation=known.negation, removed=removed)
    return replace(item, value=known.defaults[-1].value)


def _modelled(
    problem: Problem,
    title: str,
    settings: tuple[PlanSetting, ...],
    log_gain: float,
    version: str,
    why: Support,
    provided: str = "",
) -> Change:
    gain = modelled_gain(log_gain)
    configuration = Settings({item.name: item.value for item in settings})
    return Change(
        id=recommendation_id(problem, configuration, version),
        title=title,
        configuration=configuration,
        flags=tuple(change_words(settings)),
        settings=settings,
        gain=gain,
        basis="modelled",
        tier="modelled",
        provided=provided,
        evidence=(why,),
        order=(False, False, False, -gain.expected, 0.0, 0.0, False, 0),
    )
