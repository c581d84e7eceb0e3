"""Switches in use that keep a change from working, and how each is taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recommender.cost_model.settings.dialects import translate
from recommender.ranking.plan_setting import Origin, PlanSetting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kg.nouns.values import Value
    from kg.terms.setting_registry import ReleaseSettings
    from recommender.ranking.plan_change import PlanChange


def undoing(
    change: PlanChange, begun: Iterable[PlanSetting], phase: str, release: ReleaseSettings
) -> tuple[PlanSetting, ...]:
    """The settings that take back what a change is contradicted by, such as eager mode by graph capture.

    Args:
        change: The change.
        begun: Settings of the start that it is tested on.
        phase: ``"training"`` or ``"serving"``.
        release: Knows how a switch is taken back.
    """
    wanted = translate({item.name: _value(item) for item in change.settings}, phase).settings
    found = []
    for item in begun:
        if item.origin is not Origin.CURRENT or _value(item) is not True:
            continue
        now = translate({item.name: True}, phase).settings
        if all(wanted.get(name, value) == value for name, value in now.items()):
            continue
        setting = release.look_up(item.key, suggest=False).setting
        if setting is not None and setting.negation:
            found.append(
                PlanSetting(where=item.where, key=setting.negation, value=None, origin=Origin.CURRENT)
            )
    return tuple(found)


def _value(item: PlanSetting) -> Value:
    return True if item.value is None or str(item.value).lower() == "true" else item.value
