"""Fit the likeness of deployments that ships in ``data/retrieval/step_rates.json``.

``python -m tools.fit_step_rates CASES`` reads the serving cases of a folder and maximises the marginal
likelihood of a sample of them, with a wide prior around round numbers. It does not look at which layouts are
chosen, but it has seen the measured times: ``benchmarks/answers/serving.py --nested`` fits again without what
is withheld.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recommender.calibration.step_rates import StepKernel, fit_factors
from recommender.ranking.deployments.deployments import Deployments
from recommender.ranking.deployments.served_cases import served_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree
    from recommender.ranking.deployments.served_cases import ServedCase, Work

SAMPLE = 450
"""Rows that are fitted to: their covariance costs the cube of their number."""
ROUNDS = 25
PRIOR_SPREAD = 1.5
"""Standard deviation of the log of each number of the kernel around :data:`PRIOR`."""
PRIOR = StepKernel(
    vendor=0.3, architecture=0.3, any_device=0.2, other_model=0.5, other_framework=0.5, other_precision=1.0,
    common=0.3, own=0.1, switched=0.05, layout=0.05, layout_of_model=0.05, layout_of_all=0.08, noise=0.003,
    concurrency=0.3, tensor=0.6, input_len=0.2, output_len=0.2, experts=0.7, replicas=0.7, drafts=0.7,
)  # fmt: skip
_LOSS_OF_NONE = 1e6


def fit_kernel(
    tree: HardwareTree,
    sizes_of: Callable[[str], Mapping[str, Value]],
    cases: Callable[[Work | None], Sequence[ServedCase]],
) -> StepKernel:
    """The kernel under which a sample of measured rows is most likely."""
    from scipy.optimize import minimize

    known, parts, times = Deployments(tree, sizes_of, cases).rows(None)
    chosen = np.random.default_rng(0).permutation(len(times))[:SAMPLE]
    remains = (np.log(times) - np.log(parts @ fit_factors(known, parts, times)))[chosen]
    sample = known.part(chosen)
    start = np.log(PRIOR.values())

    def loss(logs: NDArray[np.float64]) -> float:
        kernel = StepKernel.of(np.exp(logs).tolist())
        covariance = kernel.covariance(sample, sample) + kernel.noise * np.eye(len(remains))
        try:
            root = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            return _LOSS_OF_NONE
        whitened = np.linalg.solve(root, remains)
        likelihood = 0.5 * whitened @ whitened + float(np.log(np.diag(root)).sum())
        return float(likelihood + 0.5 * ((logs - start) ** 2).sum() / PRIOR_SPREAD**2)

    found = minimize(loss, start, method="L-BFGS-B", options={"maxiter": ROUNDS})
    return StepKernel.of(np.exp(found.x).tolist())


def main() -> int:
    """Write the kernel fitted to the serving cases of a folder."""
    from benchmarks.answers.serving import is_serving
    from benchmarks.worlds.world import load

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("cases", type=Path, help="folder of cases")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "known"
        source.mkdir()
        for path in sorted(given.cases.glob("*.jsonl*")):
            if is_serving(path):
                (source / path.name).symlink_to(path.resolve())
        workspace = load(source, Path(folder) / "world", {"*": 1.0}).workspace
        cases = served_cases(workspace.snapshot.graph, workspace.trials, workspace.hardware)
        kernel = fit_kernel(workspace.hardware, workspace.snapshot.sizes_of, lambda _: cases)
    shown = {name: float(f"{value:.4g}") for name, value in asdict(kernel).items()}
    if not all(map(math.isfinite, shown.values())):
        return 1
    target = Path(__file__).parent.parent / "data" / "retrieval" / "step_rates.json"
    target.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} measured deployments, wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
