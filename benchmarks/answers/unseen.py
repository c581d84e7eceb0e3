"""First recommendations for hardware and tasks never seen, beside what copying would give.

``python -m benchmarks.answers.unseen --known DIR --asked DIR`` takes the first folder of cases into a workspace and
asks it about every scorable problem of the second: task and hardware facts, never the list of configurations that
were measured there. With one folder given twice, drawn devices are left out, with ``--all`` one device at a time; for ``other_vendor``
one foreign device is known at a time and source-target pairs count; then one task is left out
(``known_device``; the response model leaves out one task in five at a time).

Within 5 % of the best counts as right. ``kernels``: spaces with less than a tenth of their configurations
within 5 %; a proposal that was not measured there costs a factor of 10. ``moe_layout``: tp x ep at fixed
framework and device count, worst/best at least 1.5. Elsewhere the whole configuration is asked for, and a
proposal that was not measured is a miss that lowers ``coverage``: the share of problems of which at least
one of five proposals was measured. ``log_regret`` is the mean over those; ``se`` holds standard errors over
devices; ``above_copying`` compares with the nearest case question by question.

Nested: a list follows each expert as far as was learned without the asked device
(``tools/fitting/fit_ranking.py``), and neighbours are found with block weights that were learned without the
fifth of the devices that holds it, or with ``--without collection`` without the asked collection
(``tools/fitting/fit_block_weights.py``); ``constants`` is the hash of the experts' weights.
"""

import math
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.answers import outlook_figures
from benchmarks.answers.ranking_check import check
from benchmarks.protocols.baselines import UNTRIED, Defaults, nearest_copied, random_choice
from benchmarks.protocols.folds import CLASSES, Fold, folds, standard_error
from benchmarks.protocols.mixture_fit import MOST_REGRET, WITHIN
from benchmarks.protocols.processes import in_processes, one_thread
from benchmarks.protocols.subset_ranker import SubsetRanker
from benchmarks.worlds.world import World, load_both
from embeddings.weights import BlockWeights
from kg.errors import WorkspaceError
from kg.nouns.entities import Configuration, Problem
from kg.nouns.values import Settings
from recommender.calibration.mixture import ExpertMixture
from recommender.calibration.outlook import LISTED, Outlook
from recommender.calibration.similarity import Similarity, part_of
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from recommender.ranking.cases.evidence import CaseQuestion, ConfigurationReader
from recommender.ranking.cases.experts import program
from recommender.ranking.cases.ranker import Ranking

Truth = Mapping[Configuration, float]

KS = (1, 3, 5)
BASELINES = ("random", "popular", "robust", "nearest")
QUICK = {
    "*": 1.0,
    "aiconfigurator_attention_backend": 0.04,
    "aiconfigurator_gemm_backend": 0.04,
    "aiconfigurator_moe_parallel": 0.05,
    "aiter_tuned_kernels": 0,
    "clblast_winners": 0,
    "inferencex_agentic": 0,
    "inferencex_slo": 0,
    "lightllm_triton_winners": 0,
    "tpu_tuned_blocks_winners": 0,
    "trtllm_perf_overview": 0,
    "tvm_tophub_winners": 0,
    "vllm_mamba_ssu_winners": 0,
    "vllm_sglang_fp8_block_gemm_winners": 0,
    "vllm_sglang_moe_winners": 0,
}
"""Share of tasks that ``--quick`` reads of each corpus."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One method on one question.

    Attributes:
        name: Corpus, as it is reported.
        classes: Where it counts.
        method: Ours or a baseline.
        device: Hardware of the question.
        within: Chance that the best of the first k is within 5 %, by k.
        regrets: Least log regret of the first k, by k; nan where none of them was measured.
    """

    name: str
    classes: tuple[str, ...]
    method: str
    device: str
    within: tuple[float, ...]
    regrets: tuple[float, ...]


def questions(
    world: World, read: ConfigurationReader, key: int, name: str
) -> Iterator[tuple[CaseQuestion, Truth]]:
    """The questions of a problem with their truth: answer to log ratio over the best."""
    table = world.trials.table(key)
    configurations = read([int(item) for item in table.configuration_ids])
    asked = [CaseQuestion()]
    if name == "moe_layout":
        frameworks = sorted({str(configurations[int(i)].get("framework")) for i in table.configuration_ids})
        asked = [
            CaseQuestion(fixed=Settings({"framework": framework}), decide=("moe_tp_size", "moe_ep_size"))
            for framework in frameworks
        ]
    for question in asked:
        truth: dict[Configuration, float] = {}
        for item, cost in zip(table.configuration_ids.tolist(), table.costs.tolist(), strict=True):
            answer = question.answer(configurations[item])
            if answer is not None and math.isfinite(cost) and cost > 0:
                truth[answer] = min(truth.get(answer, math.inf), math.log(cost))
        if len(truth) >= 2:
            least = min(truth.values())
            yield question, {item: value - least for item, value in truth.items()}


