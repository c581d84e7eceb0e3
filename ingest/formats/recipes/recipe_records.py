"""The door for recipes: what a record may say (docs/formats.md), and the recipe it becomes."""

import json
import re
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

from ingest.door.records import RecordError, Records
from ingest.door.values import JsonObject, settings
from kg.nouns.entities import Source
from kg.nouns.look_up import Standing
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, digest
from kg.terms.model_name import Part, read_name
from kg.terms.setting_registry import registry, softwares
from kg.triples.names import slug

E = TypeVar("E", bound="StrEnum")


OTHER_NAMES = {
    "phase": "role",
    "framework_version": "version",
    "case": "title",
    "hardware_node": "hardware_id",
}
"""Names that other collections use, and ours."""

AUTHORITIES = {
    "tutorial": Authority.VENDOR_TUTORIAL,
    "best-practice": Authority.ENGINE_GUIDE,
    "ci-nightly": Authority.VENDOR_CI,
    "ci-weekly": Authority.VENDOR_CI,
    "example-script": Authority.VENDOR_EXAMPLE,
    "poc-performance-script": Authority.VENDOR_EXAMPLE,
}
"""Authority of the kinds of source that collections name."""

GENERATIONS = {"A2": "Atlas A2", "A3": "Atlas A3", "A2/A3": "dav-c220"}
"""Short names of Ascend generations, which alone name other things too, as the graph has them."""

_PLAIN = (
    "id", "model", "reported_model", "family", "hardware", "reported_hardware", "devices", "framework",
    "version", "precision", "title",
)  # fmt: skip
_PERMALINK = re.compile(r"https://github\.com/([^/]+/[^/]+)/blob/([0-9a-f]{40})/([^#]+)")


def recipe(record: object, records: Records) -> Recipe:
    """The recipe that a record describes.

    Raises:
        RecordError: All faults of the record.
    """
    if not isinstance(record, dict):
        raise RecordError(["a recipe is an object"])
    raw: dict[str, Any] = {OTHER_NAMES.get(str(name), str(name)): item for name, item in record.items()}
    faults: list[str] = []
    texts = {name: _text(raw, name, faults) for name in ("framework", "version", "precision", "title")}
    model, reported_model = _model(raw, records, faults)
    hardware, reported_hardware = _hardware(raw, records, faults)
    role = _choice(raw, "role", Role, faults)
    authority = AUTHORITIES.get(str(raw.get("source_kind"))) or _choice(raw, "authority", Authority, faults)
    counts = {name: _count(raw, name, faults) for name in ("devices", "nodes", "instances")}
    source = _source(raw, faults)
    context, layout = (_settings(raw, name, faults) for name in ("context", "layout"))
    items = _items(raw.get("settings"), faults)
    if faults or role is None or authority is None or source is None:
        raise RecordError(faults)
    if texts["version"] and texts["framework"] in softwares():
        release = registry(texts["framework"]).at(texts["version"])
        for item in items:
            found = release.look_up(item.key, item.where, suggest=False)
            if found.standing in {Standing.REMOVED, Standing.NOT_YET}:
                records.guess(f"{found}; a recipe of {texts['version']} sets it")
    identifier = _text(raw, "id", faults) or "-".join(
        (
            texts["framework"],
            slug(model),
            role,
            str(counts["devices"]),
            digest(hardware, context.to_json(), texts["title"], [[s.where, s.key, s.value] for s in items])[
                :8
            ],
        )
    )
    try:
        return Recipe(
            id=identifier,
            role=role,
            model=model,
            reported_model=reported_model,
            family=_text(raw, "family", faults) or model,
            hardware=hardware,
            reported_hardware=reported_hardware,
            devices=counts["devices"],
            nodes=counts["nodes"],
            instances=counts["instances"],
            framework=texts["framework"],
            version=texts["version"] or source.commit[:12],
            context=context,
            precision=texts["precision"],
            layout=layout,
            settings=items,
            title=texts["title"],
            source=source,
            authority=authority,
        )
    except ValueError as fault:
        raise RecordError([*faults, str(fault)]) from None


