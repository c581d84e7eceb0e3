"""Measure the shipped C kernel on this machine: every configuration of a space, on several shapes, as cases.

    python -m tools.sweep_kernel --hardware xeon-virtual-6-167 \
        --out data/cases/blocked_matmul.jsonl.gz [--quick]

Configurations are built once and run on all shapes, in random order (seed 0), so that a drift of the machine
favours none. A time is the mean over the repeats of the longest CPU time of a thread, after one warm-up run.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TextIO

from benchmarks.protocols.lines import last_line
from benchmarks.protocols.processes import ROOT

KERNEL = ROOT / "data" / "kernels" / "matmul.c"
SHAPES = ((512, 512, 512), (2048, 64, 512), (256, 1024, 256))
REPEATS = 5
BUILT = ("flags", "tile_m", "tile_n", "tile_k", "rows", "pack")


def configurations() -> list[dict[str, object]]:
    """Every configuration that keeps the rule of the kernel, ROWS dividing TILE_M."""
    return [
        {
            "flags": flags, "tile_m": tile_m, "tile_n": tile_n, "tile_k": tile_k, "rows": rows, "pack": pack,
            "threads": threads,
        }
        for flags in ("-O2", "-O3", "-O3 -march=native")
        for tile_m in (4, 64)
        for rows in (1, 4, 8)
        if tile_m % rows == 0
        for tile_n in (32, 128, 512)
        for tile_k in (32, 128, 512)
        for pack in (0, 1)
        for threads in (1, 2)
    ]  # fmt: skip


def build(config: dict[str, object], binary: Path) -> str:
    """Compile one configuration; returns what went wrong, or nothing."""
    defines = [f"-D{name.upper()}={config[name]}" for name in BUILT[1:]]
    command = ["cc", "-std=c11", *shlex.split(str(config["flags"])), *defines]
    done = subprocess.run(
        [*command, str(KERNEL), "-o", str(binary), "-pthread", "-lm"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:200]


def processor() -> str:
    """Name, family and model that the processor reports."""
    told: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        told.setdefault(name.strip(), value.strip())
    return f"{told.get('model name', 'unknown')} family {told.get('cpu family')} model {told.get('model')}"


def compiler() -> str:
    """Version of gcc."""
    return subprocess.run(
        ["cc", "-dumpfullversion"], capture_output=True, text=True, check=True
    ).stdout.strip()


def open_text(path: Path) -> TextIO:
    """A text file to write, packed where its name ends in ``.gz``."""
    return (
        gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8")
    )


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hardware", required=True, help="node of the hardware tree that this machine is")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the space")
    options = parser.parse_args()
    chosen = configurations()
    random.Random(0).shuffle(chosen)
    chosen = chosen[: len(chosen) // 20] if options.quick else chosen
    groups: dict[str, list[dict[str, object]]] = {}
    for config in chosen:
        groups.setdefault(json.dumps([config[name] for name in BUILT]), []).append(config)
    software = {"gcc": compiler()}
    reported, started, written = processor(), time.monotonic(), 0
    with open_text(options.out) as stream, tempfile.TemporaryDirectory() as place:
        binary = Path(place) / "matmul"
        for members in groups.values():
            fault = build(members[0], binary)
            for config in members:
                for m, n, k in SHAPES:
                    outcome: dict[str, object] = {"metric": "kernel_time", "unit": "s", "better": "lower"}
                    if fault:
                        outcome |= {"value": None, "status": "failed", "reason": fault}
                    else:
                        command = [str(binary), str(m), str(n), str(k), str(config["threads"]), str(REPEATS)]
                        done = subprocess.run(command, capture_output=True, text=True, check=True)
                        told = json.loads(done.stdout)
                        outcome |= {
                            "value": told["time_s"],
                            "status": "ok",
                            "std": told["stdev_s"],
                            "n": REPEATS,
                        }
                    record = {
                        "kind": "measured",
                        "task": {
                            "kind": "kernel",
                            "op": "blocked_matmul",
                            "shape": {"M": m, "N": n, "K": k},
                            "dtype": "float32",
                        },
                        "hardware": {"name": options.hardware, "reported_name": reported, "count": 1},
                        "config": config,
                        "outcome": outcome,
                        "software": software,
                        "source": {
                            "title": "tunegraph: the C kernel data/kernels/matmul.c, measured",
                            "path": "data/kernels/matmul.c",
                            "licence": "Apache-2.0",
                            "note": (
                                "two virtual cores shared with other work, low priority; time: longest CPU"
                                " time of a thread, mean of 5 after a warm-up"
                            ),
                        },
                    }
                    stream.write(json.dumps(record, separators=(",", ":")) + "\n")
                    written += 1
    took = time.monotonic() - started
    last_line({"rows": written, "configurations": len(chosen), "shapes": len(SHAPES), "wall_s": round(took)})


if __name__ == "__main__":
    main()
