"""The parts of a report from results of the program, and from the JSON that its commands print."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import singledispatch
from pathlib import Path
from typing import Any

from kg.nouns.values import load_json
from recommender.answers.answer import Answer
from recommender.answers.benefit import Prediction
from recommender.answers.diagnose import DiagnosisAnswer
from recommender.answers.estimate import Estimate
from recommender.answers.estimate_choice import front_of_estimates
from recommender.experiment.journal import Logged
from recommender.report.document import ReportDocument, ReportPart, finite
from recommender.report.page import SECTIONS, UNFIT, check_parts, unfit
from recommender.search.report.result import Result
from recommender.search.report.search_report import CourseReport, SearchReport

_WAYS: Mapping[str, tuple[str, str]] = {
    "answer": ("an answer", "name a question file, or the id of a recommendation"),
    "prediction": ("a prediction", "tunegraph predict ... --json > prediction.json, and name that file"),
    "diagnosis": ("a diagnosis", "name a profile"),
    "estimate": ("an estimate", "tunegraph estimate ... --json > estimate.json, and name that file"),
    "search": ("a search", "name the log of a search"),
    "experiment": ("an A/B test", "name an experiment of the workspace"),
    "green": ("a carbon plan", "tunegraph green plan ... --json > plan.json, and name that file"),
}
"""Name of each kind of part, and the way in which it gets into a report."""

_KEYS: Mapping[str, frozenset[str]] = {
    "answer": frozenset({"problem", "knowledge_version", "neighbours"}),
    "prediction": frozenset({"predictions", "objective", "hardware"}),
    "diagnosis": frozenset({"causes", "significant_share", "looked_at"}),
    "estimate": frozenset({"estimates", "phase", "hardware"}),
    "search": frozenset({"search", "objectives", "failures"}),
    "experiment": frozenset({"treatments", "design", "verdict"}),
}
"""Keys by which the JSON of a command is known."""


_LEFT_OUT: Mapping[str, frozenset[str]] = {
    "answer": frozenset({"refused", "neighbours"}),
    "diagnosis": frozenset({"looked_at", "ranks"}),
}
"""Keys of printed answers that no section of a report shows."""


@singledispatch
def page_content(result: object) -> tuple[str, dict[str, Any]]:
    """Kind and content of the part that shows a result."""
    raise TypeError(f"no section of a report shows a {type(result).__name__}")


@page_content.register
def _(result: Answer) -> tuple[str, dict[str, Any]]:
    return "answer", result.to_json()


@page_content.register
def _(result: Prediction) -> tuple[str, dict[str, Any]]:
    return "prediction", result.to_json()


@page_content.register
def _(result: DiagnosisAnswer) -> tuple[str, dict[str, Any]]:
    return "diagnosis", result.page_content()


@page_content.register
def _(result: Estimate) -> tuple[str, dict[str, Any]]:
    return "estimate", result.page_content()


@page_content.register
def _(result: Result | SearchReport | CourseReport) -> tuple[str, dict[str, Any]]:
    return "search", result.page_content()


@page_content.register
def _(result: Logged) -> tuple[str, dict[str, Any]]:
    return "experiment", result.page_content()


def part_of(result: object, source: str) -> ReportPart:
    """The part of a report that shows a result; ``source`` says where it is from."""
    kind, content = page_content(result)
    return ReportPart(kind=kind, source=source, content=finite(_drawable(kind, content)))


def printed_parts(path: Path) -> list[ReportPart] | None:
    """The parts in a JSON file: what a command printed, a carbon plan, a report; None where it is neither.

    Raises:
        InputError: It is one of these, and something of it is missing or wrong.
    """
    try:
        raw = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict):
        return None
    if "format" in raw:
        parts = list(ReportDocument.from_json(raw, str(path)).parts)
    else:
        kind = next((name for name, needed in _KEYS.items() if needed <= raw.keys()), "green")
        content = {name: value for name, value in raw.items() if name != "schema_version"}
        try:
            shown = carbon_content(content) if kind == "green" else _drawable(kind, content)
        except UNFIT as fault:
            raise unfit(str(path), fault) from None
        if shown is None:
            return None
        parts = [ReportPart(kind=kind, source=str(path), content=finite(shown))]
    check_parts(parts, str(path))
    return parts


def document_of(
    parts: Sequence[ReportPart], *, program: str, now: datetime, title: str = "", lists_missing: bool = True
) -> ReportDocument:
    """A report of parts, in the order of a page.

    Args:
        parts: Its content.
        program: Name and version of the program.
        now: The time.
        title: Of the page; of its first part if empty.
        lists_missing: Whether kinds without a part are listed, each with the way to get it.
    """
    order = list(SECTIONS)
    if len(green := [part for part in parts if part.kind == "green"]) > 1:  # printed apart, drawn together
        content = joined_content([part.content for part in green])
        whole = ReportPart(kind="green", source=", ".join(part.source for part in green), content=content)
        parts = [whole, *(part for part in parts if part.kind != "green")]
    parts = sorted(parts, key=lambda part: order.index(part.kind))
    there = {part.kind for part in parts}
    missing = [_WAYS[kind] for kind in order if kind not in there] if lists_missing else []
    lacking = [
        (f"{part.source}: {item['what']}", str(item["how"]))
        for part in parts
        for item in part.content.get("not_collected", ())
    ]
    return ReportDocument(
        title=title or (_title(parts[0]) if parts else "tunegraph"),
        made=now.isoformat(timespec="seconds"),
        program=program,
        parts=tuple(parts),
        not_collected=(*lacking, *missing),
    )


def _title(part: ReportPart) -> str:
    content = part.content
    if part.kind == "answer":
        problem = content["problem"]
        what = " ".join(str(it) for it in (problem.get("model"), problem.get("operator")) if it)
        return f"{what} on {problem.get('hardware')}"
    if part.kind in {"prediction", "estimate"}:
        return f"{content.get('model')} on {content['hardware']}"
    if part.kind == "diagnosis":
        return f"Diagnosis of {content.get('path', part.source)}"
    return part.source


def _drawable(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """Content without what no section shows, with the front of estimates, which sliders need."""
    content = {name: value for name, value in content.items() if name not in _LEFT_OUT.get(kind, ())}
    if kind == "estimate" and "front_points" not in content:
        content["front_points"] = front_of_estimates(content)
    return content


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
