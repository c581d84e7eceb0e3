"""Lines of case files."""

import json


def case_line(
    value: object = 1.5, *, block: int = 64, unit: str = "ms", size: int = 128, **more: object
) -> str:
    """A line of case JSONL."""
    record = {
        "task": {"kind": "kernel", "op": "toy", "shape": {"M": size}},
        "hardware": {"vendor": "nvidia", "name": "NVIDIA A100-SXM4-80GB"},
        "config": {"block": block},
        "outcome": {
            "metric": "kernel_time",
            "unit": unit,
            "value": value,
            "better": "lower",
            "status": "ok",
        },
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
        **more,
    }
    return json.dumps(record) + "\n"