def counts(name: str, truth: Truth) -> bool:
    """True if a problem is hard enough to count."""
    if name == "kernels":
        return sum(value < WITHIN for value in truth.values()) < 0.1 * len(truth)
    return name != "moe_layout" or max(truth.values()) >= math.log(1.5)


def ranked(
    fold: Fold, asked: World, ranker: SubsetRanker, k: int
) -> Iterator[tuple[Problem, CaseQuestion, Truth, Ranking]]:
    """The questions of a fold that count, each with its truth and the answer to it."""
    read = ConfigurationReader(asked.trials)
    for key in fold.asked:
        problem = asked.problems[key]
        hard = [item for item in questions(asked, read, key, fold.name) if counts(fold.name, item[1])]
        near = ranker.neighbours(problem) if hard else []
        for question, truth in hard:
            yield problem, question, truth, ranker.rank(problem, k, question, neighbours=near)


def judge(
    name: str, truth: Truth, proposals: Sequence[Configuration]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Judge the best of the first k: within 5 % or not, and its log regret; nan where it was not measured."""
    lacking = UNTRIED if name == "kernels" else math.inf
    least = [min((truth.get(item, lacking) for item in proposals[:k]), default=math.inf) for k in KS]
    return tuple(float(x < WITHIN) for x in least), tuple(x if math.isfinite(x) else math.nan for x in least)


def run(fold: Fold) -> tuple[list[Judged], list[outlook_figures.Row]]:
    """Ask one fold: every method judged, and each ranking beside its truth."""
    known, asked = _WORLDS
    read = ConfigurationReader(known.trials)
    judged: list[Judged] = []
    checked: list[outlook_figures.Row] = []
    defaults: dict[CaseQuestion, Defaults] | None = None
    with fold.ranker(known, asked, left_out=_left_out(fold, asked)) as ranker:
        for problem, question, truth, ranking in ranked(fold, asked, ranker, LISTED[-1]):
            item = check(problem, ranking, truth)
            if item is not None:
                checked.append((fold.name, fold.classes, item))
            if defaults is None:
                defaults = _defaults(known, read, list(ranker.taught), fold.name)
            default = defaults.get(question) or Defaults([])
            count = problem.hardware.count
            proposals = {
                "ours": ranking.configurations[: KS[-1]],
                "popular": default.popular(count),
                "robust": default.robust(count),
                "nearest": nearest_copied(ranking, KS[-1]),
            }
            found = {method: judge(fold.name, truth, proposed) for method, proposed in proposals.items()}
            within, regrets = zip(*(random_choice(list(truth.values()), k, WITHIN) for k in KS), strict=True)
            found["random"] = within, regrets
            judged += [
                Judged(fold.name, fold.classes, method, problem.hardware.name, *one)
                for method, one in found.items()
            ]
    return judged, checked


def _left_out(fold: Fold, asked: World) -> Callable[[Problem], BlockWeights]:
    """A function that gives block weights learned without the subject of a question."""
    similarity = Similarity.shipped()
    if _WITHOUT == "collection":
        corpora = {asked.problems[key].id: asked.corpora[key] for key in fold.asked}
        return lambda problem: similarity.left_out(corpora[problem.id])
    return lambda problem: similarity.left_out(part_of(problem.hardware.name))


_SEEN: dict[tuple[str, int], list[tuple[CaseQuestion, Truth]]] = {}


def _defaults(
    world: World, read: ConfigurationReader, keys: Sequence[int], name: str
) -> dict[CaseQuestion, Defaults]:
    """Popular and robust choices by question, over the problems that may be learned from."""
    tables: dict[CaseQuestion, list[tuple[int | None, Truth]]] = defaultdict(list)
    for key in keys:
        if (name, key) not in _SEEN:
            _SEEN[name, key] = list(questions(world, read, key, name))
        for question, table in _SEEN[name, key]:
            tables[question].append((world.problems[key].hardware.count, table))
    return {question: Defaults(items) for question, items in tables.items()}


def summary(judged: Sequence[Judged]) -> dict[str, Any] | None:
    """Figures of one class and method; None without a question."""
    if not judged:
        return None
    within = np.array([item.within for item in judged])
    regrets = np.array([item.regrets for item in judged])
    figures: dict[str, Any] = {"n": len(judged), "devices": len({item.device for item in judged})}
    for at, k in enumerate(KS):
        figures[f"k{k}"] = round(float(within[:, at].mean()), 4)
    for at, k in ((0, 1), (2, 5)):
        measured = regrets[np.isfinite(regrets[:, at]), at]
        figures[f"log_regret_k{k}"] = round(float(measured.mean()), 4) if len(measured) else None
    figures["coverage"] = round(float(np.isfinite(regrets[:, -1]).mean()), 4)
    devices = np.array([item.device for item in judged])
    is_measured = np.isfinite(regrets[:, 0])
    figures["se"] = {
        "k1": _rounded(standard_error(within[:, 0].tolist(), devices.tolist())),
        "log_regret_k1": _rounded(
            standard_error(regrets[is_measured, 0].tolist(), devices[is_measured].tolist())
        )
        if is_measured.any()
        else None,
    }
    return figures


def above_copying(ours: Sequence[Judged], copied: Sequence[Judged]) -> dict[str, float | None] | None:
    """Advantage over the nearest case copied, question by question, with standard errors over devices.

    The log regret counts what was not measured, and all beyond, as ``MOST_REGRET``: else who proposes what was
    measured more often would seem to lose more.
    """
    if not ours:
        return None
    devices = [item.device for item in ours]
    within = np.array([a.within[0] - b.within[0] for a, b in zip(ours, copied, strict=True)])
    first = np.array([[a.regrets[0], b.regrets[0]] for a, b in zip(ours, copied, strict=True)])
    capped = np.minimum(np.where(np.isfinite(first), first, MOST_REGRET), MOST_REGRET)
    lost = capped[:, 0] - capped[:, 1]
    return {
        "k1": _rounded(float(within.mean())),
        "k1_se": _rounded(standard_error(within.tolist(), devices)),
        "log_regret_k1": _rounded(float(lost.mean())),
        "log_regret_k1_se": _rounded(standard_error(lost.tolist(), devices)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def report(judged: Sequence[Judged]) -> dict[str, object]:
    """The tree of figures."""
    grouped: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for item in judged:
        for name in item.classes:
            grouped[item.name, name, item.method].append(item)
    names = list(dict.fromkeys(["kernels", "moe_layout", *(item.name for item in judged)]))

    def by_name(method: str) -> dict[str, object]:
        return {name: {part: summary(grouped[name, part, method]) for part in CLASSES} for name in names}

    return {
        **by_name("ours"),
        "above_copying": {
            name: {
                part: above_copying(grouped[name, part, "ours"], grouped[name, part, "nearest"])
                for part in CLASSES
            }
            for name in names
        },
        "baselines": {method: by_name(method) for method in BASELINES},
    }


_WORLDS: tuple[World, World]
_WITHOUT = "device"


def worlds() -> tuple[World, World]:
    """The known and the asked world, as :func:`use` set them."""
    return _WORLDS


def use(known: World, asked: World, without: str = "device") -> None:
    """Set what :func:`run` asks; processes that are forked afterwards inherit it.

    Args:
        known: What is known.
        asked: What is asked.
        without: What the block weights were learned without, a device or a collection.
    """
    global _WORLDS, _WITHOUT
    _WORLDS, _WITHOUT = (known, asked), without


def main() -> None:
    """Ask every fold and print the figures."""
    one_thread()
    arguments = harness.read(
        __doc__,
        harness.place("--known"),
        harness.place("--asked"),
        harness.option("--without", choices=("device", "collection"), default="device"),
        harness.option("--jobs", type=int, default=len(os.sched_getaffinity(0))),
        quick="a sample: minutes instead of an hour",
    )
    try:
        constants = ExpertMixture.shipped(program()).hash
    except WorkspaceError as error:
        harness.refuse(f"{error}: {error.hint}", error.exit_code)
    judged: list[Judged] = []
    checked: list[outlook_figures.Row] = []
    with tempfile.TemporaryDirectory() as place:
        known, asked = load_both(arguments, Path(place), lambda _: QUICK if arguments.quick else {"*": 1.0})
        use(known, asked, arguments.without)
        made = folds(known, asked, quick=arguments.quick, drawn=arguments)
        if not made:
            devices = sorted({problem.hardware.name for problem in asked.problems.values()})
            harness.refuse(
                f"{arguments.asked}: {len(asked.problems)} problems on {', '.join(devices) or 'no device'}, none of"
                " which can be asked: without it no other device or task is known; add cases of another"
            )
        for part in in_processes(run, made, arguments.jobs):
            judged += part[0]
            checked += part[1]
    by_class = intervals(checked, is_one_folder=known is asked)
    figures = report(judged) | outlook_figures.by_figure(by_class)
    arguments.last_line(
        {"nested": True, "constants": constants} | figures,
        n=sum(item.method == "ours" for item in judged),
    )


def intervals(checked: list[outlook_figures.Row], *, is_one_folder: bool) -> dict[str, object]:
    """Figures of intervals by class: each device forecast without it, or by the shipped outlook; null of one device."""
    if is_one_folder and len({row[2].device for row in checked if math.isfinite(row[2].truth)}) < 2:
        return dict.fromkeys((*CLASSES, "all"))
    if is_one_folder:  # the shipped outlook has seen these cases
        forecast = outlook_figures.left_out(checked, lambda row: row[2].device)
    else:
        forecast = outlook_figures.forecasts(checked, Outlook.shipped(CIRCUMSTANCES))
    return outlook_figures.figures(checked, forecast)


if __name__ == "__main__":
    main()
