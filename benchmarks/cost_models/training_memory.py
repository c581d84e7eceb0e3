"""Measures the error on the memory of training, beside peaks that public projects print.

    python -m benchmarks.cost_models.training_memory [--asked FILE]

``training_peaks.csv`` has peaks from documentation, each with its source; what an allocator printed leaves out what the
device's own context and libraries take (docs/figures-notes.md). ``--asked`` adds measured training steps of another
file, whose rows need a model of the graph. Nothing is fitted to any of them, but mechanisms were chosen with the shipped
ones in view.
"""

import csv
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from kg.errors import TuningError
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.settings.plans import CHOICES, TRAINING
from recommender.cost_model.workloads.memory_fit import memory_bytes

RESERVED = {False: 1.045, True: 1.21}
"""Memory that PyTorch's allocator reserves over the peak, without and with recomputation: medians of 18 and
9 runs on an H100 (1.02 to 1.15, 1.12 to 1.28; own_gpu.py)."""
PEAKS = Path(__file__).with_name("training_peaks.csv")


def read_published(path: Path) -> list[dict[str, str]]:
    """Rows with a peak, by the names of ``training_peaks.csv``."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [_from_step(row) for row in rows if row["peak_memory_mb"]] if "peak_memory_mb" in rows[0] else rows


def _from_step(row: dict[str, str]) -> dict[str, str]:
    """A measured training step by the same names."""
    said = {name: row[name] for name in ("tp", "pp", "cp", "ep") if row[name]}
    # one script, run both ways
    method = row["variant"] if row["variant"] in {"full", "lora"} else row["method"]
    said["zero_stage"] = row["zero"] or "1"
    kind = (
        row["recompute"].split()[0]
        if row["recompute"]
        else "full"
        if row["framework"] == "ms-swift"
        else "none"
    )
    said["recompute"] = kind if kind in CHOICES["recompute"] else "none"
    if "block" in row["recompute"]:
        said["recompute_layers"] = row["recompute"].split()[-1]
    if method == "lora":
        said["lora_rank"] = "8"
    if row["global_batch"]:
        said["global_batch"] = row["global_batch"]
    return {
        "model": row["model"], "devices": row["devices"], "seq_len": row["seq_len"], "source": row["source"],
        "micro_batch": row["micro_batch"] or "1", "layers": row["layers"], "experts": row["experts"], "peak_gb": str(float(row["peak_memory_mb"]) / 1e3 * 1.048576),
        "settings": " ".join(f"{name}={value}" for name, value in said.items()), "reading": "allocator",
        "group": f"{row['framework']}, {method}",
    }  # fmt: skip


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--asked", help="measured training steps", required=False))
    known, missing = ShippedKnowledge.load(), Counter[str]()
    rows = read_published(PEAKS) + (read_published(chosen.asked) if chosen.asked else [])
    logs: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        said = dict(word.split("=") for word in row["settings"].split())
        settings = {n: v for n, v in said.items() if n in {"tp", "pp", "cp", "ep", "zero_stage", *TRAINING}}
        for name in ("seq_len", "micro_batch"):
            settings[name] = row[name]
        try:
            model = known.model(row["model"])
            layers, experts = (
                float(row.get(name) or size)
                for name, size in (("layers", model.layers), ("experts", model.experts))
            )
            model = replace(model, layers=layers, experts=experts)
            parts = memory_bytes(model, "training", [settings], int(row["devices"]),
                                 reserved=PHYSICS["reserved_bytes" if "Ascend" in row["source"] else "gpu_reserved_bytes"])  # fmt: skip
        except (NotExpressibleError, TuningError, ValueError) as refused:
            missing[str(refused)] += 1
            continue
        held = {name: float(part[0]) / 1e9 for name, part in parts.items()}
        ours = sum(held.values()) - (held["reserved"] if row["reading"] in {"allocator", "reserved"} else 0.0)
        if row["reading"] == "reserved":
            ours *= RESERVED["recompute" in said]
        error = float(np.log(ours / float(row["peak_gb"])))
        kind = "4-bit LoRA" if "frozen_bits" in said else "LoRA" if "lora_rank" in said else "all weights"
        for name in (
            "all",
            row["source"].split()[0].split("/")[0] if "group" not in row else row["group"],
            kind,
        ):
            logs[name].append(error)
        print(f"  {row['model']} {row['devices']} x {row['micro_batch']} x {row['seq_len']} {row['settings']}: {ours:.1f} for "
              f"{float(row['peak_gb']):.1f} GB ({np.expm1(error):+.0%}); "
              + ", ".join(f"{name} {part:.1f}" for name, part in held.items()))  # fmt: skip
    for reason, count in missing.items():
        print(f"  {count} refused: {reason}")
    figures = {name: _summary(errors) for name, errors in logs.items()}
    for name, figure in figures.items():
        print(f"{name}: {figure}")
    chosen.last_line({"groups": figures, "refused": sum(missing.values())}, n=len(rows))


def _summary(errors: list[float]) -> dict[str, float]:
    off = 100 * np.abs(np.expm1(errors))
    return {
        "n": len(errors), "median": round(float(np.median(off)), 1), "within_25": round(float(np.mean(off <= 25)), 3),
        "bias": round(float(np.exp(np.median(errors))), 2),
    }  # fmt: skip


if __name__ == "__main__":
    main()
