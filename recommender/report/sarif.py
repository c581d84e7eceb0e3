"""A diagnosis or an audit as SARIF, the form in which code scanners and pipelines take findings.

Rules are the nodes of the cause graph, the known faults or the rules of the audit; a result points at what
shows it. Rows that are no lines of a text (of a database, events of a trace) are logical locations.

Source:
    OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "READ"
"""Name of the folder that places of results begin at."""
_TEXTS = (".csv", ".log", ".txt", ".sh", ".yaml", ".yml", ".json", ".py", ".slurm", ".sbatch")
"""Ends of the names of files whose rows are lines."""
_MOST_ROWS = 12


Content = Mapping[str, Any]
Place = tuple[str, tuple[int, ...]]
"""A file and some of its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """One finding before it is written."""

    rule: str
    label: str
    level: str
    text: str
    places: Sequence[Place]
    rule_help: str = ""
    properties: Content = field(default_factory=dict)


def diagnosis_sarif(content: Content, version: str) -> dict[str, object]:
    """The SARIF log of a diagnosis: causes are warnings, what is seen at no visible cost is a note.

    Args:
        content: The diagnosis as JSON values.
        version: Of this program.
    """
    results = [_cause(item) for item in content["causes"]]
    besides = set(content["besides"])
    results += [
        _Result(
            rule=item["node"],
            label=item["node"],
            level="note",
            text=item["says"],
            places=list(_places([item])),
        )
        for item in content["looked_at"]
        if item["node"] in besides
    ]
    missing = (f"not collected: {item['what']} ({item['how']})" for item in content["not_collected"])
    return _log(results, Path(content["path"]), version, [*content["notes"], *missing])


def faults_sarif(content: Content, version: str) -> dict[str, object]:
    """The SARIF log of the known faults in a log, each an error.

    Args:
        content: Path and faults as JSON values.
        version: Of this program.
    """
    path = Path(content["path"])
    results = [
        _Result(
            rule=item["fault"],
            label=item["label"],
            level="error",
            text=f"{item['label']}: {item['cause'].get('en', '')} {item['remedy'].get('en', '')}",
            places=[(path.name, tuple(item["lines"]))],
            rule_help=item["remedy"].get("en", ""),
            properties={name: item[name] for name in ("codes", "count", "source", "strategies")},
        )
        for item in content["faults"]
    ]
    results += [
        _Result(
            rule=f"statement-{next(iter(item['programs']))}",
            label=f"{item['where']} of {next(iter(item['programs']))}",
            level="error",
            text=item["text"],
            places=[(path.name, tuple(item["lines"]))],
            properties={name: item[name] for name in ("programs", "pattern", "values", "count")},
        )
        for item in content.get("statements", ())
        if item["level"] not in {"warning", "info"}
    ]
    return _log(results, path, version, [])


def audit_sarif(content: Content, version: str) -> dict[str, object]:
    """The SARIF log of an audit: a result for each setting, at its line, with what to write instead.

    Args:
        content: Path and findings as JSON values.
        version: Of this program.
    """
    path = Path(content["path"])
    results = [
        _Result(
            rule=item["rule"],
            label=item["says"]["en"],
            level=item["level"],
            text=". ".join(
                filter(None, (f"{item['setting']}: {item['says']['en']}", item["cost"].get("en"), _do(item)))
            ),
            places=[(path.name, () if item["line"] is None else (item["line"],))],
            rule_help=_do(item),
            properties={
                name: item[name] for name in ("kind", "setting", "value", "default", "priced", "source")
            },
        )
        for item in content["findings"]
    ]
    return _log(results, path, version, content["notes"])


def _do(item: Content) -> str:
    remedy = item["remedy"]
    return f"write {remedy['write']}" if "write" in remedy else f"remove {', '.join(remedy['remove'])}"


def _cause(item: Content) -> _Result:
    seen = "; ".join(evidence["says"] for evidence in reversed(item["evidence"]))
    return _Result(
        rule=item["cause"],
        label=item["label"],
        level="warning",
        text=f"{item['label']}: {item['share']:.0%} of the step ({item['lost_us'] / 1e3:.2f} ms), "
        f"confidence {item['confidence']:.0%}. {seen}",
        places=list(_places(item["evidence"])),
        rule_help="; ".join(_remedy(remedy["label"], remedy["settings"]) for remedy in item["remedies"]),
        properties={
            **{name: item[name] for name in ("chain", "confidence", "lost_us", "share", "gain")},
            "remedies": [remedy["strategy"] for remedy in item["remedies"]],
        },
    )


def _places(evidence: Iterable[Content]) -> Iterator[Place]:
    for item in evidence:
        yield from ((place["file"], tuple(place["rows"])) for place in item["places"])


def _remedy(label: str, settings: Iterable[str]) -> str:
    return ": ".join(filter(None, (label, ", ".join(settings))))


def _log(results: Sequence[_Result], path: Path, version: str, notes: Iterable[str]) -> dict[str, object]:
    rules: dict[str, dict[str, object]] = {}
    for item in results:
        rule = rules.setdefault(item.rule, {"id": item.rule, "shortDescription": {"text": item.label}})
        if item.rule_help:
            rule.setdefault("help", {"text": item.rule_help})
    places = {name: place for place, name in enumerate(rules)}
    whole = path.resolve()
    folder = whole if whole.is_dir() else whole.parent
    invocation: dict[str, object] = {"executionSuccessful": True}
    if messages := [{"level": "note", "message": {"text": text}} for text in notes]:
        invocation["toolExecutionNotifications"] = messages
    driver = {
        "name": "tunegraph",
        "version": version,
        "rules": list(rules.values()),
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "originalUriBaseIds": {_BASE: {"uri": f"{folder.as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_content(item, places[item.rule], whole) for item in results],
    }
    return {"$schema": _SCHEMA, "version": VERSION, "runs": [run]}


def _content(item: _Result, place: int, path: Path) -> dict[str, object]:
    content: dict[str, object] = {
        "ruleId": item.rule,
        "ruleIndex": place,
        "level": item.level,
        "message": {"text": item.text},
        "locations": [spot for where in dict.fromkeys(item.places) for spot in _locations(where, path)],
    }
    if item.properties:
        content["properties"] = dict(item.properties)
    return content


def _locations(place: Place, path: Path) -> Iterator[dict[str, object]]:
    """A location for each row; the files alone where there is none, or where several share the rows."""
    file, _, table = place[0].partition("#")
    names = file.split(", ") if path.is_dir() or file else [path.name]
    for name in names:
        physical = {"artifactLocation": {"uri": quote(name), "uriBaseId": _BASE}}
        is_text = name.endswith(_TEXTS) or not Path(name).suffix
        rows = place[1][:_MOST_ROWS] if len(names) == 1 else ()
        if not rows:
            yield {"physicalLocation": physical}
        for row in rows:
            if is_text and row > 0:
                yield {"physicalLocation": {**physical, "region": {"startLine": row}}}
            else:
                where = f"{table or 'event'}:{row}"
                yield {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": where}]}
