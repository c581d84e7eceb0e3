"""Lists of configurations for an autotuner: how good is the best of the first k, timed on the device?

``python -m benchmarks.answers.kernel_lists --known DIR --asked DIR`` asks for ten configurations of every kernel space of Kernel
Tuner's tables (``kerneltuner_*``), with all devices known but the one asked about, as ``recommend --kernel OP -k 10``
does. Beside ours: the ten configurations that most known devices have for their best (popular), that are best on
average over them (robust), the nearest device's ten best (nearest), and ten at random. Within 5 % of the device's best
counts; what its table lacks or what failed costs a factor of 10. Expected is what ``recommend`` would have said of the
mean log regret of the first 1, 3, 5, 10; the shipped constants behind that were learned from public tables of this kind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np

from benchmarks.answers.unseen import WITHIN, Fold, counts, folds, questions
from benchmarks.protocols.baselines import LONGEST, UNTRIED, Defaults, random_choice
from benchmarks.worlds.world import World, knowledge, load

LISTS = (1, 3, 5, 10)
METHODS = ("ours", "nearest", "popular", "robust")
CLASSES = ("same_vendor", "other_class", "other_vendor", "known_device")


def answers(fold: Fold, known: World, asked: World):
    """Log regrets by method, and what was expected, of every problem of a fold."""
    from embeddings.index import ProblemIndex
    from recommender.calibration.outlook import Outlook
    from recommender.calibration.reliability import Reliability
    from recommender.calibration.response import ResponseModels
    from recommender.ranking.cases.circumstances import CIRCUMSTANCES, circumstances
    from recommender.ranking.cases.evidence import ConfigurationReader
    from recommender.ranking.cases.ranker import Ranker
    from recommender.ranking.cases.reference import reference_of
    from recommender.ranking.feasibility.feasibility import by_rules
    from recommender.retrieval.neighbours import Retriever

    trials = known.trials()
    asked_trials = trials if asked is known else asked.trials()
    outlook = Outlook.shipped(CIRCUMSTANCES)
    allowed = set(fold.known)
    hidden = {asked.problems[key].task_id for key in fold.asked} if fold.hide_task else set()
    taught = {key: known.problems[key] for key in fold.known if known.problems[key].task_id not in hidden}
    with tempfile.TemporaryDirectory() as place:
        index = ProblemIndex(Path(place), known.encoder.dimension, known.encoder.hash)
        mask = np.isin(known.keys, np.fromiter(allowed, np.int64))
        index.append(known.keys[mask], 1, known.vectors[mask])
        index.catch_up()
        retriever = Retriever(trials, index, known.encoder, known.tree)
        models = ResponseModels.train(taught, trials, known.tree.facts)
        ranker = Ranker(trials, known.tree, models, Reliability.shipped())
        read, asked_read = ConfigurationReader(trials), ConfigurationReader(asked_trials)
        tables = [
            (known.problems[key].hardware.count, table)
            for key in taught
            for _, table in questions(known, trials, read, key, "kernels")
        ]
        default = Defaults(tables)

        feasible = by_rules(known.tree.facts)
        for key in fold.asked:
            problem = asked.problems[key]
            for question, truth in questions(asked, asked_trials, asked_read, key, "kernels"):
                if not counts("kernels", truth):
                    continue

                def exclude(row, problem=problem) -> bool:
                    return row.key not in allowed or (fold.hide_task and row.task_id == problem.task_id)

                ranking = ranker.rank(
                    problem, retriever.find(problem, exclude=exclude), question, LONGEST, feasible
                )
                evidence, nearest = ranking.evidence, []
                if evidence.timed.any():
                    ratios = evidence.ratios[int(np.argmax(evidence.timed))]
                    best = np.argsort(ratios, kind="stable")[:LONGEST]
                    nearest = [evidence.candidates[i] for i in best if np.isfinite(ratios[i])]
                reference = reference_of(problem, ranking)
                expected = (
                    outlook.regret(circumstances(ranking, ranking.order[0], reference)) if reference else {}
                )
                lists = {
                    "ours": ranking.configurations,
                    "nearest": nearest,
                    "popular": default.popular(problem.hardware.count),
                    "robust": default.robust(problem.hardware.count),
                }
                regrets = {
                    method: [
                        min((truth.get(item, UNTRIED) for item in listed[:k]), default=UNTRIED) for k in LISTS
                    ]
                    for method, listed in lists.items()
                }
                chance = [random_choice(list(truth.values()), k, WITHIN) for k in LISTS]
                yield regrets, chance, expected
        index.close()
    trials.close()


def figures(found: list) -> dict[str, object]:
    """Shares within 5 % and mean log regrets of one class."""
    made: dict[str, object] = {"n": len(found)}
    for method in METHODS:
        table = np.array([regrets[method] for regrets, _, _ in found])
        made[method] = {
            **{f"k{k}": round(float((table[:, i] < WITHIN).mean()), 4) for i, k in enumerate(LISTS)},
            **{f"log_regret_k{k}": round(float(table[:, i].mean()), 4) for i, k in enumerate(LISTS)},
        }
    chance = np.array([chance for _, chance, _ in found])
    made["random"] = {
        **{f"k{k}": round(float(chance[:, i, 0].mean()), 4) for i, k in enumerate(LISTS)},
        **{f"log_regret_k{k}": round(float(chance[:, i, 1].mean()), 4) for i, k in enumerate(LISTS)},
    }
    told = [expected for _, _, expected in found if expected]
    made["expected"] = {
        f"log_regret_k{k}": round(float(np.mean([item[k] for item in told])), 4) if told else None
        for k in LISTS
    }
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="pnpoly alone")
    arguments = parser.parse_args()
    started = time.process_time()
    only = "kerneltuner_pnpoly*" if arguments.quick else "kerneltuner_*"

    def shares(folder: Path) -> dict[str, float]:
        return {"*": 0} | {path.name.split(".")[0]: 1 for path in folder.glob(only)}

    with tempfile.TemporaryDirectory() as place:
        tree = knowledge()
        known = load(arguments.known, Path(place) / "known", tree, shares(arguments.known))
        one = arguments.known.resolve() == arguments.asked.resolve()
        asked = known if one else load(arguments.asked, Path(place) / "asked", tree, shares(arguments.asked))
        by_class: dict[str, list] = {name: [] for name in CLASSES}
        for fold in folds(known, asked, quick=False):
            if fold.name == "kernels":
                found = list(answers(fold, known, asked))
                for name in fold.classes:
                    by_class[name] += found
                print(f"{time.process_time() - started:6.0f} CPU s  {fold.family[0]}", file=sys.stderr)
    result = {name: figures(found) if found else None for name, found in by_class.items()}
    for name, made in result.items():
        if made is None:
            continue
        print(f"\n{name} (n = {made['n']}): within 5 % by the best of k; mean factor above the best")
        print(
            f"  {'':8} " + " ".join(f"k={k:<5}" for k in LISTS) + "   " + " ".join(f"k={k:<5}" for k in LISTS)
        )
        for method in (*METHODS, "random"):
            row = made[method]
            shown = " ".join(f"{row[f'k{k}']:<7.2f}" for k in LISTS)
            lost = " ".join(f"{math.exp(row[f'log_regret_k{k}']):<7.3f}" for k in LISTS)
            print(f"  {method:8} {shown}   {lost}")
        told = [made["expected"][f"log_regret_k{k}"] for k in LISTS]
        print(
            "  expected "
            + " " * 32
            + "  "
            + " ".join("-" if x is None else f"{math.exp(x):<7.3f}" for x in told)
        )
    print(json.dumps(result | {"cpu_s": round(time.process_time() - started, 1)}))


if __name__ == "__main__":
    main()
