"""The output of ``tunegraph green`` becomes the carbon section."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recommender.answers.report_parts import carbon_content, document_of, joined_content, printed_parts
from recommender.report.page import page

PLAN: dict[str, Any] = {
    "region": "DE", "now": "2026-11-23T00:47:13+00:00", "deadline": "2026-11-25T00:47:13+00:00", "duration_s": 28800.0,
    "pieces": [{"start": "2026-11-23T22:47:13+00:00", "end": "2026-11-24T06:47:13+00:00"}], "waits": True,
    "reason": "cleanest by own history", "once_g_per_kwh": 486.29, "planned_g_per_kwh": 434.77,
    "saving": {"share": 0.1083, "low": -0.23, "high": 0.47, "chance_dirtier": 0.251}, "notes": ["half an hour old"],
    "carbon_g": {"once": 4668.4, "planned": 4162.7},
}  # fmt: skip
FORECAST: dict[str, Any] = {
    "region": "DE", "basis": "own history", "notes": [],
    "forecast": [{"start": f"2026-11-23T0{h}:{m}+00:00", "g_per_kwh": 500.0 - h, "low": 450.0, "high": 550.0}
                 for h in range(4) for m in ("00", "30")],
}  # fmt: skip
STATEMENT: dict[str, Any] = {
    "title": "A run", "made": "2026-11-23T00:00:00+00:00", "pue": 1.2,
    "parts": [{"part": "devices", "kind": "measured", "energy_kwh": 1.5, "carbon_g": None, "g_per_kwh": None,
               "intensity_from": "DE"}],
    "totals": {}, "checklist": [{"point": "power was measured", "holds": True}], "notes": [],
}  # fmt: skip


def test_a_plan_is_asked_from_now_on() -> None:
    content = carbon_content(PLAN)
    assert content is not None
    assert content["asked"] == {"start": "2026-11-23T00:47:13+00:00", "end": "2026-11-23T08:47:13+00:00"}
    assert content["planned"] == PLAN["pieces"]
    assert content["saving"] == {
        "expected": 0.1083,
        "low": -0.23,
        "high": 0.47,
        "asked_g": 4668.4,
        "planned_g": 4162.7,
    }
    assert any("25%" in note for note in content["notes"])


def test_a_forecast_keeps_its_slots_and_its_band() -> None:
    content = carbon_content(FORECAST)
    assert content is not None
    assert content["forecast"]["slot_minutes"] == 30
    assert content["forecast"]["middle"][::2] == [500, 499, 498, 497]
    assert content["forecast"]["low"] == [450.0] * 8


def test_printed_apart_they_are_drawn_together(tmp_path: Path) -> None:
    parts = []
    for at, raw in enumerate((PLAN, FORECAST, STATEMENT)):
        path = tmp_path / f"{at}.json"
        path.write_text(json.dumps({"schema_version": 2, **raw}))
        parts += printed_parts(path) or []
    document = document_of(parts, program="t", now=datetime(2026, 11, 23, tzinfo=UTC))
    assert [part.kind for part in document.parts] == ["green"]
    html = page(document)
    for text in ("10.8", "deadline", "devices: energy", "✓ power was measured"):
        assert text in html
    assert (
        page(document_of(parts[:1], program="t", now=datetime(2026, 11, 23, tzinfo=UTC))).count('role="img"')
        == 0
    )


def test_other_content_is_none() -> None:
    assert carbon_content({"a": 1}) is None
    assert carbon_content({"planned": []}) == {"planned": []}
    assert joined_content([{"notes": ["a"], "x": 1}, {"notes": ["a", "b"], "x": 2}]) == {
        "notes": ["a", "b"],
        "x": 1,
    }
