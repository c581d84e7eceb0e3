"""Traces of GPUs, made by hand."""

import gzip
import json
from pathlib import Path


def kernel(name: str, ts: float, dur: float, **args: object) -> dict[str, object]:
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": {"stream": 7, "device": 0, **args}}  # fmt: skip


def write(folder: Path, rank: int, *events: object, **more: object) -> Path:
    path = folder / f"host_{rank}.pt.trace.json.gz"
    content = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}],
               "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": list(events),
               **more}  # fmt: skip
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return path
