"""Learns ``data/retrieval/weights.json``: what a difference in each block of features is worth.

    python benchmarks/fit_block_weights.py --cases DIR --models CACHE [--write]

The measure is transfer regret: how much slower a problem runs with the best configuration of its nearest
neighbours than with its own best, as a log ratio; half of it for the nearest alone, half for the best
of the five nearest. A configuration that the problem's table lacks counts as the mean of those that
share most settings with it. Neighbours are sought twice: among other devices, and among other tasks.
Corpora count by the square root of their number of problems.

Weights are drawn at random, the best draws averaged and then improved one weight at a time, with a
small pull towards 1. Devices are split in two halves; the report gives the regret on the half that was
not used. What ships is the geometric mean of the fits on both halves and several seeds. Blocks that do
not vary in the cases (limits, bottlenecks) stay near 1, which says that nothing is known about them.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections import defaultdict
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import data
from embeddings.encoder import ProblemEncoder
from embeddings.onnx_export import export
from embeddings.text_encoder import OnnxTextEncoder
from embeddings.weights import BlockWeights
from ingest.knowledge import read_knowledge
from ingest.reading import read
from kg.entities import Better, Case, Problem
from kg.hardware_tree import HardwareTree
from kg.names import Names
from kg.oxigraph_store import OxigraphStore
from kg.serialisation import to_triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kg.values import Settings

BLOCKS = [item.name for item in fields(BlockWeights)]
TASKS = 40  # tasks drawn a corpus, with all their devices
PROBLEMS = 700  # problems kept a corpus
TARGETS = 80  # asked a corpus
WORST_RATIO = 1.2  # a problem whose worst is within 20 % of its best asks nothing
CAP = 3.0  # a log regret counts at most this much
PULL = 0.01
DRAWS, KEPT, STEPS = 120, 12, 100
SEEDS = (0, 1)


@dataclass(frozen=True)
class Table:
    """A problem and the log costs of its configurations."""

    corpus: str
    problem: Problem
    costs: dict[Settings, float]


@dataclass(frozen=True)
class Sample:
    """Distances by block and regrets between targets (rows) and sources (columns)."""

    distances: NDArray[np.float32]
    regrets: NDArray[np.float32]
    forbidden: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    corpora: NDArray[np.str_]
    devices: NDArray[np.str_]


def tables(folder: Path, names: Names) -> list[Table]:
    """Tables of at least two measured configurations that differ enough to matter."""
    found: dict[str, Table] = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for item in read([path], names):
            if not isinstance(item, Case) or not item.measurement.value or item.measurement.value < 0:
                continue
            sign = 1 if item.problem.objective.better is Better.LOWER else -1
            cost = sign * math.log(item.measurement.value)
            table = found.setdefault(item.problem.id, Table(path.name.split(".")[0], item.problem, {}))
            table.costs[item.configuration] = min(cost, table.costs.get(item.configuration, math.inf))
    return [table for table in found.values() if len(table.costs) > 1]


def sample(all_tables: list[Table], encoder: ProblemEncoder, rng: np.random.Generator) -> Sample:
    by_corpus: dict[str, list[Table]] = defaultdict(list)
    for table in all_tables:
        by_corpus[table.corpus].append(table)
    pool: list[Table] = []
    for corpus in by_corpus.values():
        tasks = sorted({table.problem.task_id for table in corpus})
        chosen = set(rng.choice(tasks, min(TASKS, len(tasks)), replace=False))
        mine = [table for table in corpus if table.problem.task_id in chosen]
        pool += [mine[at] for at in sorted(rng.permutation(len(mine))[:PROBLEMS])]
    corpora = np.array([table.corpus for table in pool])
    wide = [at for at, table in enumerate(pool) if spread(table) >= math.log(WORST_RATIO)]
    asked = np.concatenate(
        [rng.permutation([at for at in wide if corpora[at] == name])[:TARGETS] for name in by_corpus]
    )
    asked = asked.astype(int)
    blocks = encoder.blocks([table.problem for table in pool])
    devices = np.array([table.problem.hardware.name for table in pool])
    tasks_of = np.array([table.problem.task_id for table in pool])
    return Sample(
        distances=np.stack([squared(blocks[name][asked], blocks[name]) for name in BLOCKS]).reshape(
            len(BLOCKS), -1
        ),
        regrets=np.array([regrets_of(pool[at], pool) for at in asked], dtype=np.float32),
        forbidden=(devices[asked, None] == devices, tasks_of[asked, None] == tasks_of),
        corpora=corpora[asked],
        devices=devices[asked],
    )


def spread(table: Table) -> float:
    return max(table.costs.values()) - min(table.costs.values())


def squared(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum((one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T, 0)


def regrets_of(target: Table, sources: list[Table]) -> list[float]:
    """Log regret of each source's best configuration on the target."""
    lowest = min(target.costs.values())
    known: dict[tuple[str, Settings], float] = {}
    out = []
    for source in sources:
        best = min(source.costs, key=source.costs.__getitem__)
        key = source.corpus, best
        if key not in known:
            known[key] = min(CAP, expected(best, target, same=source.corpus == target.corpus) - lowest)
        out.append(known[key])
    return out


