"""Measures intervals and abstention: coverage, width and interval score, and the curve of risk.

The interval score (Gneiting and Raftery 2007) of a 90 % interval is its width and twenty times by how much the
truth lies outside; less is better. Beside ours: one constant width for all (5 and 95 % quantiles of the errors
elsewhere), and a width in proportion to how much the nearest cases disagree.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recommender.calibration.outlook import ABSTAIN_ABOVE, Checked, Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES

CLASSES = ("same_vendor", "other_class", "other_vendor", "known_device")
LEAST_PROBLEMS, LEAST_DEVICES = 300, 5
"""A class needs so many to be judged by its coverage."""

_MISS = 20
_DISAGREEMENT = CIRCUMSTANCES.index("sources differ in range")
METHODS = ("ours", "constant_width", "nearest_spread")
SHARES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)

Row = tuple[str, tuple[str, ...], Checked]
Forecast = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


def _ends(errors: NDArray[np.float64], scale: NDArray[np.float64] | None = None) -> tuple[float, float]:
    relative = errors if scale is None else errors / scale
    low, high = np.quantile(relative, (0.05, 0.95))
    return float(low), float(high)


def forecasts(
    asked: Sequence[Row], outlook: Outlook, known: Sequence[Checked]
) -> tuple[Forecast, NDArray[np.float64]]:
    """Bounds of each method for each question, and the regret that is expected of the first proposal."""
    bounds: Forecast = {name: (np.full(len(asked), np.nan), np.full(len(asked), np.nan)) for name in METHODS}
    regret = np.full(len(asked), np.nan)
    measured = [item for item in known if np.isfinite(item.truth)]
    errors = np.array([item.truth - item.gain for item in measured])
    spread = np.exp([item.row[_DISAGREEMENT] for item in measured])
    constant, nearest = (_ends(errors), _ends(errors, spread)) if measured else ((0.0, 0.0), (0.0, 0.0))
    for at, (_, _, item) in enumerate(asked):
        told = outlook.forecast(item.row, item.distance, item.gain)
        wide = float(np.exp(item.row[_DISAGREEMENT]))
        said = {
            "ours": (told.low, told.high),
            "constant_width": (item.gain + constant[0], item.gain + constant[1]),
            "nearest_spread": (item.gain + nearest[0] * wide, item.gain + nearest[1] * wide),
        }
        for name, (low, high) in said.items():
            bounds[name][0][at], bounds[name][1][at] = low, high
        regret[at] = outlook.regret(item.row)[1]
    return bounds, regret


def left_out(rows: Sequence[Row], block: Callable[[Row], str]) -> tuple[Forecast, NDArray[np.float64]]:
    """Forecasts for each block by an outlook that was learned without it."""
    places = defaultdict(list)
    for at, row in enumerate(rows):
        places[block(row)].append(at)
    bounds: Forecast = {name: (np.zeros(len(rows)), np.zeros(len(rows))) for name in METHODS}
    regret = np.zeros(len(rows))
    for mine in places.values():
        inside = set(mine)
        known = [row[2] for at, row in enumerate(rows) if at not in inside]
        part, expected = forecasts([rows[at] for at in mine], Outlook.fit(known, CIRCUMSTANCES, ""), known)
        regret[mine] = expected
        for name in METHODS:
            bounds[name][0][mine], bounds[name][1][mine] = part[name]
    return bounds, regret


def figures(rows: Sequence[Row], told: tuple[Forecast, NDArray[np.float64]]) -> dict[str, object]:
    """``gain_coverage``, ``gain_width``, ``interval_score`` and ``abstention`` by class."""
    bounds, expected = told
    truth = np.array([row[2].truth for row in rows])
    regret = np.array([row[2].regrets[0] for row in rows])
    result: dict[str, object] = {}
    for name in (*CLASSES, "all"):
        mine = np.array([name == "all" or name in row[1] for row in rows], bool)
        measured = mine & np.isfinite(truth)
        devices = len({row[2].device for row, is_mine in zip(rows, measured, strict=True) if is_mine})
        if not measured.any():
            result[name] = None
            continue
        entry: dict[str, object] = {
            "n": int(measured.sum()),
            "devices": devices,
            "judged": bool(measured.sum() >= LEAST_PROBLEMS and devices >= LEAST_DEVICES),
        }
        for key, value in (("gain_coverage", 0), ("gain_width", 1), ("interval_score", 2)):
            entry[key] = {
                method: round(_scores(*bounds[method], truth, measured)[value], 4) for method in METHODS
            }
        entry["abstention"] = _abstention(expected, regret, mine)
        result[name] = entry
    return result


def by_figure(tree: dict[str, object]) -> dict[str, object]:
    """The same with the figure first: ``gain_coverage`` and so on, each by class."""
    names = ("gain_coverage", "gain_width", "interval_score", "abstention")
    return {
        key: {name: entry[key] if isinstance(entry, dict) else None for name, entry in tree.items()}
        for key in names
    } | {
        "intervals_checked": {
            name: {part: entry[part] for part in ("n", "devices", "judged")}
            if isinstance(entry, dict)
            else None
            for name, entry in tree.items()
        }
    }


def _scores(
    low: NDArray[np.float64], high: NDArray[np.float64], truth: NDArray[np.float64], mine: NDArray[np.float64]
) -> tuple[float, float, float]:
    low, high, truth = low[mine], high[mine], truth[mine]
    width = high - low
    missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return float((missed <= 0).mean()), float(np.median(width)), float((width + _MISS * missed).mean())


def _abstention(
    expected: NDArray[np.float64], regret: NDArray[np.float64], mine: NDArray[np.bool_]
) -> dict[str, object]:
    answered = mine & (expected <= ABSTAIN_ABOVE)
    known = mine & np.isfinite(regret)

    def mean(chosen: NDArray[np.bool_]) -> float | None:
        return round(float(regret[chosen].mean()), 4) if chosen.any() else None

    order = np.flatnonzero(known)[np.argsort(expected[known], kind="stable")]
    return {
        "answered": round(float(answered.sum() / mine.sum()), 4),
        "log_regret_answered": mean(answered & known),
        "log_regret_abstained": mean(known & ~answered),
        "risk_at_share": {
            f"{share:.2f}": round(float(regret[order[: max(1, round(share * len(order)))]].mean()), 4)
            for share in SHARES
        },
    }


def show(title: str, tree: dict[str, object]) -> None:
    """The figures for people."""
    print(
        f"\n{title}: coverage, median width, interval score (ours | constant | nearest spread)",
        file=sys.stderr,
    )
    for name, entry in tree.items():
        if not isinstance(entry, dict):
            continue
        cells = [
            "/".join(f"{entry[key][method]:.2f}" for key in ("gain_coverage", "gain_width", "interval_score"))
            for method in METHODS
        ]
        said = entry["abstention"]
        print(
            f"  {name:13} n {entry['n']:6} dev {entry['devices']:3}  {'  |  '.join(cells)}  answered"
            f" {said['answered']:.2f}, log regret {said['log_regret_answered']} against"
            f" {said['log_regret_abstained']}",
            file=sys.stderr,
        )
