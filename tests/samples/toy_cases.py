"""Cases of a kernel that is none, as lines of a file."""

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path


def case_line(
    value: object = 1.5,
    *,
    block: int = 64,
    size: int = 128,
    unit: str = "ms",
    device: str = "NVIDIA A100-SXM4-80GB",
    source: str = "a/b",
    **more: object,
) -> str:
    """A measured case as a line of JSON."""
    record = {
        "task": {"kind": "kernel", "op": "toy", "shape": {"M": size}},
        "hardware": {"vendor": "nvidia", "name": device},
        "config": {"block": block},
        "outcome": {"metric": "kernel_time", "unit": unit, "value": value, "better": "lower", "status": "ok"},
        "source": {"repo": source, "path": "c.json", "commit": "d", "licence": "MIT"},
        **more,
    }
    return json.dumps(record) + "\n"


def write_cases(path: Path, sizes: Iterable[int]) -> Path:
    """A file beside a workspace with a case of each size."""
    lines = "".join(case_line(1.0, block=8, size=size) for size in sizes)
    file = path.parent / f"{sha256(lines.encode()).hexdigest()[:12]}.jsonl"
    file.write_text(lines)
    return file