def to_record(item: Recipe) -> dict[str, object]:
    """A recipe as a record; what is unknown or usual is left out."""
    record: dict[str, object] = {name: getattr(item, name) for name in _PLAIN} | {
        "role": item.role.value,
        "nodes": item.nodes if item.nodes > 1 else None,
        "instances": item.instances if item.instances > 1 else None,
        "context": item.context.to_json(),
        "layout": item.layout.to_json(),
        "settings": [{"where": s.where.value, "key": s.key, "value": s.value} for s in item.settings],
        "source": item.source.url,
        "licence": item.source.licence,
        "authority": item.authority.value,
    }
    return {name: value for name, value in record.items() if value not in (None, "", {})}


def _model(raw: dict[str, Any], records: Records, faults: list[str]) -> tuple[str, str]:
    """Id and published name; a number format at the end of a name does not make it another model."""
    text = _text(raw, "model", faults)
    if not text:
        faults.append("model: missing")
        return "", ""
    reported = _text(raw, "reported_model", faults) or text
    if (found := records.model(text)) is not None:
        return found, reported
    records.guess(f"model {text!r} is not in the knowledge; kept as it is")
    return slug(read_name(text).without(Part.FORMAT)) or text, reported


def _hardware(raw: dict[str, Any], records: Records, faults: list[str]) -> tuple[str, str]:
    """Id, as exact as the source states it, and published name."""
    text = _text(raw, "hardware", faults)
    reported = _text(raw, "reported_hardware", faults) or text
    plain = text.partition("(")[0].rstrip() if text.endswith(")") else text
    stated = None if raw.get("hardware_guess") else raw.get("hardware_id")
    for name in (stated, GENERATIONS.get(plain, plain), raw.get("hardware_id"), records.context.hardware):
        if isinstance(name, str) and name:
            found, is_known = records.hardware(name)
            if is_known:
                return found, reported
    if text:
        records.guess(f"hardware {text!r} is not in the knowledge; left open")
    return "", reported


def _source(raw: dict[str, Any], faults: list[str]) -> Source | None:
    url = raw.get("source")
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        faults.append("source: missing; a recipe names the address it can be opened at")
        return None
    found = _PERMALINK.match(url)
    return Source(
        title=f"{found[1]}: {found[3]}" if found else url,
        url=url,
        path=found[3] if found else "",
        commit=found[2] if found else _text(raw, "commit", faults),
        licence=_text(raw, "licence", faults),
    )


def _items(raw: object, faults: list[str]) -> tuple[RecipeSetting, ...]:
    if not isinstance(raw, list) or not raw:
        faults.append("settings: a list of {where, key, value} that is not empty")
        return ()
    items = []
    for place, item in enumerate(raw):
        value = item.get("value") if isinstance(item, dict) else None
        if not isinstance(item, dict) or value is None or not isinstance(item.get("key"), str):
            faults.append(f"settings[{place}]: needs where, key and value")
            continue
        where = _choice(item, "where", SettingPlace, faults, f"settings[{place}].")
        if where is not None and item["key"]:
            text = value if isinstance(value, str) else json.dumps(value)
            items.append(RecipeSetting(where=where, key=item["key"], value=text))
        elif not item["key"]:
            faults.append(f"settings[{place}].key: empty")
    return tuple(items)


def _choice(raw: JsonObject, name: str, choices: type[E], faults: list[str], prefix: str = "") -> E | None:
    value = raw.get(name)
    try:
        return choices(str(value))
    except ValueError:
        near = get_close_matches(str(value), list(choices), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        said = "missing" if value is None else f"{str(value)[:40]!r} is none of {', '.join(choices)}"
        faults.append(f"{prefix}{name}: {said}{hint}")
        return None


def _count(raw: JsonObject, name: str, faults: list[str]) -> int:
    value = raw.get(name, None if name == "devices" else 1)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        faults.append(
            f"{name}: {value!r} is no positive whole number" if value is not None else f"{name}: missing"
        )
        return 1
    return value


def _text(raw: JsonObject, name: str, faults: list[str]) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        faults.append(f"{name}: a text, not {str(value)[:40]}")
        return ""
    return value


def _settings(raw: JsonObject, name: str, faults: list[str]) -> Settings:
    value = raw.get(name) or {}
    if not isinstance(value, dict):
        faults.append(f"{name}: an object")
        return Settings()
    try:
        return settings(value, keep_null=False)
    except ValueError as fault:
        faults.append(f"{name}: {fault}")
        return Settings()
