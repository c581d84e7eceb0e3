from pathlib import Path

import numpy as np
import pytest

from embeddings.vector_log import HEADER_BYTES, VectorLog, read_header, write_log
from kg.errors import IndexMismatchError, WorkspaceError

D = 6
RECORD = 16 + 4 * D


def rows(*keys: int) -> tuple[np.ndarray, np.ndarray]:
    vectors = np.arange(len(keys) * D, dtype=np.float32).reshape(len(keys), D) + keys[0]
    return np.array(keys, dtype=np.int64), vectors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    log = VectorLog(tmp_path / "vectors.log", D, "hash")
    for batch, keys in ((1, (1, 2)), (2, (3,)), (5, (4, 5, 6))):
        log.append(rows(*keys)[0], batch, rows(*keys)[1])
    log.close()
    return tmp_path / "vectors.log"


def test_rows_come_back_as_they_went_in(path: Path) -> None:
    log = VectorLog(path, D, "hash", read_only=True)
    keys, batches, vectors = log.rows(0, len(log))
    assert keys.tolist() == [1, 2, 3, 4, 5, 6]
    assert batches.tolist() == [1, 1, 2, 5, 5, 5]
    assert np.array_equal(vectors[3:], rows(4, 5, 6)[1])
    assert log.keys(np.array([5, 0])).tolist() == [6, 1]
    assert path.stat().st_size == HEADER_BYTES + 6 * RECORD


def test_rows_of_later_batches_are_a_tail(path: Path) -> None:
    log = VectorLog(path, D, "hash", read_only=True)
    assert [log.visible(batch) for batch in (None, 9, 5, 4, 2, 1, 0)] == [6, 6, 6, 3, 3, 2, 0]


@pytest.mark.parametrize("kept", [1, 15, 17, RECORD - 1])
def test_a_torn_record_is_ignored_by_readers_and_cut_by_the_writer(path: Path, kept: int) -> None:
    with path.open("ab") as stream:
        stream.write(b"\1" * kept)
    reader = VectorLog(path, D, "hash", read_only=True)
    assert len(reader) == 6
    assert path.stat().st_size == HEADER_BYTES + 6 * RECORD + kept
    writer = VectorLog(path, D, "hash")
    assert path.stat().st_size == HEADER_BYTES + 6 * RECORD
    writer.append(rows(7)[0], 6, rows(7)[1])
    assert reader.rows(6, 7)[0].tolist() == [7]


def test_a_log_cut_off_within_its_header_is_begun_anew(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(100)
    assert len(VectorLog(path, D, "hash")) == 0


def test_another_encoder_or_dimension_is_refused(path: Path) -> None:
    for dimension, encoder in ((D, "other"), (D + 1, "hash")):
        with pytest.raises(IndexMismatchError, match="hash"):
            VectorLog(path, dimension, encoder)


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.log"
    path.write_bytes(b"\xff" * 5000)
    with pytest.raises(WorkspaceError, match="not a vector log"):
        VectorLog(path, D, "hash")
    assert path.read_bytes() == b"\xff" * 5000


@pytest.mark.parametrize(
    ("batch", "vectors"),
    [(4, np.zeros((1, D))), (6, np.zeros((1, D + 1))), (6, np.full((1, D), np.nan)), (6, np.zeros((2, D)))],
)
def test_what_does_not_fit_is_refused_and_nothing_written(
    path: Path, batch: int, vectors: np.ndarray
) -> None:
    log = VectorLog(path, D, "hash")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"batch|shape|finite"):
        log.append(np.array([9], dtype=np.int64), batch, vectors.astype(np.float32))
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_adds_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = VectorLog(path, D, "hash")
    before = path.read_bytes()

    def half_then_full(file: int, content: memoryview, at: int) -> int:
        if at == len(before):
            return real(file, content[:10], at)
        with Path("/dev/full").open("wb", buffering=0) as full:
            return full.write(content)

    import os

    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", half_then_full)
    with pytest.raises(WorkspaceError, match="No space left"):
        log.append(rows(7)[0], 6, rows(7)[1])
    assert path.read_bytes() == before


def test_a_reader_changes_nothing(tmp_path: Path, path: Path) -> None:
    missing = VectorLog(tmp_path / "none.log", D, "hash", read_only=True)
    assert len(missing) == 0
    assert missing.rows(0, 10)[2].shape == (0, D)
    assert not (tmp_path / "none.log").exists()
    with pytest.raises(WorkspaceError, match="reading only"):
        VectorLog(path, D, "hash", read_only=True).append(rows(7)[0], 6, rows(7)[1])


def test_a_reader_keeps_what_a_new_log_replaced(path: Path) -> None:
    reader = VectorLog(path, D, "hash", read_only=True)
    write_log(path, D + 2, "new", [(np.array([1]), 5, np.ones((1, D + 2), np.float32))])
    assert len(reader) == 6
    assert read_header(path)["encoder"] == "new"
    assert VectorLog(path, D + 2, "new").rows(0, 1)[1].tolist() == [5]
    assert list(path.parent.iterdir()) == [path]
