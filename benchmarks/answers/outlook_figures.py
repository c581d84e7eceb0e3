"""Measures intervals and abstention: coverage and median width of 90 % intervals, and the curve of risk."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recommender.calibration.outlook import ABSTAIN_ABOVE, Checked, Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES

CLASSES = ("same_vendor", "other_class", "other_vendor", "known_device")
LEAST_PROBLEMS, LEAST_DEVICES = 300, 5
"""A class needs so many to be judged by its coverage."""

SHARES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)

Row = tuple[str, tuple[str, ...], Checked]
Forecast = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Lower and upper bounds of each gain, and the regret that is expected of each first proposal."""


def forecasts(asked: Sequence[Row], outlook: Outlook) -> Forecast:
    """The forecast of each question."""
    told = [outlook.forecast(item.row, item.distance, item.gain) for _, _, item in asked]
    return (
        np.array([one.low for one in told]),
        np.array([one.high for one in told]),
        np.array([outlook.regret(item.row)[1] for _, _, item in asked]),
    )


def left_out(rows: Sequence[Row], block: Callable[[Row], str]) -> Forecast:
    """Forecasts for each block by an outlook that was learned without it."""
    places = defaultdict(list)
    for at, row in enumerate(rows):
        places[block(row)].append(at)
    whole: Forecast = (np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows)))
    for mine in places.values():
        inside = set(mine)
        known = [row[2] for at, row in enumerate(rows) if at not in inside]
        part = forecasts([rows[at] for at in mine], Outlook.fit(known, CIRCUMSTANCES, ""))
        for column, values in zip(whole, part, strict=True):
            column[mine] = values
    return whole


def figures(rows: Sequence[Row], told: Forecast) -> dict[str, object]:
    """``gain_coverage``, ``gain_width`` and ``abstention`` by class."""
    low, high, expected = told
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
        inside = (low <= truth) & (truth <= high)
        entry["gain_coverage"] = round(float(inside[measured].mean()), 4)
        entry["gain_width"] = round(float(np.median((high - low)[measured])), 4)
        entry["abstention"] = _abstention(expected, regret, mine)
        result[name] = entry
    return result


def by_figure(tree: dict[str, object]) -> dict[str, object]:
    """The same with the figure first: ``gain_coverage`` and so on, each by class."""
    names = ("gain_coverage", "gain_width", "abstention")
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
