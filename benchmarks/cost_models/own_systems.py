"""Measures the worth of three runs on a machine for other models there, on published tables of GPUs.

    python -m benchmarks.cost_models.own_systems --asked FILE... [--rows N] [--seed N]

The files are cases (``.jsonl.gz``), one for each publication. Of each model on each engine and device all rows are asked
after three drawn rows of another model, or of three others, were told as one's own; shares of the variance are fitted
without the asked file, and of a class with one file without the asked device. ``off`` is the root mean square of the log
error, ``inside`` the share of rows within the 90 % interval, ``width`` the factor that it reaches to, each before and
after. ``shares`` has those of all files.
"""

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from benchmarks.cost_models.end_to_end import points, read
from benchmarks.cost_models.gpu_spreads import read_options
from benchmarks.worlds.shipped import ShippedKnowledge
from kg.nouns.gain import NORMAL_90
from recommender.cost_model.anchors import EFFECTS, OWN_SITE, Anchors, MeasuredStep, sharing
from recommender.cost_model.estimate import class_spread
from recommender.cost_model.measured.correction import UNLIKE

EACH = 6
"""Rows of a model on a system that the fit reads, so that long tables do not drown others."""
TOLD = 3
Shares = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Row:
    """A published row beside physics, and its file."""

    table: str
    step: MeasuredStep

    @property
    def kind(self) -> str:
        """Class of its engine."""
        return self.step.key.phase.partition(" ")[0]


def fitted(rows: Sequence[Row]) -> Shares:
    """Shares of the variance of each class that its effects have, as they make its rows most likely."""
    found = {}
    for kind in sorted({row.kind for row in rows}):
        steps = [
            replace(row.step, key=replace(row.step.key, site=row.table)) for row in rows if row.kind == kind
        ]
        ratios = np.array([step.log_ratio for step in steps])
        same = [*sharing(steps).values(), np.eye(len(steps))]

        def unlikely(logs: np.ndarray, ratios: np.ndarray = ratios, same: list[np.ndarray] = same) -> float:
            covariance = sum(np.exp(2 * log) * matrix for log, matrix in zip(logs, same, strict=True))
            lower = np.linalg.cholesky(covariance)
            return float(np.sum(np.linalg.solve(lower, ratios) ** 2) / 2 + np.sum(np.log(np.diag(lower))))

        start = np.full(len(same), math.log(float(np.sqrt(np.mean(ratios**2) / len(same)))))
        fit = minimize(
            unlikely, start, method="L-BFGS-B", bounds=[(-4, 2)] * len(same), options={"ftol": 1e-4}
        )
        variances = np.exp(2 * fit.x)
        names = (*EFFECTS, "noise")
        found[kind] = {
            name: round(float(one), 3) for name, one in zip(names, variances / sum(variances), strict=True)
        }
    return found


def scored(
    rows: Sequence[Row], shares: Shares, chance: random.Random, models: int
) -> list[tuple[float, ...]]:
    """Error and spread of rows of models, before and after three rows of others were told, of so many models."""
    found: list[tuple[float, ...]] = []
    systems = defaultdict[tuple[str, ...], dict[str, list[MeasuredStep]]](dict)
    for step in (row.step for row in rows):
        place = (step.key.phase, step.key.engine, step.key.device)
        systems[place].setdefault(step.key.model, []).append(step)
    for here in systems.values():
        for asked, steps in here.items():
            others = [alike for name, alike in here.items() if name != asked and len(alike) >= TOLD // models]
            if len(others) < models:
                continue
            chosen = [chance.sample(alike, TOLD // models) for alike in chance.sample(others, models)]
            told = (replace(step, key=replace(step.key, site=OWN_SITE)) for alike in chosen for step in alike)
            own = Anchors(steps=tuple(told), site=OWN_SITE, own_shares=shares)
            for step in steps:
                if (after := own.correction(step.key, step.spread)) is not None:
                    off, spread = step.log_ratio, min(after.spread, step.spread)
                    found.append((off, step.spread, off - after.log_factor, spread))
    return found


def figures(found: Sequence[tuple[float, ...]]) -> dict[str, object]:
    """Errors, coverage and widths, before and after."""
    table = np.array(found)
    off = np.sqrt(np.mean(table[:, [0, 2]] ** 2, axis=0))
    inside = np.abs(table[:, [0, 2]]) <= NORMAL_90 * table[:, [1, 3]]
    width = np.exp(NORMAL_90 * table[:, [1, 3]])
    pairs = {"off": off, "inside": np.mean(inside, axis=0), "width": np.median(width, axis=0)}
    return {"n": len(table), **{name: np.round(pair, 2).tolist() for name, pair in pairs.items()}}


def main() -> None:
    """Read, fit without each file, score, print."""
    chosen = read_options(__doc__)
    known, rows, chance = ShippedKnowledge.load(), [], random.Random(chosen.seed)
    for path in chosen.asked:
        drawn = read([path])
        chance.shuffle(drawn)
        for one in points(drawn[: chosen.rows], known)[0]:
            asked = one.asked
            spread = class_spread(asked.model, asked.machine, asked.phase, asked.engine)
            key = replace(one.step.key, engine=one.step.key.engine or "unstated")
            row = Row(path.name.partition(".")[0], replace(one.step, key=key, spread=spread))
            if abs(row.step.log_ratio) < UNLIKE:
                rows.append(row)
    kept, seen = [], defaultdict[object, int](int)
    for row in rows:
        seen[row.table, row.step.key] += 1
        kept += [row] if seen[row.table, row.step.key] <= EACH else []
    results = defaultdict[str, list[tuple[float, ...]]](list)
    for kind in sorted({row.kind for row in rows}):
        alike = [row for row in rows if row.kind == kind]
        tables = {row.table for row in alike}
        apart = [row.table if len(tables) > 1 else row.step.key.device for row in alike]
        for name in sorted(set(apart)):
            left = {id(row) for row, where in zip(alike, apart, strict=True) if where == name}
            shares = fitted([row for row in kept if row.kind == kind and id(row) not in left])
            for models in (1, TOLD):
                told = f"{kind}, {TOLD // models} of {models}"
                results[told] += scored([row for row in alike if id(row) in left], shares, chance, models)
    result = {kind: figures(found) for kind, found in results.items() if found}
    chosen.last_line({**result, "shares": fitted(kept)}, n=sum(len(found) for found in results.values()))


if __name__ == "__main__":
    main()
