"""Statements: sums by kind alone, carbon of the hours in which the energy was drawn."""

from __future__ import annotations

from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from recommender.green.series import IntensitySeries
from recommender.green.statement import make_statement
from tests.unit.recommender.green.grids import grid

START = datetime(2026, 11, 23, tzinfo=UTC)
SERIES: IntensitySeries = grid(np.array([100.0, 100, 300, 300]), START)


def tracked(folder: Path) -> Path:
    path = folder / "emissions.csv"
    path.write_text(
        "timestamp,duration,emissions,cpu_energy,gpu_energy,ram_energy,energy_consumed\n"
        "2026-11-23T02:00:00+00:00,7200,0.1,0.1,2,0.05,2.15\n",
        encoding="utf-8",
    )
    return path


def test_carbon_is_that_of_the_hours(tmp_path: Path) -> None:
    made = make_statement([tracked(tmp_path)], series=SERIES, made=START)
    gpu = next(line for line in made.lines if line.part == "gpu")
    assert gpu.g_per_kwh == pytest.approx(200)
    assert gpu.carbon_g == pytest.approx(400)


def test_kinds_are_never_one_sum(tmp_path: Path) -> None:
    made = make_statement([tracked(tmp_path)], series=SERIES, made=START, pue=1.5)
    totals = {str(kind): energy for kind, (energy, _) in made.totals().items()}
    assert totals == {
        "measured": pytest.approx(3),
        "assumed": pytest.approx(0.15),
        "modelled": pytest.approx(0.075),
    }
    text = made.to_markdown()
    assert "3.225" not in text
    assert "with a PUE of 1.5" in text


def test_outside_the_series_carbon_is_unknown_or_assumed(tmp_path: Path) -> None:
    unknown = make_statement([tracked(tmp_path)], series=None, made=START)
    assert all(line.carbon_g is None for line in unknown.lines)
    assert "carbon unknown" in unknown.to_markdown()
    assumed = make_statement([tracked(tmp_path)], series=None, made=START, g_per_kwh=50)
    assert assumed.lines[0].basis == "assumed"
    assert not dict(assumed.checklist())["grid intensity comes from a series of the place and hour"]


def test_a_log_without_times_needs_its_start(tmp_path: Path) -> None:
    path = tmp_path / "watch"
    path.write_text(
        "NpuID(Idx)  ChipId(Idx)  Power(W)\n0           0            100\n0           0            100\n",
        encoding="utf-8",
    )
    assert make_statement([path], series=SERIES, made=START).lines[0].carbon_g is None
    placed = make_statement([path], series=SERIES, made=START, interval_s=3600, start=START)
    assert placed.lines[0].carbon_g == pytest.approx(0.1 * 100)
    assert any("3600 s between" in note for note in placed.notes)


def test_the_page_is_harmless_and_whole(tmp_path: Path) -> None:
    made = make_statement([tracked(tmp_path)], series=SERIES, made=START, title="<script>alert(1)</script>")
    page = made.to_html()
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append(tag)

    Reader().feed(page)
    assert "script" not in seen
    assert seen.count("tr") == 4


def test_json_has_everything(tmp_path: Path) -> None:
    content = make_statement([tracked(tmp_path)], series=SERIES, made=START).to_json()
    assert {"parts", "totals", "checklist", "notes"} <= content.keys()
