"""Memory timelines of PyTorch: peaks by sort of tensor."""

import gzip
import json
from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile
from kg.errors import InputError

MEGA = 1 << 20
ROWS = [
    [-1, 1, 8 * MEGA, 0],
    [1000, 2, 4 * MEGA, 4],
    [2000, 2, 2 * MEGA, 5],
    [3000, 4, -4 * MEGA, 4],
    [4000, 2, MEGA, 7],
]


def write(folder: Path, rows: object, name: str = "memory_timeline.raw.json.gz") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))
    return path


@pytest.mark.parametrize("name", ["memory_timeline.raw.json.gz", "memory_timeline.raw.gz"])
def test_peak_by_category(tmp_path: Path, name: str) -> None:
    [rank] = read_profile(write(tmp_path, ROWS, name)).ranks
    assert rank.memory is not None
    assert rank.memory.peak_allocated_mb == 14.0
    at_peak = {part.component: part.at_peak_mb for part in rank.details.modules}
    assert at_peak == {"parameters": 8.0, "activations": 4.0, "gradients": 2.0, "other": 0.0}
    assert any("reserved is not in it" in note for note in rank.notes)


def test_odd_rows_are_left_out_and_told(tmp_path: Path) -> None:
    rows = [*ROWS, [5, 1, 7], [5, 1, MEGA, 99], [5, 1, 1 << 61, 0], "x"]
    [rank] = read_profile(write(tmp_path, rows)).ranks
    assert rank.memory is not None
    assert rank.memory.peak_allocated_mb == 14.0
    assert any("4 rows are no changes" in note for note in rank.notes)


def test_a_timeline_of_nothing_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_profile(write(tmp_path, [[1, 1, 0, 0]]))
