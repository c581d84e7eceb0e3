"""Fitting of the cost model to measured operators: constants first, then a learned residual.

Groups are left out, never random rows. The error stored with the constants is the one on groups
left out.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.cost_model.fit import learning
from recommender.cost_model.fit.measurements import ShapeTable, kind_of, read_rows, table
from recommender.cost_model.operators.kinds import (
    CalibratedOperator,
    OperatorKind,
    Operators,
    reference_device,
    save,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.physics import Floats
FOLDS = 10
MACHINE = "A/"
"""Collectives of this machine; the second machine of the table counts sizes in another unit."""


def fit(kind: OperatorKind, rows: ShapeTable, device: Device, *, iterations: int = 15) -> CalibratedOperator:
    """Constants and residual of one kind from measured shapes; no error yet."""
    names = list(kind.prior)
    prior = np.log([kind.prior[name] for name in names])

    def analytic(logs: Floats) -> Floats:
        return kind.analytic(device, rows.x, dict(zip(names, np.exp(logs), strict=True)))[0]

    logs = learning.fit_constants(analytic, prior, rows.measured_us)
    constants = {name: float(value) for name, value in zip(names, np.exp(logs), strict=True)}
    times, features = kind.analytic(device, rows.x, constants)
    shortest = float(np.min(times))
    residual = learning.fit_residual(
        features,
        np.log(rows.measured_us / times),
        np.minimum(1.0, (1.5 * shortest / times) ** 2),
        kernels=kind.kernels,
        groups=rows.blocks(),
        trees=kind.trees,
        iterations=iterations,
    )
    return CalibratedOperator(kind, MappingProxyType(constants), residual, 0.5, {})


def folds(groups: NDArray[np.str_], count: int = FOLDS) -> Iterator[NDArray[np.bool_]]:
    """Masks of the rows to leave out, whole groups at a time; every row is left out once."""
    names = np.unique(groups)
    order = np.random.default_rng(0).permutation(len(names))
    for start in range(min(count, len(names))):
        yield np.isin(groups, names[order[start :: min(count, len(names))]])


def predict_left_out(
    kind: OperatorKind, rows: ShapeTable, device: Device, *, count: int = FOLDS, iterations: int = 15
) -> Floats:
    """Predictions for every shape from a model that saw none of its group; microseconds."""
    predicted = np.full(len(rows.measured_us), np.nan)
    for mask in folds(rows.groups, count):
        model = fit(kind, rows.select(~mask), device, iterations=iterations)
        predicted[mask] = model.times_us(device, rows.x[mask])
    return predicted


def calibrate(files: Sequence[Path], target: Path, *, on: date, quick: bool = False) -> Operators:
    """Fit every kind that the files hold and write the constants.

    Args:
        files: CSV files, or folders of them.
        target: Folder for ``constants.json`` and one array file per kind.
        on: Date to store.
        quick: Fewer folds and iterations.

    Raises:
        InputError: No file holds a table of a known kind.
        CaseFormatError: A table has faults.
    """
    where = reference_device()
    paths = [path for given in files for path in (sorted(given.glob("*.csv")) if given.is_dir() else [given])]
    fitted: dict[str, CalibratedOperator] = {}
    for path in paths:
        raw = read_rows(path)
        kind = kind_of(path, raw)
        if kind is None:
            continue
        keep = (
            MACHINE
            if kind.stem == "collective" and any(r.get("group", "").startswith(MACHINE) for r in raw)
            else ""
        )
        rows = table(path, kind, raw, keep=keep)
        iterations = 5 if quick else 15
        guesses = predict_left_out(kind, rows, where, count=3 if quick else FOLDS, iterations=iterations)
        best = fit(kind, rows, where, iterations=iterations)
        miss = np.log(rows.measured_us / guesses)
        error = np.abs(guesses / rows.measured_us - 1)
        header = {
            "source": list(rows.sources)[:8],
            "date": on.isoformat(),
            "device": where.id,
            "rows": len(rows.measured_us),
            "groups": len(rows.blocks()),
            "left_out_mape_percent": round(100 * float(np.mean(error)), 2),
            "left_out_median_percent": round(100 * float(np.median(error)), 2),
        }
        fitted[kind.stem] = CalibratedOperator(
            kind, best.constants, best.residual, float(np.sqrt(np.mean(miss**2))), MappingProxyType(header)
        )
    if not fitted:
        raise InputError(
            "none of the files is a table of measured operators",
            hint="a CSV named after its kind, such as matmul_bf16.csv, with m, n, k and measured_us",
        )
    operators = Operators(MappingProxyType(fitted), where)
    save(operators, target)
    return operators
