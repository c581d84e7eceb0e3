"""``tunegraph kb pull``: public corpora from a server on the loopback address, whole or not at all."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line
from tests.unit.ingest.corpora.publisher import Publisher, archive, digest_of, publishing, sha256

TABLES = {
    f"configs/E=8,N={width},device_name=NVIDIA_H200.json": json.dumps({"64": {"BLOCK_SIZE_M": 64}}).encode()
    for width in (1792, 3584)
}
ROWS = {f"{name}.jsonl": case_line(1.5, block=block).encode() for name, block in (("one", 8), ("two", 16))}
MORE = {"three.jsonl": case_line(1.25, block=32).encode()}


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    with publishing() as server:
        server.files = {"tables.tar.gz": archive(TABLES | {"README": b""}), **ROWS, **MORE}
        yield server


@pytest.fixture
def catalogue(publisher: Publisher, tmp_path: Path) -> Path:
    """A corpus of an archive, one of two files and one of one."""
    common = {"source": "https://github.com/someone/tables", "commit": "abc", "licence": "Apache-2.0"}
    path = tmp_path / "catalogue.yaml"
    whole = {
        "address": f"{publisher.address}tables.tar.gz",
        "take": ["configs/*.json"],
        "digest": digest_of(TABLES),
    }
    entries = [
        {
            **common,
            **(
                whole
                if files is TABLES
                else {"address": publisher.address, "files": {n: sha256(c) for n, c in files.items()}}
            ),
            "id": name,
            "title": title,
            "reader": reader,
            "rows": len(files),
            "bytes": sum(map(len, files.values())),
        }
        for name, title, reader, files in (
            ("tables", "Tables of winners", "vllm-fused-moe", TABLES),
            ("rows", "Measured rows", "case-jsonl", ROWS),
            ("more", "One more row", "case-jsonl", MORE),
        )
    ]
    path.write_text(yaml.safe_dump({"corpora": entries}))
    return path


def rows_in(workspace: Path, tmp_path: Path) -> int:
    with Workspace.open(workspace, cache=tmp_path / "cache") as opened:
        rows: int = opened.knowledge.stats()["cases"]["rows"]
    return rows


def test_corpora_arrive_in_one_batch_each(
    run: Any, publisher: Publisher, catalogue: Path, empty_path: Path, tmp_path: Path
) -> None:
    place = {"TUNEGRAPH_CACHE": str(tmp_path / "cache")}
    listed = run("kb", "pull", "--list", "--catalogue", catalogue, workspace=empty_path, environment=place)
    assert publisher.asked == []  # nothing is fetched unasked
    assert "tables" in listed.out
    assert "Apache-2.0" in listed.out
    ran = run("kb", "pull", "--all", "--catalogue", catalogue, workspace=empty_path, environment=place)
    assert ran.code == 0, ran.err
    assert "tables: 2 rows and 2 problems are new, 0 rows were known" in ran.out
    assert "rows: 2 rows and 1 problems are new" in ran.out
    assert "more: 1 rows and" in ran.out
    with Workspace.open(empty_path, cache=tmp_path / "cache") as opened:
        found = opened.knowledge.query(
            "SELECT ?origin ?url ?path ?commit ?licence WHERE { ?batch tg:origin ?origin ."
            " ?problem tg:batch ?batch ; prov:wasDerivedFrom ?source . ?source tg:url ?url ; tg:path ?path ;"
            " tg:commit ?commit ; dcterms:license ?licence } ORDER BY ?origin ?path"
        )
        assert opened.snapshot.batch == 3
    published = [row[1:4] for row in found.rows if row[0] == "tables"]
    assert published == [("https://github.com/someone/tables", path, "abc") for path in sorted(TABLES)]
    again = run(
        "kb", "pull", "tables", "rows", "--catalogue", catalogue, workspace=empty_path, environment=place
    )
    assert again.err.splitlines()[:2] == ["tables is here already", "rows is here already"]
    state = run(
        "kb", "pull", "--list", "--json", "--catalogue", catalogue, workspace=empty_path, environment=place
    ).json
    assert [item["here"] for item in state["corpora"]] == [True, True, True]
    assert not list((tmp_path / "cache" / "corpora").glob("*/*"))  # what was taken in is not kept twice


def test_a_cut_is_gone_on_with_and_leaves_nothing_half_in(
    run: Any, publisher: Publisher, catalogue: Path, empty_path: Path, tmp_path: Path
) -> None:
    place = {"TUNEGRAPH_CACHE": str(tmp_path / "cache")}
    publisher.cut = {"two.jsonl": 30}
    words = ("kb", "pull", "--all", "--catalogue", catalogue)
    broken = run(*words, workspace=empty_path, environment=place)
    assert broken.code == 1
    assert "two.jsonl: broke off after 30 of" in broken.fault
    assert "again goes on from there" in broken.err
    assert rows_in(empty_path, tmp_path) == 3  # of the other two
    assert [line.partition(":")[0] for line in broken.out.splitlines()] == ["tables", "more"]
    publisher.asked.clear()
    assert run(*words, workspace=empty_path, environment=place).code == 0
    assert publisher.asked == ["two.jsonl"]
    assert publisher.ranges == ["bytes=30-"]
    assert rows_in(empty_path, tmp_path) == 5


def test_what_differs_or_moved_stays_out_and_the_others_come(
    run: Any, publisher: Publisher, catalogue: Path, empty_path: Path, tmp_path: Path
) -> None:
    place = {"TUNEGRAPH_CACHE": str(tmp_path / "cache")}
    publisher.files["two.jsonl"] = case_line(9.9, block=16).encode()
    changed = run("kb", "pull", "--all", "--catalogue", catalogue, workspace=empty_path, environment=place)
    assert changed.code == 2
    assert "two.jsonl: SHA-256" in changed.fault
    assert "dropped" in changed.fault
    assert rows_in(empty_path, tmp_path) == 3  # of the other two
    del publisher.files["two.jsonl"]
    gone = run("kb", "pull", "rows", "--catalogue", catalogue, workspace=empty_path, environment=place)
    assert gone.code == 1
    assert "nothing is there any more (HTTP 404)" in gone.fault
    assert rows_in(empty_path, tmp_path) == 3


def test_names_that_are_none(run: Any, catalogue: Path, empty_path: Path) -> None:
    unknown = run("kb", "pull", "nothing", "--catalogue", catalogue, workspace=empty_path)
    assert (unknown.code, unknown.fault) == (2, "no corpus named 'nothing'")
    assert "known: tables, rows, more" in unknown.err
    assert run("kb", "pull", "--catalogue", catalogue, workspace=empty_path).code == 2
