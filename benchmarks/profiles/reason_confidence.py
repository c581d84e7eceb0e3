"""The two constants of the confidence that a cause is the reason, fitted where the reason is known.

    python -m benchmarks.profiles.reason_confidence --profiles DIR [--seed N] [--runs N]

Faults by mechanism are put into the jobs of ``CHOOSING`` (benchmarks/profiles/mechanism_scores.py), the jobs' own losses
left in. Each named cause gives one row: the part of the time that all named repairs save which is its own, and whether
it is what was put in. The last line is one JSON object with the logistic curve of the one over the other.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.profiles import mechanism_scores
from benchmarks.profiles.diagnosis import NETWORK, THRESHOLDS
from benchmarks.protocols.lines import last_line
from recommender.diagnosis.diagnosis import diagnose

if TYPE_CHECKING:
    from ingest.profiles.facts.run import Profile
    from recommender.diagnosis.diagnosis import Diagnosis

SMALL = 1e-2
"""Weight of the square of each constant: keeps the curve finite where the rows are separable."""
ROUNDS = 200


def fitted(parts: list[float], held: list[bool]) -> tuple[float, float]:
    """Bias and slope of the logistic curve that gives the rows the greatest likelihood (Newton's method)."""
    x, y = np.column_stack([np.ones(len(parts)), parts]), np.array(held, dtype=np.float64)
    weights = np.zeros(2)
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (p - y) + SMALL * weights
        curve = (x.T * (p * (1 - p))) @ x + SMALL * np.eye(2)
        weights -= np.linalg.solve(curve, slope)
    return float(weights[0]), float(weights[1])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--profiles", type=Path, required=True)
    options.add_argument("--seed", type=int, default=61)
    options.add_argument("--runs", type=int, default=2)
    given = options.parse_args()
    rows: list[tuple[float, bool]] = []

    def asked(now: Profile, before: Profile | None) -> Diagnosis:
        return diagnose(now, NETWORK, THRESHOLDS, before=before)

    with tempfile.TemporaryDirectory() as temporary:
        mechanism_scores.score(
            given.profiles,
            Path(temporary),
            np.random.default_rng(given.seed),
            asked,
            names=mechanism_scores.CHOOSING,
            runs=given.runs,
            claims=rows,
        )
    bias, slope = fitted([part for part, _ in rows], [right for _, right in rows])
    last_line({"bias": round(bias, 3), "slope": round(slope, 3), "n": len(rows), "seed": given.seed})


if __name__ == "__main__":
    main()
