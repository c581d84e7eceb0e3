"""An audit as SARIF, the form in which code scanners and pipelines take findings.

Source:
    OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "READ"
"""Name of the folder that places of results begin at."""
_KEPT = ("kind", "setting", "value", "default", "priced", "source")

Content = Mapping[str, Any]


def audit_sarif(content: Content, version: str) -> dict[str, object]:
    """The SARIF log of an audit: a result for each setting, at its line, with what to write instead.

    Args:
        content: Path and findings as JSON values.
        version: Of this program.
    """
    path = Path(content["path"])
    rules: dict[str, dict[str, object]] = {}
    for item in content["findings"]:
        rule = {
            "id": item["rule"],
            "shortDescription": {"text": item["says"]["en"]},
            "help": {"text": _do(item)},
        }
        rules.setdefault(item["rule"], rule)
    places = {name: place for place, name in enumerate(rules)}
    invocation: dict[str, object] = {"executionSuccessful": True}
    if messages := [{"level": "note", "message": {"text": text}} for text in content["notes"]]:
        invocation["toolExecutionNotifications"] = messages
    run = {
        "tool": {"driver": {"name": "tunegraph", "version": version, "rules": list(rules.values())}},
        "invocations": [invocation],
        "originalUriBaseIds": {_BASE: {"uri": f"{path.resolve().parent.as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, places[item["rule"]], path) for item in content["findings"]],
    }
    return {"$schema": _SCHEMA, "version": VERSION, "runs": [run]}


def _result(item: Content, number: int, path: Path) -> dict[str, object]:
    said = (f"{item['setting']}: {item['says']['en']}", item["cost"].get("en"), _do(item))
    file = Path(item["file"] or path.name)
    place = {"uri": file.as_uri()} if file.is_absolute() else {"uri": quote(str(file)), "uriBaseId": _BASE}
    physical: dict[str, object] = {"artifactLocation": place}
    if item["line"] is not None:
        physical["region"] = {"startLine": item["line"]}
    return {
        "ruleId": item["rule"],
        "ruleIndex": number,
        "level": item["level"],
        "message": {"text": ". ".join(filter(None, said))},
        "locations": [{"physicalLocation": physical}],
        "properties": {name: item[name] for name in _KEPT},
    }


def _do(item: Content) -> str:
    remedy = item["remedy"]
    if "write" in remedy:
        return f"write {remedy['write']}"
    return f"remove {', '.join(remedy['remove'])}" if "remove" in remedy else ""
