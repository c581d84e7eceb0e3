import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embeddings import index_file as building
from embeddings.index import UNINDEXED_ROWS, ProblemIndex
from kg.atomic_files import sha256_of
from kg.errors import IndexMismatchError, WorkspaceError
from kg.rows.trials_file import open_file
from tests.unit.embeddings.nobody import said_by_nobody

D = 16
FILE = "rows.sqlite3"
ROWS = UNINDEXED_ROWS + 500


def vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, D))
    return (centres[rng.integers(40, size=count)] + 0.3 * rng.normal(size=(count, D))).astype(np.float32)


def keys(start: int, count: int) -> NDArray[np.int64]:
    return np.arange(start, start + count, dtype=np.int64)


def nearest(table: NDArray[np.float32], asked: NDArray[np.float32], k: int) -> list[int]:
    order = np.argsort(np.linalg.norm(table - asked, axis=1), kind="stable")
    return [int(row) + 1 for row in order[:k]]


def opened(folder: Path, encoder: str = "hash", *, read_only: bool = False) -> ProblemIndex:
    file = open_file(folder / FILE, read_only=read_only)
    return ProblemIndex(file, folder, D, encoder, read_only=read_only)


def add(index: ProblemIndex, batch: int, start: int, rows: NDArray[np.float32]) -> None:
    index.table.append(keys(start, len(rows)), batch, rows)


