"""Statements: sums by kind alone, carbon of the hours in which the energy was drawn."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt

from kg.errors import InputError
from recommender.green.indices import indices_of
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
    made = make_statement([tracked(tmp_path)], series=SERIES, now=START)
    gpu = next(line for line in made.lines if line.part == "gpu")
    assert gpu.g_per_kwh == pytest.approx(200)
    assert gpu.carbon_g == pytest.approx(400)


def test_kinds_are_never_one_sum(tmp_path: Path) -> None:
    made = make_statement([tracked(tmp_path)], series=SERIES, now=START, pue=1.5)
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
    unknown = make_statement([tracked(tmp_path)], series=None, now=START)
    assert all(line.carbon_g is None for line in unknown.lines)
    assert "carbon unknown" in unknown.to_markdown()
    assumed = make_statement([tracked(tmp_path)], series=None, now=START, g_per_kwh=50)
    assert assumed.lines[0].basis == "assumed"
    assert not dict(assumed.checklist())["grid intensity comes from a series of the place and hour"]


def test_a_log_without_times_needs_its_start(tmp_path: Path) -> None:
    path = tmp_path / "watch"
    path.write_text(
        "NpuID(Idx)  ChipId(Idx)  Power(W)\n0           0            100\n0           0            100\n",
        encoding="utf-8",
    )
    assert make_statement([path], series=SERIES, now=START).lines[0].carbon_g is None
    placed = make_statement([path], series=SERIES, now=START, interval_s=3600, start=START)
    assert placed.lines[0].carbon_g == pytest.approx(0.1 * 100)
    assert any("3600 s between" in note for note in placed.notes)


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1)) ![x](x)",
    "a | b | c",
    "# a\n\n# b",
    "- a",
    "1. a",
    "> a",
    "`a` **b** _c_ ~~d~~",
    "&lt;b&gt; \\<b>",
    "---",
    "===",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_markup(tmp_path: Path, text: str) -> None:
    made = make_statement([tracked(tmp_path)], series=SERIES, now=START)
    lines = tuple(replace(line, part=text, doubt=text) for line in made.lines)
    read = MarkdownIt("gfm-like", {"linkify": False}).parse(
        replace(made, lines=lines, title=text, notes=(text,)).to_markdown()
    )
    kinds = {inner.type for token in read for inner in token.children or ()}
    assert kinds == {"text"}
    inline = [token.children or () for token in read if token.type == "inline"]
    told = ["".join(inner.content for inner in inners) for inners in inline]
    whole = " ".join(text.split())
    assert (told[0], told[-1]) == (whole, whole)
    assert sum(item.startswith(whole) for item in told) == len(lines) + 2
    assert sum(token.type == "td_open" for token in read) == 6 * len(lines)
    assert sum(token.type == "heading_open" for token in read) == 3


def test_json_has_everything(tmp_path: Path) -> None:
    content = make_statement([tracked(tmp_path)], series=SERIES, now=START).to_json()
    assert {"parts", "totals", "checklist", "notes"} <= content.keys()


SERIES_POINT = "grid intensity comes from a series of the place and hour"


def smi(folder: Path, name: str, watt: int = 1000) -> Path:
    path = folder / name
    path.write_text(
        "timestamp, index, power.draw [W]\n"
        f"2026/11/23 00:00:00, 0, {watt} W\n2026/11/23 02:00:00, 0, {watt} W\n",
        encoding="utf-8",
    )
    return path


def test_two_logs_of_one_device_count_once_unless_machines_are_named(tmp_path: Path) -> None:
    one, two = smi(tmp_path, "a.csv"), smi(tmp_path, "b.csv", 999)
    made = make_statement([one, two], series=SERIES, now=START, zone="UTC")
    assert [energy for energy, _ in made.totals().values()] == [2]
    assert any("counted once" in note for note in made.notes)
    assert "(0% counted)" in made.to_markdown()
    apart = make_statement(
        [one, two], series=SERIES, now=START, zone="UTC", hosts={one: "node1", two: "node2"}
    )
    assert [energy for energy, _ in apart.totals().values()] == [pytest.approx(3.998)]


def test_a_clock_that_is_assumed_and_hours_that_are_filled_tick_no_point(tmp_path: Path) -> None:
    sure = make_statement([smi(tmp_path, "a.csv")], series=SERIES, now=START, zone="UTC")
    assert dict(sure.checklist())[SERIES_POINT]
    assumed = make_statement([smi(tmp_path, "a.csv")], series=SERIES, now=START)
    assert not dict(assumed.checklist())[SERIES_POINT]
    assert "taken as UTC" in assumed.lines[0].doubt
    moved = make_statement([smi(tmp_path, "a.csv")], series=SERIES, now=START, zone="+01:00")
    assert moved.lines[0].basis == "unknown"  # an hour before the series begins
    gaps = replace(SERIES, is_filled=np.array([False, True, False, False]))
    filled = make_statement([smi(tmp_path, "a.csv")], series=gaps, now=START, zone="UTC")
    assert filled.lines[0].doubt == "1 of 4 half hours filled"
    assert not dict(filled.checklist())[SERIES_POINT]


def test_work_gives_the_indices_by_their_definitions(tmp_path: Path) -> None:
    """Twice the work a joule in half the time, on 200 g/kWh."""
    before = make_statement([smi(tmp_path, "a.csv")], series=SERIES, now=START, zone="UTC").run(1e6)
    fast = tmp_path / "fast.csv"
    fast.write_text(
        "timestamp, index, power.draw [W]\n2026/11/23 00:30:00, 0, 1000 W\n2026/11/23 01:30:00, 0, 1000 W\n",
        encoding="utf-8",
    )
    after = make_statement([fast], series=SERIES, now=START, zone="UTC").run(1e6)
    assert after.efficiency == pytest.approx(1e6 / 200)
    found = indices_of(after, before, tuning_s=600, reference_s=6000)
    assert found["green tuning index (GTI)"].startswith("0.9; throughput +100.0%")
    assert found["carbon a unit of work"].startswith("energy -50.0%, intensity +0.0%")
    with pytest.raises(InputError, match="no index"):
        make_statement([fast], series=SERIES, now=START).run(0)
