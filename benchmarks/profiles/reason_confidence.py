"""The constants of the confidence that a cause is the reason, fitted where the reason is known.

    python -m benchmarks.profiles.reason_confidence --profiles DIR [--seed N] [--runs N]

Faults by mechanism are put into all jobs of benchmarks/profiles/mechanism_scores.py, the jobs' own losses left in.
Each named cause gives one row: the part of the cost of all named causes which is its own, and whether
it is what was put in. Printed: the logistic curve of the one over the other for all jobs, and the nested figures: the
rows of drawn jobs (``--all``: of each) are scored with the curve of the other jobs. ``--quick`` asks a drawn third of
the mechanisms on two drawn jobs, one of them held out.
"""

import math
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.profiles import mechanism_scores
from benchmarks.profiles.mechanisms.table import MECHANISMS
from recommender.diagnosis.diagnosis import confidence_of

SMALL = 1e-2
"""Weight of the square of the slope: keeps the curve finite where the rows are separable."""
ROUNDS = 200
ALONE = 1 - 1e-9
"""Part of a cause that was named alone: the whole, but for rounding."""


def fitted(parts: list[float], held: list[bool]) -> float:
    """Slope of the logistic curve through one half at one half that gives the rows the greatest likelihood.

    Of two causes with half of the time each no more than one is the reason, so one half is what each has.
    """
    x, y = np.array(parts) - 0.5, np.array(held, dtype=np.float64)
    slope = 0.0
    for _ in range(ROUNDS):  # Newton's method
        p = 1 / (1 + np.exp(-slope * x))
        slope -= float((x @ (p - y) + SMALL * slope) / ((p * (1 - p)) @ x**2 + SMALL))
    return slope


def confidence(slope: float, part: float, most: float) -> float:
    """The confidence that a curve gives a part of the cost, at most ``most``."""
    return float(min(most, 1 / (1 + math.exp(-slope * (part - 0.5)))))


def most_of(rows: Sequence[tuple[float, bool]]) -> float:
    """Laplace's rule of succession for causes that were named alone; below one for whatever happened."""
    alone = [right for part, right in rows if part >= ALONE]
    return (sum(alone) + 1) / (len(alone) + 2)


def nested(
    by_job: Mapping[str, list[tuple[float, bool]]], held: frozenset[str], *, together: bool
) -> list[tuple[float, bool]]:
    """Confidence and outcome of the rows of jobs ``held`` out, with the curve of the others."""
    told: list[tuple[float, bool]] = []
    for job, rows in ((job, by_job[job]) for job in sorted(held)):
        apart = held if together else {job}
        others = [row for name, theirs in by_job.items() if name not in apart for row in theirs]
        slope = fitted([part for part, _ in others], [right for _, right in others])
        told += [(confidence(slope, part, most_of(others)), right) for part, right in rows]
    return told


def main() -> None:
    given = harness.read(
        __doc__,
        harness.place("--profiles", "--known"),
        harness.option("--runs", type=int, default=2),
        quick="a drawn third of the mechanisms on two drawn jobs",
        published=61,
    )
    jobs: Collection[str] = (*mechanism_scores.CHOOSING, *mechanism_scores.REPORTED)
    mechanisms: Collection[str] = [item.name for item in MECHANISMS]
    if given.quick and not given.all:
        jobs = sorted(given.draw("asked job", jobs, share=0, least=2))
        mechanisms = given.draw("mechanism", mechanisms, share=1 / 3)
    by_job: dict[str, list[tuple[float, bool]]] = {}

    random = given.rng()
    with tempfile.TemporaryDirectory() as temporary:
        for job in jobs:
            mechanism_scores.score(
                given.profiles,
                Path(temporary),
                random,
                names=(job,),
                runs=given.runs,
                claims=by_job.setdefault(job, []),
                mechanisms=[item for item in MECHANISMS if item.name in mechanisms],
            )
    rows = [row for mine in by_job.values() for row in mine]
    slope = fitted([part for part, _ in rows], [right for _, right in rows])
    held = given.draw("job", by_job)
    given.last_line(
        {
            "slope": round(slope, 3),
            "most": round(most_of(rows), 4),
            "by_job": {job: len(mine) for job, mine in by_job.items()},
            "nested": mechanism_scores.reason_figures(nested(by_job, held, together=not given.all)),
            "shipped": mechanism_scores.reason_figures(
                [(confidence_of(part), right) for part, right in rows]
            ),
        },
        n=sum(len(by_job[job]) for job in held),
    )


if __name__ == "__main__":
    main()