def index_file(folder: Path) -> Path:
    (found,) = (folder / "index").glob("*.faiss")
    return found


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with batch 1: indexed vectors."""
    folder = tmp_path_factory.mktemp("built")
    index = opened(folder)
    add(index, 1, 1, vectors(ROWS))
    assert index.catch_up()
    index.table.file.close()
    return folder


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> ProblemIndex:
    """A copy of it."""
    shutil.copytree(built_once, tmp_path, dirs_exist_ok=True)
    return opened(tmp_path)


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    index = opened(tmp_path)
    assert len(index.search(np.zeros(D, np.float32), 5)) == 0
    assert not index.catch_up()
    index.rebuild()
    assert index.verify() == []


def test_few_rows_are_searched_in_the_table_without_faiss(tmp_path: Path) -> None:
    add(opened(tmp_path), 1, 1, vectors(20))
    script = (
        "import sys, pathlib, numpy\nfrom embeddings.index import ProblemIndex\n"
        "from kg.rows.trials_file import open_file\nfolder = pathlib.Path(sys.argv[1])\n"
        "file = open_file(folder / 'rows.sqlite3', read_only=True)\n"
        "index = ProblemIndex(file, folder, 16, 'hash', read_only=True)\n"
        "print(index.catch_up(), len(index.search(numpy.zeros(16, 'f4'), 5)), 'faiss' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "5", "False"]


def test_rows_added_since_are_found_by_readers_at_once(built: ProblemIndex, tmp_path: Path) -> None:
    reader = opened(tmp_path, read_only=True)
    asked = vectors(1, seed=5)[0]
    assert 9001 not in reader.search(asked, 3).keys
    add(built, 2, 9001, asked[None, :])
    assert not built.catch_up()
    assert reader.search(asked, 3).keys[0] == 9001
    assert 9001 not in reader.search(asked, 3, acknowledged=1).keys


def test_rows_of_later_batches_do_not_exist(built: ProblemIndex) -> None:
    asked = vectors(1, seed=5)[0]
    add(built, 2, 5001, vectors(ROWS, seed=1))
    assert built.catch_up()  # they are in the index now, and still do not count
    assert built.search(asked, 9, acknowledged=1).keys.tolist() == nearest(vectors(ROWS), asked, 9)
    assert len(built.search(asked, 9, acknowledged=0)) == 0
    assert built.keys(acknowledged=1).tolist() == list(range(1, ROWS + 1))


def test_an_acknowledged_index_leaves_the_rest_out(built: ProblemIndex, tmp_path: Path) -> None:
    add(built, 2, 5001, vectors(ROWS, seed=1))
    add(built, 3, 9001, vectors(ROWS, seed=2))
    assert built.catch_up(acknowledged=2)
    assert json.loads((tmp_path / "index" / "manifest.json").read_text())["count"] == 2 * ROWS


def test_an_index_of_other_vectors_is_not_used(built: ProblemIndex, tmp_path: Path) -> None:
    """As after an older copy of the rows was put back."""
    built.table.fill(keys(1, ROWS), np.ones(ROWS, np.int64), vectors(ROWS, seed=9))
    other = opened(tmp_path)
    asked = vectors(1, seed=5)[0]
    assert other.search(asked, 9).keys.tolist() == nearest(vectors(ROWS, seed=9), asked, 9)
    assert "other vectors" in other.verify()[0]
    assert other.catch_up()
    assert other.verify() == []


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "garbage", "manifest"])
def test_a_damaged_index_is_found_and_mended(built: ProblemIndex, tmp_path: Path, damage: str) -> None:
    asked = vectors(1, seed=5)[0]
    file = index_file(tmp_path)
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 0x40
        file.write_bytes(content)
    elif damage == "truncate":
        file.write_bytes(content[:-100])
    elif damage == "garbage":
        file.write_bytes(b"\xaa" * len(content))
    elif damage == "remove":
        file.unlink()
    else:
        (tmp_path / "index" / "manifest.json").write_text('{"count": ')
    fresh = opened(tmp_path)
    assert len(fresh.verify()) == 1
    if damage != "flip":  # which only the checksum sees
        assert fresh.search(asked, 9).keys.tolist() == nearest(vectors(ROWS), asked, 9)
    fresh.rebuild()
    assert fresh.verify() == []
    assert opened(tmp_path).search(asked, 9).keys.tolist() == nearest(vectors(ROWS), asked, 9)
    assert built.search(asked, 9).keys.tolist() == nearest(vectors(ROWS), asked, 9)


def test_an_index_that_a_writer_replaces_while_it_is_read_is_no_fault(
    built: ProblemIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = opened(tmp_path, read_only=True)

    def late(path: Path) -> str:
        monkeypatch.setattr(building, "sha256_of", sha256_of)
        add(built, 2, ROWS + 1, vectors(ROWS, seed=1))
        assert built.catch_up()
        return sha256_of(path)

    monkeypatch.setattr(building, "sha256_of", late)
    assert reader.verify() == []


def test_an_index_left_half_written_does_no_harm(built: ProblemIndex, tmp_path: Path) -> None:
    (tmp_path / "index" / "index.new").write_bytes(b"half")
    (tmp_path / "index" / "7-old.faiss").write_bytes(b"left by a crash")
    add(built, 2, 5001, vectors(ROWS, seed=1))
    assert built.catch_up()
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == sorted(
        ["manifest.json", index_file(tmp_path).name]
    )


def test_another_encoder_is_refused(built: ProblemIndex, tmp_path: Path) -> None:
    with pytest.raises(IndexMismatchError):
        opened(tmp_path, "another", read_only=True)


def test_an_index_folder_that_cannot_be_written_is_told(built: ProblemIndex, tmp_path: Path) -> None:
    (tmp_path / "index" / "index.new").mkdir()
    add(built, 2, 5001, vectors(ROWS, seed=1))
    with pytest.raises(WorkspaceError, match="index"):
        built.catch_up()
    assert len(built.search(vectors(1)[0], 5)) == 5


def test_cells_find_what_exact_search_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "FLAT_BELOW", 2000)
    table = vectors(6000)
    index = opened(tmp_path)
    add(index, 1, 1, table[:1500])
    index.catch_up()
    assert json.loads((tmp_path / "index" / "manifest.json").read_text())["nlist"] == 0
    add(index, 2, 1501, table[1500:])
    assert index.catch_up()
    manifest = json.loads((tmp_path / "index" / "manifest.json").read_text())
    assert manifest["nlist"] > 0
    assert manifest["recall"] >= building.RECALL
    asked = 0.8 * vectors(60) + 0.2 * vectors(60, seed=4)
    found = [len({*index.search(one, 20).keys} & {*nearest(table, one, 20)}) / 20 for one in asked]
    # 60 x 20 neighbours at a recall of 0.98 have a standard error of 0.4 points.
    assert np.mean(found) > 0.96
    limited = index.search(asked[0], 20, acknowledged=1).keys
    assert set(limited) <= set(range(1, 1501))
    assert index.verify() == []


def test_a_folder_nobody_may_write_is_read(built: ProblemIndex, tmp_path: Path) -> None:
    add(built, 2, 9001, np.zeros((1, D), np.float32))
    built.table.file.close()
    imports = "import numpy, faiss\nfrom embeddings.index import ProblemIndex\nfrom kg.rows.trials_file import open_file"
    script = (
        "file = open_file(place / 'rows.sqlite3', read_only=True)\n"
        "index = ProblemIndex(file, place, 16, 'hash', read_only=True)\n"
        "print(index.search(numpy.zeros(16, 'f4'), 1).keys)"
    )
    assert said_by_nobody(imports, script, tmp_path, tmp_path / "index") == "[9001]"
