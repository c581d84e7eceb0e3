"""T4 files: results."""

import json
from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from tests.samples.kernel_tuner import cache, t4, text_of
from tests.samples.readings import ingest


def test_t4_tells_the_same_as_the_cache(tmp_path: Path, names: NameResolver) -> None:
    from_t4, report = ingest(names, t4(tmp_path))
    assert (report.format, report.bad) == ("kernel-tuner-t4", 0)
    assert any("hardware 'A100' is taken from the file name" in guess for guess in report.guesses)
    from_cache = [
        case
        for case in ingest(names, cache(tmp_path, text_of()))[0]
        if case.measurement.metric == "kernel_time"
    ]
    for mine, theirs in zip(from_t4, from_cache, strict=True):
        assert mine.configuration == theirs.configuration
        assert mine.measurement.value == theirs.measurement.value
        assert mine.measurement.stdev == theirs.measurement.stdev
        assert mine.measurement.status == theirs.measurement.status


def test_an_unfinished_t4_gives_its_whole_rows(tmp_path: Path, names: NameResolver) -> None:
    path = t4(tmp_path)
    text = path.read_text()
    path.write_text(text[: text.rindex('"configuration"')])
    cases, report = ingest(names, path)
    assert len(cases) == 3
    assert any("unfinished" in guess for guess in report.guesses)


def test_a_later_schema_is_said(tmp_path: Path, names: NameResolver) -> None:
    path = t4(tmp_path)
    for version, said in (("1.0.0", 0), ("1.2.0", 0), ("2.0.0", 1)):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
        cases, report = ingest(names, path)
        assert cases
        assert sum("T4 of schema 2.0.0 is read as 1.0.0" in guess for guess in report.guesses) == said


def test_what_constraints_rule_out_is_forbidden_and_the_rest_failed(
    tmp_path: Path, names: NameResolver
) -> None:
    kinds = ("constraints", "compile", "runtime", "correctness", "timeout")
    results = [
        {
            "configuration": {"bx": k, "by": k % 2},
            "times": {},
            "invalidity": kind,
            "correctness": 0,
            "measurements": [],
        }
        for k, kind in enumerate(kinds)
    ]
    path = tmp_path / "conv_A100_T4.json"
    path.write_text(json.dumps({"results": results, "schema_version": "1.0.0"}))
    statuses = [case.measurement.status for case in ingest(names, path)[0]]
    assert statuses == [Status.FORBIDDEN, *[Status.FAILED] * 3, Status.TIMED_OUT]
