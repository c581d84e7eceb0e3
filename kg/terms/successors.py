"""Settings that a release removed, and what says the same there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.look_up import Standing
from kg.terms.meanings import table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.look_up import LookUp
    from kg.nouns.values import Value
    from kg.terms.setting_registry import ReleaseSettings

_ANY = "*"


def successors(release: ReleaseSettings, found: LookUp, value: Value) -> Mapping[str, Value] | None:
    """The settings of a release that say what a removed one said; empty where it is what the release does.

    Args:
        release: That does not have it any more.
        found: What the release makes of it.
        value: What it was set to.

    Returns:
        Values by key; None where nothing is known to have taken its place, or the value has none there.
    """
    setting = found.setting
    if setting is None or found.standing is not Standing.REMOVED:
        return None
    forms: Mapping[object, Mapping[str, Value]] = (
        table("successors").get(setting.software, {}).get(setting.key, {})
    )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    form = forms.get(text, forms.get(_ANY))
    if form is not None:
        return {key: value if item == _ANY else item for key, item in form.items()}
    if not setting.replaced_by:
        return None
    after = release.look_up(setting.replaced_by, suggest=False)
    same_kind = after.setting is not None and (after.setting.type == "bool") == (setting.type == "bool")
    if not (same_kind and after.usable and after.setting is not None and after.setting.accepts(value)):
        return None
    return {setting.replaced_by: value}
