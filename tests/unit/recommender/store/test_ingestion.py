"""Files that are known, sources that are trusted, rows that repeat others."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.formats.kernels import fused_moe
from kg.nouns.entities import Source, Trust
from kg.triples.serialisation import all_of
from recommender.store.ingestion import Options
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line


@pytest.fixture
def workspace(empty_path: Path) -> Iterator[Workspace]:
    with Workspace.open(empty_path, cache=empty_path.parent / "cache") as opened:
        yield opened


def test_a_file_taken_in_whole_is_not_read_again(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line(1.0) + case_line(2.0, block=32))
    workspace.ingest(file)
    batch = workspace.snapshot.batch
    second = workspace.ingest(file)
    assert (second.known_files, second.added.repeated, workspace.snapshot.batch) == (1, 2, batch)
    again = workspace.ingest(file, options=Options(again=True))
    assert (again.known_files, again.added.repeated, workspace.snapshot.batch) == (0, 2, batch)
    assert workspace.knowledge.try_out([file]).known_files == 0


def test_what_changed_or_lies_elsewhere_is_read(workspace: Workspace, tmp_path: Path) -> None:
    content = json.dumps({"1": {"BLOCK_SIZE_M": 16}})
    one = tmp_path / "E=8,N=64,device_name=NVIDIA_A100-SXM4-80GB.json"
    one.write_text(content)
    workspace.ingest(one)
    other = tmp_path / "E=8,N=64,device_name=NVIDIA_H100_80GB_HBM3.json"
    other.write_text(content)
    assert workspace.ingest(tmp_path).added.problems == 1
    one.write_text(json.dumps({"1": {"BLOCK_SIZE_M": 32}}))
    assert workspace.ingest(tmp_path).added.rows == 1


MAPPING = """
format: tunegraph-mapping
version: 1
task: {kind: operator, op: gemm}
hardware: {name: A100}
config: {tile: {column: tile}}
metrics: [{column: time, metric: latency, unit: UNIT}]
"""
REPORT = json.dumps({"trial_id": "a", "training_iteration": 1, "latency_ms": 2.0, "done": True})


@pytest.mark.parametrize(
    ("main", "content", "side", "before", "after"),
    [
        ("t.csv", "tile,time\n16,3.5\n", "t.mapping.yaml", MAPPING, MAPPING.replace("UNIT", "ms")),
        ("result.json", REPORT, "params.json", '{"a": 1}', '{"a": 2}'),
    ],
)
def test_a_side_file_that_changed_is_noticed(
    main: str, content: str, side: str, before: str, after: str, workspace: Workspace, tmp_path: Path
) -> None:
    options = Options(hardware="A100")
    folder = tmp_path / "gemm_a100" / "trial"
    folder.mkdir(parents=True)
    (folder / main).write_text(content)
    (folder / side).write_text(before.replace("UNIT", "us"))
    first = workspace.ingest(tmp_path, options=options)
    assert (first.bad, first.good) == (0, 1), first.to_json()
    batch = workspace.snapshot.batch
    assert workspace.ingest(tmp_path, options=options).added.rows == 0
    assert workspace.snapshot.batch == batch
    (folder / side).write_text(after)
    changed = workspace.ingest(tmp_path, options=options)
    assert (changed.bad, changed.added.rows) == (0, 1), changed.to_json()


def test_a_log_beside_a_database_is_noticed(workspace: Workspace, tmp_path: Path, shared_cases: Path) -> None:
    study = tmp_path / "gemm_a100.sqlite3"
    shutil.copy(shared_cases.parent / "formats" / "optuna" / "studies.sqlite3", study)
    options = Options(hardware="A100")
    first = workspace.ingest(study, options=options)
    assert (first.bad, workspace.ingest(study, options=options).known_files) == (0, 1)
    study.with_name(f"{study.name}-wal").write_bytes(b"trials that are not in the file yet")
    told = workspace.ingest(study, options=options)
    assert (told.known_files, told.bad) == (0, 1)


def test_notes_beside_a_table_are_noticed(workspace: Workspace, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {"framework": "VLLM", "device": "NVIDIA H20", "gemm_dtype": "fp8", "m": 1, "n": 2, "latency": 0.5}
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "gemm_perf.parquet")
    assert workspace.ingest(tmp_path).added.rows == 1
    assert workspace.ingest(tmp_path).known_files == 1
    (tmp_path / "reuse.yaml").write_text("reuse:\n- table: gemm_perf\n  from_version: 1.3.0\n")
    told = workspace.ingest(tmp_path)
    assert (told.known_files, told.bad) == (0, 1)


def test_a_file_with_bad_rows_is_read_every_time(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line(1.0) + case_line(-1.0, block=32))
    assert [workspace.ingest(file).bad for _ in range(2)] == [1, 1]


def test_another_option_or_newer_knowledge_reads_again(workspace: Workspace, tmp_path: Path) -> None:
    file, chip = tmp_path / "cases.jsonl", tmp_path / "chip.yaml"
    file.write_text(case_line(1.0, hardware={"name": "A1-64G"}))
    workspace.ingest(file)
    assert workspace.ingest(file, options=Options(hardware="A2")).known_files == 0
    chip.write_text(
        "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - {id: acme-one, level: device, broader: acme, label: {en: Acme One}, aliases: [A1-64G]}\n"
    )
    with workspace.edit() as editor:
        editor.add_file("hardware", chip)
    workspace.refresh()
    assert workspace.ingest(file).added.problems == 1


def test_a_newer_reader_reads_again(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "E=8,N=64,device_name=NVIDIA_A100-SXM4-80GB.json"
    file.write_text(json.dumps({"1": {"BLOCK_SIZE_M": 16}}))
    workspace.ingest(file)
    object.__setattr__(fused_moe.FORMAT, "version", 2)
    try:
        assert workspace.ingest(file).known_files == 0
    finally:
        object.__setattr__(fused_moe.FORMAT, "version", 1)


def test_a_file_whose_rows_are_all_known_is_remembered_too(workspace: Workspace, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(case_line(1.0))
    two.write_text(case_line(1.0) + "\n")
    workspace.ingest(one)
    assert workspace.ingest(two).added.rows == 0
    assert workspace.ingest(tmp_path).known_files == 2


def test_trust_is_set_at_ingest_and_stays_until_told_otherwise(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line(1.0))
    workspace.ingest(file)
    [problem] = workspace.trials.summary(workspace.trials.keys().tolist())
    assert problem.trust is Trust.MEDIUM
    for told, expected in ((Trust.LOW, Trust.LOW), (None, Trust.LOW), (Trust.HIGH, Trust.HIGH)):
        workspace.ingest(file, options=Options(trust=told))
        [problem] = workspace.trials.summary(workspace.trials.keys().tolist())
        [row] = workspace.trials.rows(problem.id)
        [source] = all_of(workspace.graph, Source)
        assert (problem.trust, row.trust, source.trust) == (expected, expected, expected)
        assert source.id == row.source_id
    workspace.ingest(file, options=Options(trust=Trust.MEDIUM))
    assert [source.trust for source in all_of(workspace.graph, Source)] == [Trust.MEDIUM]
    assert workspace.knowledge.validate() == []
    assert workspace.trials.counts().trials == 1


def test_a_problem_is_trusted_as_its_least_trusted_source(workspace: Workspace, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(case_line(1.0))
    bad.write_text(case_line(0.5, source="who/knows"))
    workspace.ingest(good, options=Options(trust=Trust.HIGH))
    workspace.ingest(bad, options=Options(trust=Trust.LOW))
    [problem] = workspace.trials.summary(workspace.trials.keys().tolist())
    assert problem.trust is Trust.LOW
    assert Trust.LOW.weight < Trust.MEDIUM.weight == 1 < Trust.HIGH.weight


def test_a_gain_that_two_sources_tell_counts_once(workspace: Workspace, tmp_path: Path) -> None:
    told: dict[str, Any] = {
        "kind": "published",
        "strategy": "tile-it",
        "baseline": {"value": 2.0, "config": {}},
    }
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text(case_line(1.0, **told))
    two.write_text(case_line(1.0, source="c/d", **told) + case_line(1.5, source="c/d", block=8, **told))
    query = "SELECT ?n { ?e a tg:Effect ; tg:n ?n }"
    for file, expected in ((one, "1"), (two, "2"), (tmp_path, "2")):
        workspace.ingest(file)
        assert workspace.knowledge.query(query).rows == ((expected,),)
    [key] = workspace.trials.keys().tolist()
    assert workspace.trials.counts().trials == 3
    assert len(workspace.trials.table(key)) == 2
