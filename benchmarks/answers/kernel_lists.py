"""Lists of configurations for an autotuner: how good is the best of the first k, timed on the device?

``python -m benchmarks.answers.kernel_lists --known CASES --asked CASES`` asks about every device of the exhaustive
Kernel Tuner spaces as if it were not known (``unseen.py``, whose folds these are), for lists of 1, 3, 5 and 10.
Beside ours: the nearest space copied in its order, the most frequent winners, the configurations that lost least on
average, and random ones. ``expected`` is what is said of the list before anything is timed. The last line is JSON.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.answers.unseen import questions, ranked
from benchmarks.protocols.baselines import LONGEST, UNTRIED, Defaults, nearest_copied, random_choice
from benchmarks.protocols.folds import CLASSES, Fold, folds
from benchmarks.protocols.mixture_fit import WITHIN
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.world import World, load_both
from recommender.calibration.outlook import Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES, circumstances
from recommender.ranking.cases.evidence import ConfigurationReader
from recommender.ranking.cases.reference import reference_of

LISTS = (1, 3, 5, 10)
METHODS = ("ours", "nearest", "popular", "robust")


@dataclass(frozen=True, slots=True)
class ListRegrets:
    """The lists for one device of one kernel.

    Attributes:
        regrets: By method, least log regret of the first k of :data:`LISTS`.
        chance: Of random lists, the chance to be within 5 % and the expected log regret.
        expected: Log regret by k as it is said beforehand; empty where nothing was timed.
    """

    regrets: Mapping[str, tuple[float, ...]]
    chance: tuple[tuple[float, float], ...]
    expected: Mapping[int, float]


def answers(fold: Fold, known: World, asked: World) -> Iterator[ListRegrets]:
    """The lists for every problem of a fold, judged."""
    read = ConfigurationReader(known.trials)
    outlook = Outlook.shipped(CIRCUMSTANCES)
    with fold.ranker(known, asked) as ranker:
        default = Defaults(
            (known.problems[key].hardware.count, table)
            for key in ranker.taught
            for _, table in questions(known, read, key, "kernels")
        )
        for problem, _, truth, ranking in ranked(fold, asked, ranker, LONGEST):
            reference = reference_of(problem, ranking)
            expected: Mapping[int, float] = {}
            if reference is not None:
                expected = outlook.regret(circumstances(ranking, ranking.order[0], reference))
            lists = {
                "ours": ranking.configurations,
                "nearest": nearest_copied(ranking, LONGEST),
                "popular": default.popular(problem.hardware.count),
                "robust": default.robust(problem.hardware.count),
            }
            regrets = {
                method: tuple(
                    min((truth.get(item, UNTRIED) for item in items[:k]), default=UNTRIED) for k in LISTS
                )
                for method, items in lists.items()
            }
            values = list(truth.values())
            yield ListRegrets(regrets, tuple(random_choice(values, k, WITHIN) for k in LISTS), expected)


def figures(lists: Sequence[ListRegrets]) -> dict[str, object]:
    """Shares within 5 % and mean log regrets of one class."""

    def row(within: NDArray[Any], regrets: NDArray[np.float64]) -> dict[str, float]:
        return {
            **{f"k{k}": round(float(within[:, at].mean()), 4) for at, k in enumerate(LISTS)},
            **{f"log_regret_k{k}": round(float(regrets[:, at].mean()), 4) for at, k in enumerate(LISTS)},
        }

    made: dict[str, object] = {"n": len(lists)}
    for method in METHODS:
        table = np.array([item.regrets[method] for item in lists])
        made[method] = row(table < WITHIN, table)
    chance = np.array([item.chance for item in lists])
    made["random"] = row(chance[:, :, 0], chance[:, :, 1])
    expected = [item.expected for item in lists if item.expected]
    made["expected"] = {
        f"log_regret_k{k}": round(float(np.mean([item[k] for item in expected])), 4) if expected else None
        for k in LISTS
    }
    return made


def main() -> None:
    """Ask every fold of the kernels and print the figures."""
    one_thread()
    arguments = harness.read(
        __doc__, harness.place("--known"), harness.place("--asked"), quick="pnpoly alone"
    )
    only = "kerneltuner_pnpoly*" if arguments.quick else "kerneltuner_*"
    by_class: dict[str, list[ListRegrets]] = {name: [] for name in CLASSES}
    with tempfile.TemporaryDirectory() as place:
        known, asked = load_both(
            arguments,
            Path(place),
            lambda folder: {"*": 0} | {path.name.split(".")[0]: 1.0 for path in folder.glob(only)},
        )
        for fold in folds(known, asked, quick=False, drawn=arguments):
            if fold.name == "kernels":
                lists = list(answers(fold, known, asked))
                for name in fold.classes:
                    by_class[name] += lists
    arguments.last_line(
        {name: figures(lists) if lists else None for name, lists in by_class.items()},
        n=sum(map(len, by_class.values())),
    )


if __name__ == "__main__":
    main()