def expected(best: Settings, target: Table, *, same: bool) -> float:
    """Log cost that copying ``best`` has on the target; the mean of all where nothing can be copied."""
    if best in target.costs:
        return target.costs[best]
    wanted = set(best.items()) if same else set()
    shared: dict[int, list[float]] = defaultdict(list)
    for configuration, cost in target.costs.items():
        shared[len(wanted & set(configuration.items()))].append(cost)
    nearest = shared[max(shared)]
    return sum(nearest) / len(nearest)


def regret(weights: NDArray[np.float64], drawn: Sample) -> NDArray[np.float64]:
    """Regret of every target with the neighbours that the weights choose, mean of both searches."""
    distances = (weights.astype(np.float32) ** 2 @ drawn.distances).reshape(drawn.regrets.shape)
    parts = []
    for forbidden in drawn.forbidden:
        allowed = np.where(forbidden, np.float32(1e9), distances)
        five = np.argpartition(allowed, 5, axis=1)[:, :5]
        order = np.argsort(np.take_along_axis(allowed, five, axis=1), axis=1, kind="stable")
        found = np.take_along_axis(drawn.regrets, np.take_along_axis(five, order, axis=1), axis=1)
        parts.append(0.5 * found[:, 0] + 0.5 * found.min(axis=1))
    return np.mean(parts, axis=0)


def summary(regrets: NDArray[np.float64], drawn: Sample, chosen: NDArray[np.bool_]) -> float:
    total = weight = 0.0
    for corpus in np.unique(drawn.corpora[chosen]):
        mine = chosen & (drawn.corpora == corpus)
        total += math.sqrt(mine.sum()) * float(regrets[mine].mean())
        weight += math.sqrt(mine.sum())
    return total / weight


def fit(drawn: Sample, chosen: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.float64]:
    """Logarithms of the weights that do best on the chosen targets."""

    def loss(logs: NDArray[np.float64]) -> float:
        return summary(regret(np.exp(logs), drawn), drawn, chosen) + PULL * float(np.mean(logs**2))

    draws = sorted(((loss(logs), at, logs) for at, logs in enumerate(rng.normal(0, 1, (DRAWS, len(BLOCKS))))))
    best = np.mean([logs for _, _, logs in draws[:KEPT]], axis=0)
    lowest = loss(best)
    for _ in range(STEPS):
        step = best.copy()
        step[rng.integers(len(BLOCKS))] += rng.normal(0, 0.6)
        if (reached := loss(step)) < lowest:
            best, lowest = step, reached
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="folder of case JSONL files")
    parser.add_argument("--models", type=Path, required=True, help="cache directory of text models")
    parser.add_argument("--write", action="store_true", help="write data/retrieval/weights.json")
    arguments = parser.parse_args()
    export(arguments.models)
    store = OxigraphStore()
    for name in [*data.files("hardware", ".yaml"), *data.files("models", ".yaml")]:
        for noun in read_knowledge(data.text(name), name):
            store.extend(to_triples(noun))
    tree = HardwareTree.load(store)
    encoder = ProblemEncoder(tree, OnnxTextEncoder(arguments.models), BlockWeights())
    known = tables(arguments.cases, Names(store, tree))
    print(f"{len(known)} tables")
    fitted, report = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        drawn = sample(known, encoder, rng)
        half = np.array([zlib.crc32(name.encode()) % 2 == 0 for name in drawn.devices])
        for chosen in (half, ~half):
            logs = fit(drawn, chosen, rng)
            fitted.append(logs)
            report.append(
                {
                    "targets": int(chosen.sum()),
                    "asked": int((~chosen).sum()),
                    "regret_equal_weights": summary(regret(np.ones(len(BLOCKS)), drawn), drawn, ~chosen),
                    "regret_fitted_elsewhere": summary(regret(np.exp(logs), drawn), drawn, ~chosen),
                }
            )
            print(json.dumps(report[-1]))
    logs = np.mean(fitted, axis=0)
    logs -= logs.mean()
    weights = {name: round(float(weight), 3) for name, weight in zip(BLOCKS, np.exp(logs), strict=True)}
    drawn = sample(known, encoder, np.random.default_rng(len(SEEDS)))
    everything = np.ones(len(drawn.devices), dtype=bool)
    shipped = np.array([weights[name] for name in BLOCKS])
    measured = {
        "folds": [{k: round(v, 4) for k, v in fold.items()} for fold in report],
        "new_sample_equal_weights": round(summary(regret(np.ones(len(BLOCKS)), drawn), drawn, everything), 4),
        "new_sample_these_weights": round(summary(regret(shipped, drawn), drawn, everything), 4),
    }
    spreads = {name: np.round(np.std([f[at] for f in fitted]), 2) for at, name in enumerate(BLOCKS)}
    print(json.dumps({"weights": weights, "log_spread": spreads, "measured": measured}, indent=2))
    if arguments.write:
        content = {
            "what": "weight of each block of features in a problem's vector; geometric mean 1",
            "made_by": "benchmarks/fit_block_weights.py, transfer regret on measured cases",
            "log_spread_over_fits": spreads,
            "measured": measured,
            "weights": weights,
        }
        path = Path(__file__).parents[1] / "data" / "retrieval" / "weights.json"
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
