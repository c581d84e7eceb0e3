"""The ``source`` of a record, and the versions of software that record and source state."""

from ingest.door.values import JsonObject, json_kind
from kg.nouns.entities import Source


def read_source(raw: JsonObject) -> Source:
    """The source of a record.

    Raises:
        ValueError: It has no name, or a field that is no text.
    """
    repository = _text(raw, "repo")
    title = _text(raw, "title") or repository or _text(raw, "url") or _text(raw, "path")
    if not title:
        raise ValueError("source: needs a title, a repo, a url or a path")
    url = _text(raw, "url")
    if not url and repository.count("/") == 1 and ":" not in repository:
        url = f"https://github.com/{repository}"
    return Source(
        title=title,
        url=url,
        path=_text(raw, "path"),
        commit=_text(raw, "commit"),
        licence=_text(raw, "licence"),
        note=_text(raw, "note"),
    )


def read_software(
    record: JsonObject, config: JsonObject, source: JsonObject, faults: list[str]
) -> JsonObject:
    """Versions by name: those of the record, and those of framework and Triton in its source."""
    raw = record.get("software")
    if raw is None:
        versions: dict[str, object] = {}
    elif isinstance(raw, dict):
        versions = {name: str(item) for name, item in raw.items()}
    else:
        faults.append(f"software: an object, not {json_kind(raw)}")
        return {}
    version = source.get("framework_version")
    if version:
        framework = config.get("framework")
        versions[framework if isinstance(framework, str) and framework else "framework"] = str(version)
    triton = source.get("triton")
    if triton:
        versions["triton"] = str(triton).removeprefix("triton_").replace("_", ".")
    return versions


def _text(raw: JsonObject, name: str) -> str:
    item = raw.get(name)
    if item is None:
        return ""
    if not isinstance(item, str):
        raise ValueError(f"source.{name}: text, not {json_kind(item)}")  # noqa: TRY004  as other faults
    return item
