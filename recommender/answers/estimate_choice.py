"""What a sweep of estimates comes to: two of them beside each other, and those that no other beats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kg.errors import InputError
from recommender.search.engine.pareto import non_dominated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LESS_IS_BETTER = frozenset(
    {"time_s", "ttft_s", "ttft_p99_s", "tpot_s", "tpot_p99_s", "request_s", "prefill_s", "memory_total_bytes",
     "power_w", "energy_j", "energy_per_token_j", "energy_per_sample_j"}
)  # fmt: skip
MORE_IS_BETTER = frozenset({"throughput", "prefill_throughput", "tokens_per_step"})
SHORT = {
    "ttft": "ttft_s", "tpot": "tpot_s", "time": "time_s", "step_time": "time_s", "power": "power_w",
    "energy": "energy_j", "memory": "memory_total_bytes",
}  # fmt: skip
"""Names that people use for the fields."""


def measure(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    """The field of a record that a name means.

    Raises:
        InputError: No record has such a number; the hint has those that are there.
    """
    field = SHORT.get(name.strip().lower(), name.strip().lower())
    known = [one for one in (*sorted(MORE_IS_BETTER), *sorted(LESS_IS_BETTER)) if _stated(one, records)]
    if field not in known:
        raise InputError(f"--pareto: {name!r} is not estimated here", hint=f"known: {', '.join(known)}")
    return field


def _stated(field: str, records: Sequence[Mapping[str, Any]]) -> bool:
    return all(isinstance(record.get(field), int | float) for record in records)


def pareto_front(records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[int]:
    """Places of the records that no other beats in one field without being worse in another, best first.

    What does not fit in the memory is not among them. Records that are alike in every field all count.

    Args:
        records: As ``PricedStep.to_json`` gives them.
        fields: Names from :func:`measure`.
    """
    usable = [place for place, record in enumerate(records) if record.get("fits") is not False]
    signs = [-1.0 if field in MORE_IS_BETTER else 1.0 for field in fields]
    costs = [
        [sign * float(records[place][field]) for sign, field in zip(signs, fields, strict=True)]
        for place in usable
    ]
    kept = [place for place, holds in zip(usable, non_dominated(np.array(costs)), strict=True) if holds]
    return sorted(kept, key=lambda place: float(records[place][fields[0]]) * signs[0])


def differences(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the second record is over the first, by field: both values and their ratio."""
    first, second = records
    rows: list[dict[str, Any]] = []
    for field in ("time_s", "throughput", "ttft_s", "tpot_s", "memory_total_bytes", "energy_j"):
        one, other = first.get(field), second.get(field)
        if isinstance(one, int | float) and isinstance(other, int | float) and one:
            rows.append({"field": field, "values": [one, other], "ratio": other / one})
    for part in first["split_s"]:
        values = [float(first["split_s"][part]), float(second["split_s"][part])]
        if any(values):
            ratio = values[1] / values[0] if values[0] else None
            rows.append({"field": f"split_s.{part}", "values": values, "ratio": ratio})
    return rows


_UNITS = (("_s", "s"), ("_bytes", "B"), ("_j", "J"), ("_w", "W"))
"""Units by the ending of a field."""


def front_of_estimates(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The front of an estimate's JSON as a page draws it: the first two fields; None without two.

    Args:
        content: What ``Estimate.to_json`` gives.
    """
    records, pareto = content["estimates"], content.get("pareto") or {}
    fields = list(pareto.get("fields", ()))[:2]
    if len(fields) < 2:
        return None
    points = [[float(record[field]) for field in fields] for record in records]
    front = [at for at in pareto["front"] if all(math.isfinite(v) and v > 0 for v in points[at])]
    if not front:
        return None
    units = [
        records[0]["throughput_unit"]
        if field == "throughput"
        else next((unit for ending, unit in _UNITS if field.endswith(ending)), None)
        for field in fields
    ]
    return {
        "objectives": [
            {
                "metric": field.removesuffix("_s"),
                "unit": unit,
                "better": "higher" if field in MORE_IS_BETTER else "lower",
            }
            for field, unit in zip(fields, units, strict=True)
        ],
        "configurations_count": len(points),
        "points": points,
        "front": front,
        "configurations": {
            str(at): {
                "set": ", ".join(f"{key}={value}" for key, value in records[at]["settings"].items()),
                "trials": [],
            }
            for at in front
        },
        "density": None,
    }
