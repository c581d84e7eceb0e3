"""SARIF, held to what its published schema requires and allows."""

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from recommender.report.sarif import audit_sarif


def check(log: dict[str, Any]) -> None:
    """Fail where a log breaks what the schema of SARIF 2.1.0 requires of the parts that are written."""
    assert set(log) == {"$schema", "version", "runs"}  # more is not allowed there
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        rules = [rule["id"] for rule in driver["rules"]]
        assert len(set(rules)) == len(rules)
        assert all(isinstance(item["executionSuccessful"], bool) for item in run["invocations"])
        for base in run["originalUriBaseIds"].values():
            assert urlparse(base["uri"]).scheme == "file"
            assert base["uri"].endswith("/")
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in {"none", "note", "warning", "error"}
            assert rules[result["ruleIndex"]] == result["ruleId"]
            for location in result["locations"]:
                artifact = location["physicalLocation"]["artifactLocation"]
                assert artifact["uriBaseId"] in run["originalUriBaseIds"]
                assert not urlparse(artifact["uri"]).scheme
                assert " " not in artifact["uri"]
                assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1


def finding(rule: str, line: int | None, remedy: dict[str, object]) -> dict[str, object]:
    return {
        "rule": rule, "level": "warning", "line": line, "file": None, "says": {"en": f"{rule} costs"}, "cost": {"en": "2 %"},
        "remedy": remedy, "kind": "cost", "setting": "--a", "value": "1", "default": "0", "priced": None,
        "source": "https://example.org",
    }  # fmt: skip


def test_each_setting_is_a_result_at_its_line_with_what_to_do(tmp_path: Path) -> None:
    findings = [
        finding("eager", 3, {"remove": ["--enforce-eager"]}),
        finding("eager", None, {"write": "--b 2"}),
        finding("blocking", 7, {"remove": ["A", "B"]}),
    ]
    path = tmp_path / "a script.sh"
    log: Any = audit_sarif({"path": str(path), "findings": findings, "notes": ["read so"]}, "1.0")
    check(log)
    [run] = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["eager", "blocking"]
    assert [item["message"]["text"].rpartition(". ")[2] for item in run["results"]] == [
        "remove --enforce-eager", "write --b 2", "remove A, B",
    ]  # fmt: skip
    places = [item["locations"][0]["physicalLocation"] for item in run["results"]]
    assert [place.get("region", {}).get("startLine") for place in places] == [3, None, 7]
    assert places[0]["artifactLocation"]["uri"] == "a%20script.sh"
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "read so"


def test_a_setting_of_another_file_is_a_result_there() -> None:
    items = [{**finding("a", 3, {"remove": ["--a"]}), "file": name} for name in ("ds.json", "/x/ds.json")]
    log: dict[str, Any] = audit_sarif({"path": "a/run.sh", "findings": items, "notes": []}, "1")
    places = [
        item["locations"][0]["physicalLocation"]["artifactLocation"] for item in log["runs"][0]["results"]
    ]
    assert places == [{"uri": "ds.json", "uriBaseId": places[0]["uriBaseId"]}, {"uri": "file:///x/ds.json"}]
