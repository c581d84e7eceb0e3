"""LLMPerf summaries."""

from pathlib import Path

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case


def ingest(names: NameResolver, path: Path, hardware: str = "") -> tuple[list[Case], list[FileReport]]:
    items = list(read([path], names, hardware=hardware))
    reports = [item for item in items if isinstance(item, FileReport)]
    return [item for item in items if isinstance(item, Case)], reports


def test_llmperf_says_what_is_missing(names: NameResolver, shared: Path) -> None:
    cases, reports = ingest(names, shared / "formats/llmperf/anyscale_7b.json")
    assert cases == []
    assert [report.bad for report in reports] == [1]
    assert "names neither hardware nor configuration" in reports[0].faults[0].reason


def test_llmperf_with_hardware_told_gives_four_means(names: NameResolver, shared: Path) -> None:
    cases, reports = ingest(names, shared / "formats/llmperf/anyscale_7b.json", hardware="A100")
    values = {case.measurement.metric: case.measurement.value for case in cases}
    assert values == {
        "tpot": 0.01887842475580952,
        "ttft": 0.22518338954666584,
        "e2e_latency": 2.947270269773333,
        "throughput": 198.25122608178637,
    }
    assert dict(cases[0].configuration) == {"framework": "anyscale"}
    assert cases[0].measurement.repeats == 150
    assert "no configuration in the file" in reports[0].guesses[0]
