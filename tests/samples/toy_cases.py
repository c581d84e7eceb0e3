"""Cases of a kernel that is none, as lines of a file."""

import json
from pathlib import Path


def line(value: float, *, block: int = 64, source: str = "a/b", **more: object) -> str:
    record = {
        "task": {"kind": "kernel", "op": "toy", "shape": {"M": 128}},
        "hardware": {"name": "NVIDIA A100-SXM4-80GB"},
        "config": {"block": block},
        "outcome": {"metric": "kernel_time", "unit": "ms", "value": value, "status": "ok"},
        "source": {"repo": source},
        **more,
    }
    return json.dumps(record) + "\n"


def write_cases(path: Path, sizes: range) -> Path:
    file = path.parent / f"{sizes.start}.jsonl"
    records = [
        {
            "task": {"kind": "kernel", "op": "toy", "shape": {"M": size}},
            "hardware": {"name": "NVIDIA A100-SXM4-80GB"},
            "config": {"block": 8},
            "outcome": {"metric": "kernel_time", "unit": "ms", "value": 1.0, "status": "ok"},
            "source": {"repo": "a/b"},
        }
        for size in sizes
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file
