"""Settings that a release removed, and what says the same there now."""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import Setting, SettingPlace, read_value
from kg.nouns.values import Value
from kg.terms.meanings import table
from kg.terms.setting_registry import ReleaseSettings

_ANY = "*"
_CHOICE = "?"
_PAIR = re.compile(r"\w+=[\w.-]+")
_SWITCHED = {"1": "true", "0": "false"}
"""Values of a switch that is a variable."""


def successor_keys(setting: Setting) -> tuple[str, ...]:
    """The settings that took the place of a removed one, whatever it was set to."""
    forms = table("successors").get(setting.software, {}).get(setting.key, {}).values()
    keys = [setting.replaced_by, *(key for form in forms for key in form)]
    return tuple(dict.fromkeys(filter(None, keys)))


def successors(release: ReleaseSettings, answer: LookUp, value: Value) -> Mapping[str, Value] | None:
    """The settings of a release that say what a removed one said; empty where it is what the release does.

    Args:
        release: That does not have it any more.
        answer: What the release makes of it.
        value: What it was set to.

    Returns:
        Values by key; None where nothing is known to have taken its place, or the value has none there.
    """
    setting = answer.setting
    if setting is None or answer.standing is not Standing.REMOVED:
        return None
    forms: Mapping[object, Mapping[str, Value]] = (
        table("successors").get(setting.software, {}).get(setting.key, {})
    )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = _SWITCHED.get(text, text) if setting.type == "bool" else text
    form = forms.get(text, forms.get(_ANY))
    if form is not None:
        if _CHOICE in form.values():
            return None
        return {key: value if item == _ANY else item for key, item in form.items()}
    if not setting.replaced_by:
        return None
    after = release.look_up(setting.replaced_by, suggest=False)
    same_kind = after.setting is not None and (after.setting.type == "bool") == (setting.type == "bool")
    if not (same_kind and after.usable and after.setting is not None and after.setting.accepts(value)):
        return None
    return {setting.replaced_by: value}


def newest_word(answer: LookUp, value: Value) -> Value:
    """The word of a release for a value of a setting that it has: another where that took its place."""
    setting = answer.setting
    if setting is None or answer.standing is not Standing.TAKEN:
        return value
    forms = table("successors").get(setting.software, {}).get(setting.key, {})
    words = (
        form[setting.key]
        for old, form in forms.items()
        if setting.key in form and fnmatchcase(str(value), str(old))
    )
    return next((word for word in words if setting.accepts(word)), value)


def as_object(value: Value, answer: LookUp) -> str | None:
    """JSON for the pairs ``image=2,video=1`` where a release wants an object; None for anything else."""
    setting, words = answer.setting, value if isinstance(value, tuple) else (value,)
    if answer.standing is not Standing.TAKEN or setting is None or setting.type != "object":
        return None
    pairs = [part for word in words for part in str(word).split(",")]
    if setting.place is not SettingPlace.FLAG or not all(map(_PAIR.fullmatch, pairs)):
        return None
    return json.dumps(
        {
            name: read_value(text, "int") if text.isdecimal() else text
            for name, _, text in (p.partition("=") for p in pairs)
        }
    )
