"""Learns ``data/retrieval/weights.json``: what a difference in each block of features is worth.

    python -m tools.fitting.fit_block_weights --cases DIR --models CACHE [--write]
    python -m tools.fitting.fit_block_weights --cases DIR --left-out [--write]

The second form keeps the weights and learns them anew without each part of the devices and without each
collection, for ``benchmarks/answers/unseen.py``; it reads no text, as that benchmark.

Devices are split in two halves; what ships is the geometric mean of the fits on both halves and several
seeds (:mod:`benchmarks.worlds.transfer_regret`). The last line gives the transfer regret of the five nearest,
on devices that were not learned from, by words alone, with equal weights, as fitted, and the least that any
neighbours would have given.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import last_line, option, parse, refuse
from benchmarks.worlds.cost_tables import CostTable, tables
from benchmarks.worlds.shipped import ShippedKnowledge
from benchmarks.worlds.transfer_regret import (
    BLOCKS,
    TransferSample,
    draw,
    fit_weights,
    fit_without,
    halves,
    least_regret,
    mean_over_groups,
    mean_weights,
    transfer_regret,
)
from embeddings.encoder import ProblemEncoder
from embeddings.onnx_export import export
from embeddings.text_encoder import OnnxTextEncoder
from embeddings.weights import BlockWeights
from kg.triples.hardware_tree import Distance
from recommender.calibration.monotone import MonotoneModel
from recommender.calibration.similarity import PAIR, PARTS, Similarity, pair_row, part_of

PATH = Path(__file__).parents[2] / "data" / "retrieval" / "weights.json"
SEEDS = (0, 1)
LEAST_TARGETS = 40
"""Questions below which nothing is learned."""
NEAREST_PAIRS, RANDOM_PAIRS = 20, 20
"""Pairs of each question that teach what a distance costs."""
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


def fit_cost(
    weights: NDArray[np.float64], sample: TransferSample, distance: Callable[[str, str], Distance]
) -> MonotoneModel:
    """Fit the cost of copying by distance: over the nearest pairs and random ones of each target.

    Args:
        weights: One a block, shape (B,).
        sample: The pairs.
        distance: How far two devices are.
    """
    rng = np.random.default_rng(0)
    squared = np.tensordot(weights.astype(np.float32) ** 2, sample.distances, 1)
    rows, values, counts = [], [], []
    for at, target in enumerate(sample.targets):
        for forbidden in sample.forbidden:
            allowed = np.flatnonzero(~forbidden[at])
            near = allowed[np.argsort(squared[at, allowed], kind="stable")[:NEAREST_PAIRS]]
            pairs = np.union1d(near, rng.choice(allowed, min(RANDOM_PAIRS, len(allowed)), replace=False))
            samples = [
                p for p in pairs.tolist() if sample.sources[p].workload.operator == target.workload.operator
            ]
            for place in samples:
                source = sample.sources[place]
                rows.append(
                    pair_row(
                        math.sqrt(float(squared[at, place])),
                        distance(target.hardware.name, source.hardware.name),
                        same_task=source.task_id == target.task_id,
                    )
                )
                values.append(float(sample.regrets[at, place]))
                counts.append(1 / len(samples))
    return MonotoneModel.fit(PAIR, np.array(rows), np.array(values), np.array(counts))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityFit:
    """A fitted similarity, and its results on folds left out.

    Attributes:
        similarity: The result.
        folds: For each fit the mean log regret of the five nearest, on the half of devices it had not seen:
            by words alone, with equal weights, as fitted, and the least that was possible.
    """

    similarity: Similarity
    folds: tuple[dict[str, float], ...]


def fit_similarity(
    tables: Sequence[CostTable],
    encoder: ProblemEncoder,
    distance: Callable[[str, str], Distance],
    origin: str,
) -> SimilarityFit | None:
    """Learn block weights and what a distance costs; None if the tables ask too few questions.

    Args:
        tables: Problems with at least two measured configurations.
        encoder: Makes their blocks.
        distance: How far two devices are.
        origin: Where the tables come from, in words.
    """
    if len(tables) < LEAST_TARGETS:
        return None
    words = np.array([1.0 if name == "text" else 1e-3 for name in BLOCKS])
    fitted, folds = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        sample = draw(tables, encoder, rng)
        half = halves(sample)
        if len(half) < LEAST_TARGETS or not 0 < half.sum() < len(half) or sample.regrets.shape[1] < 10:
            return None
        least = least_regret(sample)
        for chosen in (half, ~half):
            logs = fit_weights(sample, chosen, rng)
            fitted.append(logs)
            candidates = {"words": words, "equal": np.ones(len(BLOCKS)), "fitted": np.exp(logs)}
            regrets = {
                name: mean_over_groups(transfer_regret(weights, sample)[1], sample, ~chosen)
                for name, weights in candidates.items()
            }
            regrets["least"] = mean_over_groups(least, sample, ~chosen)
            folds.append({"asked": int((~chosen).sum())} | {k: round(v, 4) for k, v in regrets.items()})
    sample = draw(tables, encoder, np.random.default_rng(len(SEEDS)))
    return SimilarityFit(
        similarity=Similarity(
            weights=mean_weights(fitted),
            cost=fit_cost(np.array(list(mean_weights(fitted).as_dict().values())), sample, distance),
            origin=origin,
        ),
        folds=tuple(folds),
    )


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    arguments = parse(
        __doc__,
        option("--cases", type=Path, required=True, help="folder of case JSONL files"),
        option("--models", type=Path, help="cache directory of text models"),
        option("--left-out", action="store_true", help="learn only what leaves a group out"),
        option("--write", action="store_true", help="write data/retrieval/weights.json"),
    )
    if arguments.left_out:
        content = json.loads(PATH.read_text(encoding="utf-8"))
        content["without"] = left_out(arguments.cases)
        if arguments.write:
            PATH.write_text(short_lines(content), encoding="utf-8")
        last_line({"without": content["without"]})
        return
    if arguments.models is None:
        refuse("--models is needed to learn the weights themselves")
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
        "measured": list(fit.folds),
    }
    if arguments.write:
        PATH.write_text(short_lines(content), encoding="utf-8")
    means = {k: round(float(np.mean([fold[k] for fold in fit.folds])), 4) for k in fit.folds[0]}
    print(json.dumps(content, indent=2))
    last_line({"transfer_regret_k5": means})


if __name__ == "__main__":
    main()
