"""First recommendations for hardware and tasks never seen, beside what copying would give.

``python -m benchmarks.answers.unseen --known DIR --asked DIR`` learns from the first folder of cases and is asked
about every scorable problem of the second: task and hardware facts, never the list of configurations that
were measured there. With one folder given twice, one device is left out at a time; for ``other_vendor``
one foreign device is known at a time and source-target pairs count; then one task is left out
(``known_device``; the response model leaves out one task in five at a time).

Within 5 % of the best counts as right. ``kernels``: spaces with less than a tenth of their configurations
within 5 %; a proposal that was not measured there costs a factor of 10. ``moe_layout``: tp x ep at fixed
framework and device count, worst/best at least 1.5. Elsewhere the whole configuration is asked for, and a
proposal that was not measured is a miss that lowers ``coverage``: the share of problems of which at least
one of five proposals was measured. ``log_regret`` is the mean over those.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # a process a fold is faster than threads that wait for each other

import numpy as np

from benchmarks.answers import outlook_figures
from benchmarks.protocols.baselines import UNTRIED, Defaults, random_choice
from benchmarks.worlds.world import World, by_family, knowledge, load, sampled
from kg.nouns.knowledge import Level
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.calibration.outlook import LISTED, Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES

WITHIN = math.log(1.05)
TASK_FOLDS = 5
EXHAUSTIVE = 0.95
"""A table is exhaustive that has so much of the largest one of its task; others are samples, and what they
lack may run."""

BASELINES = ("random", "popular", "robust", "nearest")
CLASSES = ("same_vendor", "other_class", "other_vendor", "known_device")
QUICK = {
    "*": 1.0,
    "aiconfigurator_attention_backend": 0,
    "aiconfigurator_gemm_backend": 0,
    "aiconfigurator_moe_parallel": 0.08,
    "aiter_tuned_kernels": 0,
    "clblast_winners": 0,
    "lightllm_triton_winners": 0,
    "tpu_tuned_blocks_winners": 0,
    "vllm_mamba_ssu_winners": 0,
    "vllm_sglang_fp8_block_gemm_winners": 0,
    "vllm_sglang_moe_winners": 0,
}
"""Share of tasks that ``--quick`` reads of each corpus."""


@dataclass(frozen=True)
class Fold:
    """One thing to know and many to ask.

    Attributes:
        name: Corpus, as it is reported.
        family: Operator and metric.
        classes: Where results count.
        known: Keys of the known problems.
        asked: Keys of the asked problems.
        hide_task: Whether known problems of the asked task are hidden as well.
    """

    name: str
    family: tuple[str, str]
    classes: tuple[str, ...]
    known: tuple[int, ...]
    asked: tuple[int, ...]
    hide_task: bool = False
    part: int = 0


def questions(world, trials, read, key, name):
    """The questions of a problem with their truth: answer to log ratio, and what failed."""
    from recommender.ranking.cases.evidence import Question

    table = trials.table(key)
    configurations = read([int(item) for item in table.configuration_ids])
    if name == "moe_layout":
        frameworks = sorted({str(configurations[int(i)].get("framework")) for i in table.configuration_ids})
        asked = [
            Question(fixed=Settings({"framework": f}), decide=("moe_tp_size", "moe_ep_size"))
            for f in frameworks
        ]
    else:
        asked = [Question()]
    for question in asked:
        truth: dict = {}
        for item, cost in zip(table.configuration_ids.tolist(), table.costs.tolist(), strict=True):
            answer = question.answer(configurations[item])
            if answer is not None and math.isfinite(cost) and cost > 0:
                truth[answer] = min(truth.get(answer, math.inf), math.log(cost))
        if len(truth) >= 2:
            least = min(truth.values())
            yield question, {item: value - least for item, value in truth.items()}


def counts(name: str, truth: dict) -> bool:
    """Whether a problem is hard enough to count."""
    if name == "kernels":
        return sum(value < WITHIN for value in truth.values()) < 0.1 * len(truth)
    return name != "moe_layout" or max(truth.values()) >= math.log(1.5)


def judge(name: str, truth: dict, proposals: list) -> list[float]:
    """Log regret of up to five proposals, nan where it was not measured."""
    unknown = UNTRIED if name == "kernels" else math.nan
    return ([truth.get(item, unknown) for item in proposals[:5]] + [math.nan] * 5)[:5]


def run(
    fold: Fold,
) -> tuple[list[tuple[str, tuple[str, ...], str, list[float] | tuple]], list[outlook_figures.Row]]:
    """Ask one fold; results as (name, classes, method, regrets), and each ranking beside its truth."""
    from embeddings.index import ProblemIndex
    from recommender.calibration.reliability import Reliability
    from recommender.calibration.response import ResponseModels
    from recommender.ranking.cases.evidence import ConfigurationReader
    from recommender.ranking.cases.ranker import Ranker
    from recommender.ranking.cases.scoring_against_truth import check
    from recommender.ranking.feasibility.feasibility import by_rules
    from recommender.retrieval.neighbours import Retriever

    known_world, asked_world, _ = _WORLDS
    trials = known_world.trials()
    asked_trials = trials if asked_world is known_world else asked_world.trials()
    allowed = set(fold.known)
    with tempfile.TemporaryDirectory() as place:
        index = ProblemIndex(Path(place), known_world.encoder.dimension, known_world.encoder.hash)
        mask = np.isin(known_world.keys, np.fromiter(allowed, np.int64))
        index.append(known_world.keys[mask], 1, known_world.vectors[mask])
        index.catch_up()
        retriever = Retriever(trials, index, known_world.encoder, known_world.tree)
        hidden = {known_world.problems[k].task_id for k in fold.asked} if fold.hide_task else set()
        taught = {
            k: known_world.problems[k] for k in fold.known if known_world.problems[k].task_id not in hidden
        }
        models = ResponseModels.train(taught, trials, known_world.tree.facts)
        ranker = Ranker(trials, known_world.tree, models, Reliability.shipped())
        read, asked_read = ConfigurationReader(trials), ConfigurationReader(asked_trials)
        defaults: dict = {}
        sizes: dict[str, int] = defaultdict(int)  # of the largest known table of a task
        for key in fold.known if fold.name == "kernels" else ():
            task = known_world.problems[key].task_id
            sizes[task] = max(sizes[task], int(np.isfinite(trials.table(key).costs).sum()))
        results = []
        checked: list[outlook_figures.Row] = []

        feasible = by_rules(known_world.tree.facts)
        for key in fold.asked:
            problem = asked_world.problems[key]
            asked = [
                (question, truth)
                for question, truth in questions(asked_world, asked_trials, asked_read, key, fold.name)
                if counts(fold.name, truth)
            ]
            if not asked:
                continue

            def exclude(row, problem=problem) -> bool:
                return row.key not in allowed or (fold.hide_task and row.task_id == problem.task_id)

            neighbours = retriever.find(problem, exclude=exclude)
            for question, truth in asked:
                ranking = ranker.rank(problem, neighbours, question, LISTED[-1], feasible)
                item = check(problem, ranking, truth)
                if item is not None:
                    checked.append((fold.name, fold.classes, item))
                if not defaults:
                    defaults = _defaults(known_world, trials, read, taught, fold.name)
                default = defaults.get(question) or Defaults([])
                evidence = ranking.evidence
                nearest: list = []
                if evidence.timed.any():
                    ratios = evidence.ratios[int(np.argmax(evidence.timed))]
                    best = np.argsort(ratios, kind="stable")[:5]
                    nearest = [evidence.candidates[i] for i in best if np.isfinite(ratios[i])]
                count = problem.hardware.count
                values = list(truth.values())
                said = {
                    "ours": judge(fold.name, truth, ranking.configurations[:5]),
                    "popular": judge(fold.name, truth, default.popular(count)),
                    "robust": judge(fold.name, truth, default.robust(count)),
                    "nearest": judge(fold.name, truth, nearest),
                    "random": tuple(random_choice(values, k, WITHIN) for k in (1, 3, 5)),
                }
                results += [(fold.name, fold.classes, method, regrets) for method, regrets in said.items()]
                if fold.name == "kernels" and len(truth) >= EXHAUSTIVE * sizes[problem.task_id]:
                    flags = [item not in truth for item in ranking.configurations[:5]]
                    results.append((fold.name, fold.classes, "infeasible", flags))
        index.close()
    trials.close()
    return results, checked


_SEEN: dict = {}


def _defaults(world: World, trials, read, taught, name: str) -> dict:
    """Popular and robust choices by question, over the problems that may be learned from."""
    tables = defaultdict(list)
    for key in taught:
        if (name, key) not in _SEEN:
            _SEEN[name, key] = list(questions(world, trials, read, key, name))
        for question, table in _SEEN[name, key]:
            tables[question].append((world.problems[key].hardware.count, table))
    return {question: Defaults(of) for question, of in tables.items()}


def folds(known: World, asked: World, quick: bool) -> list[Fold]:
    """What to hold back and what to ask."""
    tree = known.tree
    same = known is asked
    known_families, asked_families = by_family(known), by_family(asked)
    scorable = _scorable(asked)
    made: list[Fold] = []
    for (corpus, operator, metric), keys in sorted(asked_families.items()):
        name = _reported(corpus, operator)
        source = [k for (_, o, m), ks in known_families.items() if (o, m) == (operator, metric) for k in ks]
        targets: dict[str, list[int]] = defaultdict(list)
        for key in keys:
            if key in scorable:
                targets[asked.problems[key].hardware.name].append(key)
        if quick:
            targets = {d: sorted(t, key=lambda k: asked.problems[k].id)[:40] for d, t in targets.items()}
        on: dict[str, list[int]] = defaultdict(list)
        for key in source:
            on[known.problems[key].hardware.name].append(key)
        tasks_on: dict[str, set[str]] = {d: {known.problems[k].task_id for k in ks} for d, ks in on.items()}
        loto: list[int] = []
        for device, wanted in sorted(targets.items()):
            twin = [d for d in on if tree.distance(device, d) is Distance.SAME_DEVICE]
            if not same and twin:
                made.append(_fold(name, (operator, metric), ("known_device",), source, wanted, hide=True))
                continue
            rest = [d for d in on if d not in twin]
            vendors = [d for d in rest if tree.distance(device, d) is not Distance.OTHER_VENDOR]
            near = [d for d in vendors if tree.distance(device, d) < Distance.SAME_VENDOR]
            if vendors:
                classes = ("same_vendor",) if near else ("same_vendor", "other_class")
                held = [k for d in rest for k in on[d]]
                made.append(_fold(name, (operator, metric), classes, held, wanted))
            for foreign in rest:
                if foreign not in vendors and tree.above(foreign, Level.VENDOR):
                    made.append(_fold(name, (operator, metric), ("other_vendor",), on[foreign], wanted))
            if same:
                loto += [k for k in wanted if len(tasks_on.get(device, ())) > 1]
        if loto:
            for part in range(TASK_FOLDS):
                chosen = [k for k in loto if _part(asked.problems[k].task_id) == part]
                if chosen:
                    made.append(_fold(name, (operator, metric), ("known_device",), source, chosen, hide=True))
    return sorted(made, key=lambda fold: -len(fold.asked))


def _fold(name, family, classes, known, asked, *, hide=False) -> Fold:
    return Fold(name, family, classes, tuple(sorted(known)), tuple(sorted(asked)), hide)


def _part(task: str) -> int:
    """Which fold a task is in, by another chance than the one that samples tasks."""
    return next(part for part in range(TASK_FOLDS) if sampled(f"fold {task}", (part + 1) / TASK_FOLDS))


def _scorable(world: World) -> set[int]:
    with world.trials() as trials:
        return {key for key in world.problems if np.isfinite(trials.table(key, 2).costs).sum() >= 2}


def _reported(corpus: str, operator: str) -> str:
    if corpus.startswith("kerneltuner_"):
        return "kernels"
    return "moe_layout" if operator == "moe_layer" else corpus


def summary(regrets: list) -> dict[str, float | int] | None:
    """Figures of one class and method."""
    if not regrets:
        return None
    if isinstance(regrets[0], tuple):
        values = np.array(regrets)
        return {
            "n": len(values),
            **{f"k{k}": round(float(values[:, i, 0].mean()), 4) for i, k in enumerate((1, 3, 5))},
            "log_regret_k1": round(float(values[:, 0, 1].mean()), 4),
            "log_regret_k5": round(float(values[:, 2, 1].mean()), 4),
            "coverage": 1.0,
        }
    table = np.array(regrets)
    known = np.where(np.isnan(table), np.inf, table)
    figures: dict[str, float | int] = {"n": len(table)}
    for k in (1, 3, 5):
        figures[f"k{k}"] = round(float((known[:, :k].min(axis=1) < WITHIN).mean()), 4)
    for k in (1, 5):
        least = known[:, :k].min(axis=1)
        covered = least[np.isfinite(least)]
        figures[f"log_regret_k{k}"] = round(float(covered.mean()), 4) if len(covered) else math.nan
    figures["coverage"] = round(float(np.isfinite(known.min(axis=1)).mean()), 4)
    return figures


def infeasible(flags: list[list[bool]]) -> float | None:
    """Share of proposals that failed on the target, or that its exhaustive table does not have."""
    every = [flag for question in flags for flag in question]
    return round(sum(every) / len(every), 4) if every else None


def report(results: list) -> dict[str, object]:
    """The tree of figures."""
    grouped: dict = defaultdict(list)
    names = ["kernels", "moe_layout"]
    for name, classes, method, regrets in results:
        if name not in names:
            names.append(name)
        for item in classes:
            grouped[name, item, method].append(regrets)
    tree: dict[str, object] = {
        name: {item: _plain(summary(grouped[name, item, "ours"])) for item in CLASSES} for name in names
    }
    tree["kernels_infeasible"] = {
        item: infeasible(grouped["kernels", item, "infeasible"]) for item in CLASSES
    }
    tree["baselines"] = {
        method: {
            name: {item: _plain(summary(grouped[name, item, method])) for item in CLASSES} for name in names
        }
        for method in BASELINES
    }
    return tree


def _plain(figures):
    if figures is None:
        return None
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in figures.items()}


def show(tree: dict) -> None:
    """Ours beside the baselines, for people."""
    for name in (n for n in tree if n not in {"baselines", "kernels_infeasible"}):
        for item in CLASSES:
            if tree[name][item] is None:
                continue
            rows = [("ours", tree[name][item])] + [(m, tree["baselines"][m][name][item]) for m in BASELINES]
            print(f"\n{name} / {item} (n = {rows[0][1]['n']})", file=sys.stderr)
            print(
                f"  {'':8} {'k1':>7} {'k3':>7} {'k5':>7} {'lr k1':>7} {'lr k5':>7} {'cover':>7}",
                file=sys.stderr,
            )
            for method, figures in rows:
                cells = [figures[c] for c in ("k1", "k3", "k5", "log_regret_k1", "log_regret_k5", "coverage")]
                shown = " ".join("      -" if c is None else f"{c:7.3f}" for c in cells)
                print(f"  {method:8} {shown}", file=sys.stderr)


_WORLDS: tuple[World, World, bool]


def main() -> None:
    global _WORLDS  # noqa: PLW0603 - forked workers inherit it
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a sample: one minute instead of fifteen")
    parser.add_argument("--only", default="", help="one corpus, by the name it is reported under")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        shares = QUICK if arguments.quick else {"*": 1.0}
        if arguments.only:
            shares = {"*": 0, arguments.only: 1.0}
            if arguments.only == "kernels":
                shares = {"*": 0} | {p.name.split(".")[0]: 1 for p in arguments.known.glob("kerneltuner_*")}
            if arguments.only == "moe_layout":
                shares = {"*": 0, "aiconfigurator_moe_parallel": 0.08 if arguments.quick else 1.0}
        tree = knowledge()
        known = load(arguments.known, Path(place) / "known", tree, shares)
        one = arguments.known.resolve() == arguments.asked.resolve()
        asked = known if one else load(arguments.asked, Path(place) / "asked", tree, shares)
        print(f"read {len(known.problems)} problems in {time.monotonic() - started:.0f} s", file=sys.stderr)
        _WORLDS = (known, asked, arguments.quick)
        made = folds(known, asked, arguments.quick)
        results = []
        checked: list[outlook_figures.Row] = []
        with ExitStack() as stack:
            answered = map(run, made)
            if arguments.jobs > 1:
                context = get_context("fork")
                pool = stack.enter_context(ProcessPoolExecutor(arguments.jobs, mp_context=context))
                answered = pool.map(run, made)
            for number, (fold, part) in enumerate(zip(made, answered, strict=True), 1):
                results += part[0]
                checked += part[1]
                at = f"{time.monotonic() - started:6.0f} s  {number}/{len(made)}"
                print(f"{at}  {fold.name} {'/'.join(fold.classes)}: {len(fold.asked)} asked", file=sys.stderr)
    tree_of_figures = report(results)
    show(tree_of_figures)
    if one:  # the shipped outlook has seen these cases
        title = "intervals, each device forecast without it"
        told = outlook_figures.left_out(checked, lambda row: row[2].device)
    else:
        title = "intervals, by the shipped outlook"
        known_errors = [row[2] for row in checked]
        told = outlook_figures.forecasts(checked, Outlook.shipped(CIRCUMSTANCES), known_errors)
    by_class = outlook_figures.figures(checked, told)
    outlook_figures.show(title, by_class)
    tree_of_figures |= outlook_figures.by_figure(by_class)
    print(f"\n{time.monotonic() - started:.0f} s", file=sys.stderr)
    print(json.dumps(tree_of_figures))


if __name__ == "__main__":
    main()
