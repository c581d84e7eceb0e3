"""What the size of the response model is worth where it was not chosen: chosen again without each group.

    python -m tools.fitting.tree_size --cases DIR

Asks the kernels and a sample of the MoE layouts of ``benchmarks.answers.unseen --quick`` with each size. The
one with the least loss on the other groups answers for a group, a device or a kind of problem; a loss is
half a miss of the first proposal and half its log regret, the mean of devices and kinds. The last line has
the share within 5 % of the best by the shipped size and by the chosen ones.
"""

import argparse
import math
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers import unseen
from benchmarks.harness import last_line
from benchmarks.protocols.folds import folds
from benchmarks.protocols.mixture_fit import MOST_REGRET
from benchmarks.protocols.processes import one_thread
from benchmarks.worlds.world import load
from recommender.calibration import trees

SHIPPED = "shipped"
SIZES = {
    SHIPPED: trees.size,
    "half": trees.TreeSize(trees=75, leaves=(8, 64)),
    "double": trees.TreeSize(trees=300, leaves=(32, 256)),
    "scikit-learn": trees.TreeSize(trees=100, learning_rate=0.1, leaves=(31, 31), least_in_leaf=20),
}
MOE = {"aiconfigurator_moe_parallel": 0.05}


def answers(share: dict[str, float], cases: Path) -> dict[str, list[unseen.Judged]]:
    """First proposals by the name of a size, the same questions in the same order."""
    found: dict[str, list[unseen.Judged]] = {}
    with tempfile.TemporaryDirectory() as place:
        known = load(cases, Path(place) / "known", share)
        unseen.use(known, known)
        asked = folds(known, known, quick=True)
        for name, size in SIZES.items():
            trees.size = size  # forked processes inherit it
            with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
                parts = list(pool.map(unseen.run, asked))
            found[name] = [one for judged, _ in parts for one in judged if one.method == "ours"]
    return found


def chosen(losses: NDArray[np.float64], cells: NDArray[np.str_]) -> int:
    """The size with the least mean loss over cells: losses of shape (sizes, questions)."""
    means = [losses[:, cells == cell].mean(axis=1) for cell in np.unique(cells)]
    return int(np.argmin(np.mean(means, axis=0)))


def _loss(one: unseen.Judged) -> float:
    regret = one.regrets[0] if math.isfinite(one.regrets[0]) else MOST_REGRET
    return 0.5 * (1 - one.within[0]) + 0.5 * min(regret, MOST_REGRET) / MOST_REGRET


def left_out(
    found: dict[str, list[unseen.Judged]], groups: Sequence[str]
) -> tuple[dict[str, str], dict[str, tuple[float, float]]]:
    """The size chosen without each group, and the shares by operator: shipped, and as chosen."""
    names = list(found)
    first = found[SHIPPED]
    losses = np.array([[_loss(one) for one in found[name]] for name in names])
    within = np.array([[one.within[0] for one in found[name]] for name in names])
    of, operators = np.array(groups), np.array([one.name for one in first])
    cells = np.array([f"{one.name}|{one.device}" for one in first])
    picked, got = {}, np.zeros(len(first))
    for group in np.unique(of):
        others = of != group
        best = chosen(losses[:, others], cells[others])
        picked[str(group)] = names[best]
        got[of == group] = within[best, of == group]
    at = names.index(SHIPPED)
    shares = {}
    for name in np.unique(operators):
        mine = operators == name
        shares[str(name)] = (
            round(float(within[at, mine].mean()), 4),
            round(float(got[mine].mean()), 4),
        )
    return picked, shares


def main() -> None:
    """Ask, choose, print."""
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, required=True, help="folder of case files")
    cases = parser.parse_args().cases
    kernels = {path.name.split(".")[0]: 1.0 for path in cases.glob("kerneltuner_*")}
    found = answers({"*": 0.0, **MOE, **kernels}, cases)
    result = {}
    for axis in ("device", "name"):
        picked, shares = left_out(found, [getattr(one, axis) for one in found[SHIPPED]])
        print(f"left out by {axis}: {picked}")
        result["kind" if axis == "name" else axis] = {
            name: {"shipped": shipped, "chosen": other} for name, (shipped, other) in shares.items()
        }
    last_line(result)


if __name__ == "__main__":
    main()
