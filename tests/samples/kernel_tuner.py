"""One search of Kernel Tuner, as its cache and as T4."""

import json
from pathlib import Path
from typing import Any

HEADER: dict[str, Any] = {
    "device_name": "NVIDIA A100-PCIE-40GB",
    "kernel_name": "conv_kernel",
    "problem_size": [64, 64],
    "tune_params_keys": ["bx", "by", "fixed"],
    "tune_params": {"bx": [1, 2, 4], "by": [8, 16], "fixed": [15]},
}


def entry(bx: int, by: int, time: object, **more: object) -> dict[str, object]:
    return {"bx": bx, "by": by, "fixed": 15, "time": time, **more}


ROWS = {
    "1,8,15": entry(1, 8, 2.0, times=[1.0, 2.0, 3.0], nvml_energy=0.5, **{"GFLOP/s": 9.0}),
    "2,8,15": entry(2, 8, "InvalidConfig"),
    "4,8,15": entry(4, 8, "RuntimeFailedConfig"),
    "4,16,15": entry(4, 16, 1e20),
}


def text_of(rows: dict[str, dict[str, object]] = ROWS, header: dict[str, Any] = HEADER) -> str:
    head = json.dumps(header, indent=0)[:-2]
    body = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return f'{head},\n"cache": {{\n{body}}}\n}}'


def cache(tmp_path: Path, text: str, name: str = "conv_A100.json") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def t4(tmp_path: Path, name: str = "conv_A100_T4.json") -> Path:
    kinds = {"InvalidConfig": "constraints", "RuntimeFailedConfig": "runtime"}
    results = []
    for row in ROWS.values():
        time = row["time"]
        configuration = {key: row[key] for key in ("bx", "by", "fixed")}
        results.append(
            {
                "configuration": configuration,
                "times": {"compilation": 3, "runtimes": row.get("times", [])},
                "invalidity": kinds.get(str(time), "correct"),
                "measurements": [{"name": "time", "value": time, "unit": ""}],
            }
        )
    document = {"metadata": {"timeunit": "miliseconds"}, "results": results, "schema_version": "1.0.0"}
    return cache(tmp_path, json.dumps(document, indent=2), name)
