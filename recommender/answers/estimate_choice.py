"""Comparison of estimates: two beside each other, and those of a sweep that no other beats."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kg.errors import InputError
from kg.terms.metrics import PERCENTILES
from recommender.cost_model.priced_step import PricedStep
from recommender.search.engine.pareto import non_dominated

LESS_IS_BETTER = frozenset(
    {"time_s", "ttft_s", "tpot_s", "request_s", "prefill_s", "memory_total_bytes", "power_w", "energy_j",
     "energy_per_token_j", "energy_per_sample_j"}
).union(*((f"ttft_{end}_s", f"tpot_{end}_s", f"request_{end}_s") for end in PERCENTILES))  # fmt: skip
MORE_IS_BETTER = frozenset({"throughput", "prefill_throughput", "tokens_per_step"})
SHORT = {
    "ttft": "ttft_s", "tpot": "tpot_s", "time": "time_s", "step_time": "time_s", "power": "power_w",
    "energy": "energy_j", "memory": "memory_total_bytes",
}  # fmt: skip
"""Names that people use for the fields."""


def measure(name: str, steps: Sequence[PricedStep]) -> str:
    """The field of a priced step that a name means.

    Raises:
        InputError: No step has such a number; the hint has those that are there.
    """
    field = SHORT.get(name.strip().lower(), name.strip().lower())
    fields = (*sorted(MORE_IS_BETTER), *sorted(LESS_IS_BETTER))
    known = [one for one in fields if all(step.field(one) is not None for step in steps)]
    if field not in known:
        raise InputError(f"--pareto: {name!r} is not estimated here", hint=f"known: {', '.join(known)}")
    return field


def pareto_front(steps: Sequence[PricedStep], fields: Sequence[str]) -> list[int]:
    """Places of the steps that no other beats in one field without being worse in another, best first.

    What does not fit in the memory is not among them. Steps that are alike in every field all count.

    Args:
        steps: Each with its price.
        fields: Names from :func:`measure`.
    """
    usable = [place for place, step in enumerate(steps) if step.fits is not False]
    signs = [-1.0 if field in MORE_IS_BETTER else 1.0 for field in fields]
    costs = {
        place: [sign * (steps[place].field(field) or 0.0) for sign, field in zip(signs, fields, strict=True)]
        for place in usable
    }
    held = non_dominated(np.array(list(costs.values())))
    return sorted(
        (place for place, holds in zip(usable, held, strict=True) if holds), key=lambda place: costs[place][0]
    )


def differences(steps: Sequence[PricedStep]) -> list[dict[str, Any]]:
    """The second step compared with the first, by field: both values and their ratio."""
    first, second = steps
    rows: list[dict[str, Any]] = []
    for field in ("time_s", "throughput", "ttft_s", "tpot_s", "memory_total_bytes", "energy_j"):
        one, other = first.field(field), second.field(field)
        if one and other is not None:
            rows.append({"field": field, "values": [one, other], "ratio": other / one})
    for part, one in first.split_s.items():
        values = [one, second.split_s[part]]
        if any(values):
            rows.append(
                {"field": f"split_s.{part}", "values": values, "ratio": values[1] / one if one else None}
            )
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
