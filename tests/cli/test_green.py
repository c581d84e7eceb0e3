"""``tunegraph green`` as people call it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks up to now; the next hours are dirty, half a day later it is clean."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    rows = [
        f"{now + timedelta(minutes=30 * slot):%Y-%m-%d %H:%M},{100 if (slot // 24) % 2 else 500}"
        for slot in range(-21 * 48, 1)
    ]
    path = tmp_path_factory.mktemp("series") / "xx.csv"
    path.write_text("Time,Carbon Intensity (g/kWh)\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.long
def test_import_plan_and_run(run: Run, series: Path, tmp_path: Path) -> None:
    place = tmp_path / "w"
    asked = run("green", "import", series, "--region", "XX", workspace=place)
    assert (asked.code, "carry no zone" in asked.fault) == (2, True)
    taken = run("green", "import", series, "--region", "XX", "--zone", "UTC", "--json", workspace=place)
    assert (taken.code, taken.json["half_hours"], taken.json["filled"]) == (0, 21 * 48 + 1, 0)
    made = run(
        "green", "plan", "--duration", "2h", "--by", "+23h", "--power", "1000", "--json", workspace=place
    )
    assert made.code == 0
    assert made.json["waits"] is True
    assert made.json["saving"]["share"] > 0.3
    assert made.json["carbon_g"]["planned"] < made.json["carbon_g"]["once"]
    assert made.json["power_w"]["kind"] == "assumed"
    late = run("green", "plan", "--duration", "9h", "--by", "+4h", workspace=place)
    assert (late.code, "does not fit before" in late.fault) == (4, True)
    ahead = run("green", "forecast", "--hours", "2", "--json", workspace=place)
    assert len(ahead.json["forecast"]) == 4
    other = run("green", "plan", "--region", "YY", workspace=place)
    assert (other.code, "XX" in other.err) == (2, True)


def test_a_command_without_a_series_runs_at_once_and_its_code_is_ours(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "w"
    done = run("green", "wait", "--by", "+2h", "--", "sh", "-c", "echo ran; exit 9", workspace=place)
    assert (done.code, done.out) == (9, "ran\n")
    assert "no series of this region" in done.err
    missing = run("green", "wait", workspace=place)
    assert (missing.code, missing.fault) == (2, "no command to run")
    assert run("green", "forecast", workspace=place).code == 3
    unknown = run("green", "plan", "--region", "DE", workspace=place)
    assert (unknown.code, unknown.out) == (3, "")
    assert unknown.fault == "no plan: no series of this region has been imported"


def test_a_statement_of_a_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(
        "timestamp, index, power.draw [W]\n2026/11/23 00:00:00, 0, 100 W\n2026/11/23 01:00:00, 0, 100 W\n",
        encoding="utf-8",
    )
    shown = run("green", "statement", log, "--intensity", "300", workspace=tmp_path / "w")
    assert shown.code == 0
    assert "| 0.1 |" in shown.out
    said = run("green", "statement", log, "--json", workspace=tmp_path / "w")
    assert said.json["parts"][0]["carbon_g"] is None
