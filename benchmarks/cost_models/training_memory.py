"""Measures the error on the memory of training, beside peaks that public projects print.

    python -m benchmarks.cost_models.training_memory [--asked FILE]

``training_peaks.csv`` has peaks from documentation, each with its source; what an allocator printed leaves out what the
device's own context and libraries take (docs/figures-notes.md). ``--asked`` adds measured training steps of another
file, whose rows need a model of the graph. Nothing is fitted to any of them, but mechanisms were chosen with the shipped
ones in view.
"""

import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from benchmarks import harness
from benchmarks.worlds.shipped import ShippedKnowledge, expressible
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.fit.measurements import read_rows
from recommender.cost_model.settings.plans import CHOICES, TRAINING
from recommender.cost_model.workloads.memory_fit import memory_bytes

RESERVED = {False: 1.045, True: 1.21}
"""Memory that PyTorch's allocator reserves over the peak, without and with recomputation: medians of 18 and
9 runs on an H100 (1.02 to 1.15, 1.12 to 1.28; own_gpu.py)."""
PEAKS = Path(__file__).with_name("training_peaks.csv")


def read_published(path: Path) -> list[dict[str, str]]:
    """Rows with a peak, by the names of ``training_peaks.csv``."""
    rows = read_rows(path)
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


def held_gb(row: dict[str, str], known: ShippedKnowledge) -> dict[str, float]:
    """Parts of the memory that a row's training takes."""
    said = dict(word.split("=") for word in row["settings"].split())
    settings = {n: v for n, v in said.items() if n in {"tp", "pp", "cp", "ep", "zero_stage", *TRAINING}}
    settings |= {name: row[name] for name in ("seq_len", "micro_batch")}
    model = known.model(row["model"])
    sizes = {name: float(row.get(name) or getattr(model, name)) for name in ("layers", "experts")}
    reserved = PHYSICS["reserved_bytes" if "Ascend" in row["source"] else "gpu_reserved_bytes"]
    model = replace(model, layers=sizes["layers"], experts=sizes["experts"])
    parts = memory_bytes(model, "training", [settings], int(row["devices"]), reserved=reserved)
    return {name: float(part[0]) / 1e9 for name, part in parts.items()}


def main() -> None:
    chosen = harness.read(__doc__, harness.place("--asked", help="measured training steps", required=False))
    known = ShippedKnowledge.load()
    rows = read_published(PEAKS) + (read_published(chosen.asked) if chosen.asked else [])
    found, refused = expressible(rows, lambda row: held_gb(row, known))
    logs: dict[str, list[float]] = defaultdict(list)
    for row, held in found:
        said, measured = row["settings"], float(row["peak_gb"])
        ours = sum(held.values()) - (held["reserved"] if row["reading"] in {"allocator", "reserved"} else 0.0)
        if row["reading"] == "reserved":
            ours *= RESERVED["recompute" in said]
        kind = "4-bit LoRA" if "frozen_bits" in said else "LoRA" if "lora_rank" in said else "all weights"
        of = row["source"].split()[0].split("/")[0] if "group" not in row else row["group"]
        for name in ("all", of, kind):
            logs[name].append(math.log(ours / measured))
        print(f"  {row['model']} {row['devices']} x {row['micro_batch']} x {row['seq_len']} {said}: {ours:.1f} for "
              f"{measured:.1f} GB; " + ", ".join(f"{name} {part:.1f}" for name, part in held.items()))  # fmt: skip
    figures = {name: harness.accuracy(errors) for name, errors in logs.items()}
    chosen.last_line({"groups": figures, "refused": sum(map(len, refused.values()))}, n=len(rows))


if __name__ == "__main__":
    main()
