"""Memory snapshots of PyTorch, in the form that its documentation gives."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from ingest.profiles.folders import read_profile
from ingest.profiles.memory_snapshots import BEFORE, WITHOUT_STACK, category_of, read_snapshot
from kg.errors import InputError

MIB = 1 << 20
FORWARD = [{"filename": "/env/torch/nn/modules/linear.py", "line": 9, "name": "forward"}]
ADAM = [{"filename": "/env/torch/optim/adam.py", "line": 9, "name": "step"}, *FORWARD]


def event(action: str, address: int, size: int, frames: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames or []}


def snapshot() -> dict[str, Any]:
    """40 MiB from before; 30 of a forward pass, released; 20 of the optimiser; a release of what was before."""
    trace = [
        event("segment_alloc", 900, 60 * MIB),
        event("alloc", 1, 30 * MIB, FORWARD),
        event("alloc", 2, 5 * MIB),
        event("free_requested", 1, 30 * MIB),
        event("free_completed", 1, 30 * MIB),
        event("alloc", 3, 20 * MIB, ADAM),
        event("free_completed", 77, 10 * MIB),
        event("segment_free", 901, 20 * MIB),
    ]
    held = {"device": 0, "address": 5, "total_size": 80 * MIB, "allocated_size": 55 * MIB, "blocks": []}
    return {"segments": [held], "device_traces": [trace, []]}


def write(path: Path, content: object) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def test_what_was_held_follows_from_the_end_and_the_events(tmp_path: Path) -> None:
    [device] = read_snapshot(write(tmp_path / "s.pickle", snapshot()), "s.pickle")
    assert (device.use.peak_reserved_mb, device.use.peak_allocated_mb) == (100, 75)
    assert (device.use.returned_mb, device.use.allocations) == (20, 3)
    assert [(m.component, m.at_peak_mb, m.peak_mb, m.last_mb) for m in device.modules] == [
        (BEFORE, 40, 40, 30),
        ("forward", 30, 30, 0),
        (WITHOUT_STACK, 5, 5, 5),
        ("optimizer", 0, 20, 20),
    ]


def test_the_same_as_json(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(snapshot()))
    [rank] = read_profile(path).ranks
    assert rank.memory is not None
    assert (rank.layout, rank.memory.peak_allocated_mb) == ("memory snapshot", 75)


class Hostile:
    """Runs a command when it is unpickled as usual."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path: Path) -> None:
    mark = tmp_path / "was_here"
    path = write(tmp_path / "s.pickle", {**snapshot(), "total_size": Hostile(mark)})
    with pytest.raises(InputError, match="system: it is no snapshot"):
        read_profile(path)
    assert not mark.exists()
    pickle.loads(path.read_bytes())  # noqa: S301  the control: it does run where it is not refused
    assert mark.exists()


@pytest.mark.parametrize("size", [150, 500])
def test_a_damaged_one_is_told_in_a_line(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "s.pickle", snapshot())
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError, match="no snapshot that can be read"):
        read_profile(path)


def test_it_completes_the_rank_of_a_trace_beside_it(tmp_path: Path) -> None:
    kernel = {
        "ph": "X",
        "cat": "kernel",
        "name": "gemm",
        "ts": 1,
        "dur": 5,
        "pid": 0,
        "tid": 7,
        "args": {"stream": 7},
    }
    (tmp_path / "trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [kernel]}))
    write(tmp_path / "memory.pickle", snapshot())
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert rank.memory is not None
    assert rank.memory.peak_allocated_mb == 75


def test_the_name_of_the_file_tells_the_rank(tmp_path: Path) -> None:
    for number in (0, 3):
        write(tmp_path / f"rank{number}_memory.pickle", snapshot())
    assert [rank.rank for rank in read_profile(tmp_path).ranks] == [0, 3]


@pytest.mark.parametrize(
    ("file", "name", "category"),
    [
        ("/env/torch/optim/sgd.py", "step", "optimizer"),
        ("/env/torch/autograd/graph.py", "_engine_run_backward", "backward"),
        ("/env/torch/utils/data/_utils/pin_memory.py", "pin", "input data"),
        ("/env/torch/distributed/fsdp/_flat_param.py", "unshard", "communication and sharding"),
        ("/env/torch/nn/modules/module.py", "_apply", "parameters"),
        ("app/model.py", "forward", "forward"),
        ("app/main.py", "main", "other"),
    ],
)
def test_categories_follow_from_the_stack(file: str, name: str, category: str) -> None:
    top = {"filename": "app/main.py", "name": "<module>"}
    assert category_of([{"filename": file, "name": name}, top]) == category
