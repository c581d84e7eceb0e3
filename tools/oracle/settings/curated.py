"""Settings of programs without public sources: read from a page each, kept in ``NAME.yaml`` beside this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kg.nouns.release import release_key

FOLDER = Path(__file__).resolve().parent


def curated(software: str) -> dict[str, Any]:
    """The content of a program's file in the registry.

    Raises:
        FileNotFoundError: Nothing is curated of that program.
        ValueError: An entry lacks its page, or names a release that the file does not list.
    """
    document = yaml.safe_load((FOLDER / f"{software}.yaml").read_text(encoding="utf-8"))
    releases = [str(name) for name in document["releases"]]
    if releases != sorted(releases, key=release_key):
        raise ValueError(f"{software}: releases out of order")
    settings = [_entry(item, document, releases) for item in document["settings"]]
    return {
        "software": document["software"],
        "source": "{path}",
        "abbreviates": False,
        "releases": [[name, name] for name in releases],
        "beneath": {name: {} for name in document.get("beneath", ())},
        "settings": sorted(settings, key=lambda entry: (entry["place"], entry["key"])),
    }


def stated_facts(software: str) -> dict[str, dict[str, Any]]:
    """What pages say of settings whose sources do not say it, by key; empty for most programs."""
    path = FOLDER / f"{software}.yaml"
    document = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {} if "settings" in document else document


def _entry(item: dict[str, Any], document: dict[str, Any], releases: list[str]) -> dict[str, Any]:
    page = document["sources"].get(item.get("source"))
    if page is None:
        raise ValueError(f"{document['software']}: {item['key']} has no page")
    entry: dict[str, Any] = {"key": item["key"], "place": item.get("place", document.get("place", "env"))}
    names = (
        "in",
        "aliases",
        "off",
        "type",
        "choices",
        "low",
        "high",
        "unit",
        "open",
        "since",
        "removed",
        "replaced_by",
    )
    for name in names:
        if name in item:
            entry[name] = str(item[name]) if name in {"since", "removed"} else item[name]
    if document.get("in") and "in" not in entry:
        entry["in"] = document["in"]
    for name in ("since", "removed"):
        if name in entry and entry[name] not in releases:
            raise ValueError(f"{document['software']}: {item['key']}: no release {entry[name]}")
    if "default" in item:
        entry["default"] = [[entry.get("since", releases[0]), item["default"]]]
    if item.get("computed"):
        entry["default"] = [[entry.get("since", releases[0])]]
    entry["at"] = page["url"]
    return entry
