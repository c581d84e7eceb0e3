"""SARIF, held to what its published schema requires and allows."""

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from kg.nouns.knowledge import FaultPattern
from recommender.diagnosis.logs import read_log
from recommender.report import sarif
from recommender.report.sarif import diagnosis_sarif, faults_sarif
from recommender.store.shipped_knowledge import knowledge

KNOWN = [noun for noun in knowledge() if isinstance(noun, FaultPattern)]


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


def test_a_fault_is_an_error_at_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "train 1.log"
    path.write_text(
        "ok\nNVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.\nCUDA out of memory\nCUDA out of memory\n"
    )
    seen = [item.to_json() for item in read_log(path, KNOWN).faults]
    log: Any = faults_sarif({"path": str(path), "faults": seen}, "1.0")
    check(log)
    [run] = log["runs"]
    spots = {
        item["ruleId"]: [
            (
                place["physicalLocation"]["artifactLocation"]["uri"],
                place["physicalLocation"]["region"]["startLine"],
            )
            for place in item["locations"]
        ]
        for item in run["results"]
    }
    assert spots == {
        "xid-fallen-off-the-bus": [("train%201.log", 2)],
        "cuda-out-of-memory": [("train%201.log", 3), ("train%201.log", 4)],
    }
    assert {item["level"] for item in run["results"]} == {"error"}


def test_rows_that_are_no_lines_are_logical_locations(tmp_path: Path) -> None:
    def spots(file: str) -> list[dict[str, Any]]:
        return list(sarif._locations((file, (7,)), tmp_path))

    [table] = spots("rank0/analysis.db#StepTraceTime")
    assert table["logicalLocations"] == [{"fullyQualifiedName": "StepTraceTime:7"}]
    assert table["physicalLocation"]["artifactLocation"]["uri"] == "rank0/analysis.db"
    [event] = spots("trace.json.gz")
    assert event["logicalLocations"] == [{"fullyQualifiedName": "event:7"}]
    assert spots("kernel_details.csv")[0]["physicalLocation"]["region"] == {"startLine": 7}
    both = spots("9_kernel_trace.csv, 9_memory_copy_trace.csv")
    assert [spot["physicalLocation"]["artifactLocation"]["uri"] for spot in both] == [
        "9_kernel_trace.csv",
        "9_memory_copy_trace.csv",
    ]


def test_causes_are_warnings_at_their_rows(shipped: Any, tmp_path: Path) -> None:
    home = tmp_path / "run" / "host_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    home.mkdir(parents=True)
    rows = [f"7,Cast_{i},Cast,AI_VECTOR_CORE,{1700000000 + 100 * i},100,0.5,24" for i in range(20)]
    head = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim"
    (home / "kernel_details.csv").write_text("\n".join([head, *rows]) + "\n")
    log: Any = diagnosis_sarif(shipped.diagnose(tmp_path / "run").to_json(), "1.0")
    check(log)
    [first, *_] = log["runs"][0]["results"]
    assert (first["ruleId"], first["level"]) == ("cast-traffic", "warning")
    assert first["locations"][0]["physicalLocation"]["region"]["startLine"] >= 2
