"""Learns ``data/retrieval/weights.json``: what a difference in each block of features is worth.

    python -m tools.fitting.fit_block_weights --cases DIR --models CACHE [--write]

How it is learned: :mod:`recommender.calibration.similarity_fit`. Collections count by the square root of
their number of questions. The last line gives the transfer regret of the five nearest, on devices that were
not learned from, by words alone, with equal weights, as fitted, and the least that any neighbours would have
given.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.protocols.lines import last_line
from benchmarks.worlds.shipped import ShippedKnowledge
from embeddings.encoder import ProblemEncoder
from embeddings.onnx_export import export
from embeddings.text_encoder import OnnxTextEncoder
from embeddings.weights import BlockWeights
from ingest.reading import read
from kg.nouns.entities import Better, Case
from recommender.calibration.similarity_fit import CostTable, fit_similarity

if TYPE_CHECKING:
    from kg.triples.names import Names

PATH = Path(__file__).parents[2] / "data" / "retrieval" / "weights.json"


def tables(folder: Path, names: Names) -> list[CostTable]:
    """Tables of at least two measured configurations that differ enough to matter."""
    found: dict[str, CostTable] = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for item in read([path], names):
            if not isinstance(item, Case) or not item.measurement.value or item.measurement.value < 0:
                continue
            sign = 1 if item.problem.objective.better is Better.LOWER else -1
            cost = sign * math.log(item.measurement.value)
            table = found.setdefault(item.problem.id, CostTable(path.name.split(".")[0], item.problem, {}))
            table.costs[item.configuration] = min(cost, table.costs.get(item.configuration, math.inf))
    return [table for table in found.values() if len(table.costs) > 1]


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="folder of case JSONL files")
    parser.add_argument("--models", type=Path, required=True, help="cache directory of text models")
    parser.add_argument("--write", action="store_true", help="write data/retrieval/weights.json")
    arguments = parser.parse_args()
    export(arguments.models)
    shipped = ShippedKnowledge.load()
    encoder = ProblemEncoder(shipped.hardware, OnnxTextEncoder(arguments.models), BlockWeights())
    known = tables(arguments.cases, shipped.names)
    print(f"{len(known)} tables")
    fit = fit_similarity(
        known, encoder, shipped.hardware.distance, "tools/fitting/fit_block_weights.py on measured cases"
    )
    if fit is None:
        raise SystemExit("the cases ask too few questions")
    content = {
        "what": "weight of each block of features in a problem's vector; geometric mean 1",
        **fit.similarity.to_json(),
        "log_spread_over_fits": fit.spread,
        "measured": list(fit.folds),
    }
    if arguments.write:
        PATH.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    means = {k: round(float(np.mean([fold[k] for fold in fit.folds])), 4) for k in fit.folds[0]}
    print(json.dumps(content, indent=2))
    last_line({"transfer_regret_k5": means})


if __name__ == "__main__":
    main()
