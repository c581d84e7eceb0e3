"""Learns ``data/retrieval/weights.json``: what a difference in each block of features is worth.

    python -m tools.fitting.fit_block_weights --cases DIR --models CACHE [--write]
    python -m tools.fitting.fit_block_weights --cases DIR --left-out [--write]

The second form keeps the weights and learns them anew without each part of the devices and without each
collection, for ``benchmarks/answers/unseen.py``; it reads no text, as that benchmark.

How it is learned: :mod:`recommender.calibration.similarity_fit`. Collections count by the square root of
their number of questions. The last line gives the transfer regret of the five nearest, on devices that were
not learned from, by words alone, with equal weights, as fitted, and the least that any neighbours would have
given.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import last_line
from benchmarks.worlds.cost_tables import tables
from benchmarks.worlds.shipped import ShippedKnowledge
from embeddings.encoder import ProblemEncoder
from embeddings.onnx_export import export
from embeddings.text_encoder import OnnxTextEncoder
from embeddings.weights import BlockWeights
from recommender.calibration.similarity import PARTS, part_of
from recommender.calibration.similarity_fit import SEEDS, TransferSample, draw, fit_similarity, fit_without

PATH = Path(__file__).parents[2] / "data" / "retrieval" / "weights.json"


SAME_RUNS = ("inferencemax", "inferencex", "kerneltuner")
"""Collections whose names begin alike hold the same measurements or kernels: they are left out together."""


def family(collection: str) -> str:
    """The collections that are left out with one, by the beginning of their names."""
    return next((name for name in SAME_RUNS if collection.startswith(name)), collection)


def without(samples: Sequence[TransferSample], name: str) -> BlockWeights:
    """Learn the weights without a part of the devices, or without a family of collections."""

    def stays(devices: Sequence[str], groups: Sequence[str]) -> NDArray[np.bool_]:
        pairs = zip(devices, groups, strict=True)
        return np.array([name not in (part_of(device), family(group)) for device, group in pairs], np.bool_)

    return fit_without(
        samples,
        lambda sample: stays(sample.devices.tolist(), sample.groups.tolist()),
        lambda sample: stays([item.hardware.name for item in sample.sources], sample.source_groups.tolist()),
    )


def left_out(folder: Path) -> dict[str, dict[str, float]]:
    """Learn the weights without each part of the devices and each collection of a folder, by name."""
    shipped = ShippedKnowledge.load()
    encoder = ProblemEncoder(shipped.hardware, None, BlockWeights())
    known = tables(folder, shipped.names)
    samples = [draw(known, encoder, np.random.default_rng(seed)) for seed in SEEDS]
    collections = sorted({table.group for table in known})
    names = [*(f"devices {part}" for part in range(PARTS)), *sorted({family(item) for item in collections})]
    learned = {name: without(samples, name).as_dict() for name in names}
    by_name = {name: learned[family(name)] for name in collections}
    return {name: learned[name] for name in names[:PARTS]} | by_name


def short_lines(content: Mapping[str, object]) -> str:
    """JSON with a line for each set of weights that leaves something out."""
    without = content.get("without")
    if not isinstance(without, dict):
        return json.dumps(content, indent=2) + "\n"
    rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(weights)}" for name, weights in without.items())
    whole = json.dumps({**content, "without": None}, indent=2)
    return whole.replace('"without": null', f'"without": {{\n{rows}\n  }}') + "\n"


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="folder of case JSONL files")
    parser.add_argument("--models", type=Path, help="cache directory of text models")
    parser.add_argument("--left-out", action="store_true", help="learn only what leaves a group out")
    parser.add_argument("--write", action="store_true", help="write data/retrieval/weights.json")
    arguments = parser.parse_args()
    if arguments.left_out:
        content = json.loads(PATH.read_text(encoding="utf-8"))
        content["without"] = left_out(arguments.cases)
        if arguments.write:
            PATH.write_text(short_lines(content), encoding="utf-8")
        last_line({"without": content["without"]})
        return
    if arguments.models is None:
        parser.error("--models is needed to learn the weights themselves")
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
    print("weights without each group are learned anew by --left-out")
    content = {
        "what": "weight of each block of features in a problem's vector; geometric mean 1",
        **fit.similarity.to_json(),
        "log_spread_over_fits": fit.spread,
        "measured": list(fit.folds),
    }
    if arguments.write:
        PATH.write_text(short_lines(content), encoding="utf-8")
    means = {k: round(float(np.mean([fold[k] for fold in fit.folds])), 4) for k in fit.folds[0]}
    print(json.dumps(content, indent=2))
    last_line({"transfer_regret_k5": means})


if __name__ == "__main__":
    main()
