"""Files made to do harm: they cost little, break nothing, and what is wrong with them is told."""

import json
import os
import subprocess
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.reading import FileReport, discover, read
from kg.errors import InputError
from kg.nouns.entities import Case
from tests.quiet_machine import cpu_seconds

BAD_ROWS = 20_000


def reports(path: Path, names: NameResolver) -> list[FileReport]:
    return [item for item in read([path], names) if isinstance(item, FileReport)]


@pytest.mark.long
def test_very_many_bad_rows_cost_neither_memory_nor_words(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "bad.jsonl"
    bad = json.dumps({"task": {"op": "x"}, "outcome": {}, "note": "y" * 1200}) + "\n"
    with path.open("w") as stream:
        for _ in range(BAD_ROWS // 1000):
            stream.write(bad * 1000)
    assert path.stat().st_size > 20e6
    started = time.process_time()
    tracemalloc.start()
    [report] = reports(path, names)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.good, report.bad, len(report.faults)) == (0, BAD_ROWS, 100)
    assert report.faults[-1].place == "line 100"
    assert peak < 5e6, f"{peak / 1e6:.0f} MB for {path.stat().st_size / 1e6:.0f} MB"
    assert time.process_time() - started < cpu_seconds(20)


def test_a_zip_archive_is_not_unpacked(tmp_path: Path, names: NameResolver) -> None:
    path = tmp_path / "cases.jsonl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"0" * (64 << 20))
    with pytest.raises(InputError, match="a zip archive: unpack it first"):
        reports(path, names)


def test_a_yaml_bomb_in_a_mapping_is_refused(tmp_path: Path, names: NameResolver) -> None:
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    (tmp_path / "runs.mapping.yaml").write_text(f"format: tunegraph-mapping\nl0: &l0 [x]\n{levels}")
    started = time.process_time()
    report = next(item for item in reports(tmp_path, names) if item.path.suffix == ".csv")
    assert "values with its aliases written out" in report.faults[0].reason
    assert time.process_time() - started < cpu_seconds(10)


@pytest.mark.parametrize(
    ("name", "start", "beside"),
    [
        ("run.yaml", "runner_config: {batch_size: 1}\nparallel_config: {data_parallel: 1}\n", "README.md"),
        ("reuse.yaml", "reuse:\n- table: gemm\n  from_version: 1.3.0\n", ""),
        ("collection_meta.yaml", "framework: vllm\n", ""),
    ],
)
def test_a_yaml_bomb_is_refused_wherever_yaml_is_read(
    name: str, start: str, beside: str, tmp_path: Path, names: NameResolver
) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    (tmp_path / name).write_text(f"{start}l0: &l0 [x]\n{levels}")
    if beside:
        card = "| Config | Task | SeqLength | Performance | Phase |\n|---|---|---|---|---|\n"
        card += f"| [model]({name}) | text | 4096 | 100 tokens/s/p | finetune |\n"
        (tmp_path / beside).write_text(f"由 Atlas 800T A2 硬件环境下\n\n{card}")
    started = time.process_time()
    found = reports(tmp_path, names)
    assert sum(item.good for item in found) == 0
    assert time.process_time() - started < cpu_seconds(10)
    if beside:
        assert "aliases" in next(item for item in found if item.faults).faults[0].reason


def test_links_in_circles_and_folders_without_end_end(tmp_path: Path, names: NameResolver) -> None:
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(1500):  # deeper than Python recurses, made from within
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    try:
        found = discover([tmp_path])
        assert [item.format for item in found] == [None] * len(found)
        assert any("levels deep" in item.skipped for item in found)
        assert not [item for item in read([tmp_path], names) if isinstance(item, Case)]
    finally:  # the clean-up of pytest recurses, and would fail in a later run
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_pipe_is_not_waited_for(tmp_path: Path, names: NameResolver) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    [report] = reports(tmp_path, names)
    assert report.skipped == "no regular file"
