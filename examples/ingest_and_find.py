"""Takes one's own measurements in, and finds the known problems that are like a new one."""

import json
import tempfile
from pathlib import Path

import tunegraph

TIMES_MS = {("NVIDIA H100 80GB HBM3", 4096): (1.9, 1.2), ("NVIDIA A100-SXM4-80GB", 8192): (8.1, 5.9)}


def main() -> None:
    """Print what became of the rows, and the nearest problems."""
    rows = []
    for (device, size), times in TIMES_MS.items():
        for tile, time in zip((64, 128), times, strict=True):
            task = {"kind": "operator", "op": "my_gemm", "shape": {"M": size, "N": 4096, "K": 4096}}
            outcome = {"metric": "latency", "unit": "ms", "value": time, "better": "lower", "status": "ok"}
            case = {"task": task, "hardware": {"name": device, "count": 1}, "config": {"tile": tile}}
            rows.append(json.dumps({**case, "outcome": outcome, "source": {"title": "my runs"}}))
    with tunegraph.open() as workspace, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("\n".join(rows))
        summary = workspace.ingest(file)
        print(f"{summary.added.rows} rows of {summary.added.problems} problems are new")
        shape = {"M": 6144, "N": 4096, "K": 4096}
        problem, _ = workspace.problem({"op": "my_gemm", "shape": shape, "hardware": "NVIDIA H100 80GB HBM3"})
        for item in workspace.similar(problem, k=2):
            print(f"{item.problem.hardware}: {item.device.name.lower()}, distance {item.apart:.2f}")


if __name__ == "__main__":
    main()
