"""The content of a carbon section from what ``tunegraph green`` prints: plans, forecasts, statements."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAN = frozenset({"pieces", "deadline", "duration_s", "waits"})
_FORECAST = frozenset({"forecast", "basis", "region"})
_STATEMENT = frozenset({"parts", "totals", "checklist"})


def carbon_content(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Content as ``recommender.report.sections.green`` reads it; None where it is something else."""
    keys = raw.keys()
    if keys >= _PLAN:
        return _plan(raw)
    if keys >= _FORECAST:
        return _forecast(raw)
    if keys >= _STATEMENT:
        return _statement(raw)
    return dict(raw) if "planned" in keys else None


def joined_content(contents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A plan with the forecast and the statement that were printed apart; the first of each key counts."""
    found: dict[str, Any] = {}
    for content in contents:
        for name, value in content.items():
            if name == "notes":
                found["notes"] = list(dict.fromkeys([*found.get("notes", ()), *value]))
            else:
                found.setdefault(name, value)
    return found


def _plan(raw: Mapping[str, Any]) -> dict[str, Any]:
    begins = datetime.fromisoformat(str(raw["now"]))
    ends = begins + timedelta(seconds=float(raw["duration_s"]))
    saving, grams = raw["saving"], raw.get("carbon_g") or {}
    risk = f"it ends dirtier than if started at once with chance {saving['chance_dirtier']:.0%}"
    return {
        "region": raw["region"],
        "asked": {"start": begins.isoformat(), "end": ends.isoformat()},
        "planned": [dict(piece) for piece in raw["pieces"]],
        "deadline": raw["deadline"],
        "saving": {
            "expected": saving["share"],
            "low": saving["low"],
            "high": saving["high"],
            "asked_g": grams.get("once"),
            "planned_g": grams.get("planned"),
        },
        "notes": [raw["reason"], *([risk] if raw["waits"] else []), *raw.get("notes", ())],
    }


def _forecast(raw: Mapping[str, Any]) -> dict[str, Any]:
    points = raw["forecast"]
    moments = [datetime.fromisoformat(str(point["start"])) for point in points]
    slot = (moments[1] - moments[0]).total_seconds() / 60 if len(moments) > 1 else 30.0
    bands = {name: [point[name] for point in points] for name in ("low", "high") if name in points[0]}
    return {
        "region": raw["region"],
        "forecast": {
            "region": raw["region"],
            "start": moments[0].isoformat(),
            "slot_minutes": slot,
            "middle": [point["g_per_kwh"] for point in points],
            **bands,
        },
        "notes": [f"forecast by {raw['basis']}", *raw.get("notes", ())],
    }


def _statement(raw: Mapping[str, Any]) -> dict[str, Any]:
    numbers = [
        {"what": f"{line['part']}: {what}", "value": line[key], "unit": unit, "kind": line["kind"],
         "source": line.get("intensity_from") if key == "carbon_g" else None}
        for line in raw["parts"]
        for key, what, unit in (("energy_kwh", "energy", "kWh"), ("carbon_g", "carbon", "g"))
        if line.get(key) is not None
    ]  # fmt: skip
    holds = [f"{'✓' if item['holds'] else '✗'} {item['point']}" for item in raw["checklist"]]
    text = [str(raw.get("title", "")), *holds]
    return {
        "statement": {"text": [line for line in text if line], "numbers": numbers},
        "notes": raw.get("notes", []),
    }
