"""Changes that the cost model prices above the start: another layout, or more requests at once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.nouns.recipe import experts_spread
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from recommender.cost_model.change import modelled_gain
from recommender.cost_model.priced_step import price
from recommender.ranking.change import LEAST_LOG_GAIN, Change, Support, recommendation_id
from recommender.ranking.model_traits import is_same_network
from recommender.ranking.paste import change_words
from recommender.ranking.start import log_gain_over
from recommender.ranking.starts.layout_flags import spelt_settings
from recommender.ranking.starts.recipes.company import FEWEST_TO_TELL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.nouns.entities import Problem
    from kg.nouns.layout import ParallelLayout
    from kg.terms.setting_registry import ReleaseSettings
    from recommender.ranking.plan_setting import PlanSetting
    from recommender.ranking.start import StartConfiguration
    from recommender.ranking.starts.starts import Starts


def layout_changes(
    problem: Problem, starts: Starts, version: str, release: ReleaseSettings | None
) -> list[Change]:
    """The layouts that are modelled to be clearly better than the start, each as a change of it.

    Args:
        problem: The question.
        starts: The start and its alternatives, with their prices.
        version: Identifier of the knowledge.
        release: Knows how a switch is taken back; None where none ships.
    """
    found = []
    for other in starts.alternatives:
        log_gain = log_gain_over(starts.first, other)
        if log_gain < LEAST_LOG_GAIN or other.layout is None or _keeps_experts_whole(other.layout, starts):
            continue
        settings = _difference(starts.first, other, release)
        if settings:
            share = f"{other.agreement:.0%}" if other.agreement else "none"
            why = Support(kind="modelled", says=f"the cost model prices it so; recipes agree by {share}")
            found.append(_modelled(problem, f"Divide it as {other.layout}", settings, log_gain, version, why))
    return [*found, *_admitting(problem, starts, version)]


def _admitting(problem: Problem, starts: Starts, version: str) -> Iterator[Change]:
    """More requests at once, where the launch admits fewer than fit and keep the limits."""
    if starts.roomier is None or starts.question is None:
        return
    program, most = starts.situation.framework, starts.roomier.settings["batch"]
    facts = {"batch": int(float(str(most)))}
    copies = 1 if starts.first.layout is None else starts.first.layout.dp
    settings = spelt_settings(facts, program.id, program.version, copies=copies)
    now, more = price(starts.question, [{}, facts])
    log_gain = math.log(more.throughput / now.throughput)
    if settings and log_gain >= LEAST_LOG_GAIN:
        why = Support(kind="modelled", says="as many as fit, within the limits; the launch admits fewer")
        title = "More requests at once"
        yield _modelled(problem, title, tuple(settings), log_gain, version, why, "so many come at once")


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
