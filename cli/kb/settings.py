"""``tunegraph kb list settings``: what a release of a program takes, as a table or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli import output
from kg.terms.setting_registry import registry, softwares

if TYPE_CHECKING:
    from kg.nouns.setting import Setting
    from kg.terms.setting_registry import ReleaseSettings

LONGEST = 40
"""Characters of a default that a table shows."""


def show(software: str, *, as_json: bool) -> None:
    """Print the settings of ``software`` (``name=release``), or without one the programs there are.

    Raises:
        UnknownEntityError: No settings of that program ship, or the release is none.
    """
    if not software:
        _programs(as_json=as_json)
        return
    name, _, release = software.partition("=")
    found = registry(name).at(release)
    if found.note:
        output.note(found.note)
    if as_json:
        settings = [to_json(item, found.release) for item in found]
        output.as_json({"software": found.registry.software, "release": found.release, "settings": settings})
        return
    output.table(
        ("place", "setting", "takes", "default", "since"),
        ((item.place, item.key, takes(item), _default(item, found), item.since or "") for item in found),
    )


def to_json(setting: Setting, release: str) -> dict[str, object]:
    """A setting as one release has it; what is not known is left out."""
    default = setting.default_in(release)
    fields: dict[str, object] = {
        "key": setting.key,
        "place": setting.place.value,
        "in": setting.carrier,
        "aliases": list(setting.aliases),
        "off": setting.negation,
        "type": setting.type,
        "choices": list(setting.choices),
        "low": setting.low,
        "high": setting.high,
        "unit": setting.unit,
        "since": setting.since,
        "removed": setting.removed,
        "replaced_by": setting.replaced_by,
        "open": setting.open,
        "refused_with": list(setting.conflicts),
        "source": setting.source,
    }
    kept = {name: value for name, value in fields.items() if value not in ("", None, [], False)}
    if default is not None:
        kept |= {"default_is_computed": True} if default.computed else {"default": default.value}
    return kept


def takes(setting: Setting) -> str:
    """The type and the limits of a setting in few words."""
    if setting.choices:
        return ", ".join(str(item) for item in setting.choices)
    low, high = (f"{bound:g}" if bound is not None else "" for bound in (setting.low, setting.high))
    limits = f" {low}..{high}" if low or high else ""
    return f"{setting.type}{limits} {setting.unit}".strip()


def _default(setting: Setting, found: ReleaseSettings) -> str:
    default = setting.default_in(found.release)
    if default is None:
        return ""
    text = "computed" if default.computed else str(default.value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _programs(*, as_json: bool) -> None:
    rows = [(name, registry(name)) for name in softwares()]
    if as_json:
        output.as_json({"software": {name: list(item.releases) for name, item in rows}})
        return
    output.table(
        ("software", "settings", "releases"),
        ((name, len(item.settings), ", ".join(item.releases)) for name, item in rows),
    )
