"""Vectors in the file of the rows: each encoder has its own, and what is damaged shows."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from embeddings.vector_table import VectorTable, damaged, forget
from kg.errors import IndexMismatchError, WorkspaceError
from kg.rows.trials_file import TrialsFile, open_file

D = 4


@pytest.fixture
def file(tmp_path: Path) -> Iterator[TrialsFile]:
    opened = open_file(tmp_path / "rows.sqlite3", read_only=False)
    yield opened
    opened.close()


def rows(*values: float) -> NDArray[np.float32]:
    return np.array([[value] * D for value in values], np.float32)


def keys(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def test_vectors_come_back_as_they_went_in_each_batch_a_prefix(file: TrialsFile) -> None:
    table = VectorTable(file, D, "one")
    assert (len(table), table.visible(None)) == (0, 0)
    table.append(keys(7, 3), 1, rows(0.5, 1.5))
    table.append(keys(9), 4, rows(2.5))
    assert [table.visible(batch) for batch in (0, 1, 3, 4, None)] == [0, 2, 2, 3, 3]
    assert table.all_keys(3).tolist() == [7, 3, 9]
    assert table.keys(keys(2, 0)).tolist() == [9, 7]
    assert table.vectors(keys(2, 0))[:, 0].tolist() == [2.5, 0.5]
    assert table.rows(1, 3)[:, 0].tolist() == [1.5, 2.5]


def test_what_is_rolled_back_was_never_there(file: TrialsFile) -> None:
    table = VectorTable(file, D, "one")
    with suppress(KeyboardInterrupt), file.transaction():
        table.append(keys(1), 1, rows(1.0))
        raise KeyboardInterrupt
    table.append(keys(2), 1, rows(2.0))
    assert VectorTable(file, D, "one").all_keys(1).tolist() == [2]


def test_an_encoder_that_follows_leaves_readers_theirs_until_the_next(file: TrialsFile) -> None:
    old, other = VectorTable(file, D, "one"), VectorTable(file, D + 1, "two")
    old.append(keys(1, 2), 1, rows(1.0, 2.0))
    other.fill(keys(1, 2), keys(1, 2), np.ones((2, D + 1), np.float32))
    assert (len(other), other.visible(1)) == (2, 1)
    assert old.rows(0, 2)[:, 0].tolist() == [1.0, 2.0]
    VectorTable(file, D, "three").fill(keys(1), keys(1), rows(3.0))
    with pytest.raises(WorkspaceError, match="end before row 0"):
        old.rows(0, 2)
    assert len(other) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [(rows(np.nan), "not finite"), (rows(1.0, 2.0), "1 keys and vectors")],
)
def test_what_does_not_fit_is_refused(file: TrialsFile, values: NDArray[np.float32], message: str) -> None:
    table = VectorTable(file, D, "one")
    with pytest.raises(ValueError, match=message):
        table.append(keys(1), 1, values)
    table.append(keys(1), 2, rows(1.0))
    with pytest.raises(ValueError, match="batch 1 after batch 2"):
        table.append(keys(2), 1, rows(1.0))
    assert len(table) == 1


def test_a_reader_wants_vectors_of_its_own_encoder(file: TrialsFile) -> None:
    assert len(VectorTable(file, D, "one", read_only=True)) == 0
    VectorTable(file, D, "one").append(keys(1), 1, rows(1.0))
    with pytest.raises(IndexMismatchError, match="made by encoder one, not by two"):
        VectorTable(file, D, "two", read_only=True)


@pytest.mark.parametrize("change", ["problem = 8", "checksum = 8", "vector = zeroblob(16)"])
def test_a_changed_vector_is_found_and_all_can_be_made_again(file: TrialsFile, change: str) -> None:
    table = VectorTable(file, D, "one")
    table.append(keys(1, 2), 1, rows(1.0, 2.0))
    assert damaged(file) == 0
    file.write(f"UPDATE vectors SET {change} WHERE problem = 2")  # noqa: S608 - constants
    assert damaged(file) == 1
    forget(file)
    assert (damaged(file), len(VectorTable(file, D, "one"))) == (0, 0)
