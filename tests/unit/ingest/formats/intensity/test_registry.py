"""Formats of carbon intensity: units, zones, forecasts apart from what came, and what is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.files.times import epoch_s
from ingest.formats.intensity.registry import read_intensity
from ingest.formats.intensity.table import unit_factor
from ingest.reading import discover
from kg.errors import CaseFormatError, InputError


def written(folder: Path, text: str, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def as_json(folder: Path, content: Any) -> Path:
    return written(folder, json.dumps(content), "file.json")


@pytest.mark.parametrize(
    ("column", "factor"),
    [
        ("Carbon Intensity (kgCO2/MWh)", 1),
        ("Carbon Intensity [lb/MWh]", 0.45359237),
        ("carbon intensity (kg/kWh)", 1000),
    ],
)
def test_the_unit_of_a_column_counts(tmp_path: Path, column: str, factor: float) -> None:
    table = read_intensity(written(tmp_path, f"timestamp,{column}\n2026-01-01T00:00Z,100\n"))
    assert table.values == pytest.approx([100 * factor])
    assert not any("no unit" in note for note in table.notes)


def test_bad_cells_are_left_out_one_by_one(tmp_path: Path) -> None:
    text = "Time,Carbon Intensity\n2026-01-01 00:00,-5\n2026-01-01 00:30,\n2026-01-01 01:00,x\nyesterday,3\n2026-01-01 02:00,7\n"
    table = read_intensity(written(tmp_path, text))
    assert table.values == [7]
    assert [fault.place for fault in table.faults] == ["line 2", "line 4", "line 5"]


def test_issued_forecasts_beside_what_came(tmp_path: Path) -> None:
    text = (
        "issue_time,target_time,forecast,actual\n"
        "2026-01-01 00:00,2026-01-01 00:00,10,11\n2026-01-01 00:00,2026-01-02 00:00,20,21\n"
        "2026-01-02 00:00,2026-01-02 00:00,22,21\n"
    )
    table = read_intensity(written(tmp_path, text))
    assert table.values == [11, 21]
    assert [values for _, values in table.issued.values()] == [[10, 20], [22]]


def test_electricity_maps(tmp_path: Path) -> None:
    header = (
        "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),"
        "Carbon intensity gCO₂eq/kWh (Life cycle),Data source,Data estimated\n"
    )
    rows = "2026-01-01 00:00:00,Germany,Germany,DE,300,360,x,true\n2026-01-01 00:00:00,France,France,FR,30,40,x,false\n"
    table = read_intensity(written(tmp_path, header + rows))
    assert (table.region, table.kind, table.scope, table.values) == ("DE", "average", "life cycle", [360])
    assert table.has_zone
    assert any("1 slots are estimates" in note for note in table.notes)
    assert any("1 rows of other zones" in note for note in table.notes)


def test_the_uk_service(tmp_path: Path) -> None:
    entry = {
        "from": "2026-01-01T12:00Z",
        "to": "2026-01-01T12:30Z",
        "intensity": {"forecast": 266, "actual": 263},
    }
    coming = {
        "from": "2026-01-01T12:30Z",
        "to": "2026-01-01T13:00Z",
        "intensity": {"forecast": 270, "actual": None},
    }
    table = read_intensity(as_json(tmp_path, {"data": [entry, coming]}))
    assert (table.region, table.values) == ("GB", [263])
    assert [values for _, values in table.issued.values()] == [[266, 270]]


def test_watttime_is_marginal_and_in_pounds(tmp_path: Path) -> None:
    meta: dict[str, object] = {
        "region": "CAISO_NORTH",
        "signal_type": "co2_moer",
        "units": "lbs_co2_per_mwh",
        "data_point_period_seconds": 300,
    }
    table = read_intensity(
        as_json(
            tmp_path, {"data": [{"point_time": "2026-01-01T00:00:00+00:00", "value": 1000}], "meta": meta}
        )
    )
    assert (table.region, table.kind, table.step_s) == ("CAISO_NORTH", "marginal", 300)
    assert table.values == pytest.approx([453.59237])
    made = as_json(
        tmp_path,
        {
            "data": [{"point_time": "2026-01-01T00:05:00+00:00", "value": 1}],
            "meta": {**meta, "generated_at": "2026-01-01T00:00:00+00:00"},
        },
    )
    assert not read_intensity(made).values
    assert len(read_intensity(made).issued) == 1


def test_watttime_in_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    content = {"data": [{"point_time": "2026-01-01T00:00Z", "value": 3}], "meta": {"units": "percent"}}
    with pytest.raises(CaseFormatError, match="percent"):
        read_intensity(as_json(tmp_path, content))


def test_a_forecast_of_the_carbon_aware_sdk(tmp_path: Path) -> None:
    points = [{"location": "eastus", "timestamp": "2026-01-01T00:05:00Z", "duration": 5, "value": 534.1}]
    content = [{"generatedAt": "2026-01-01T00:00:00Z", "location": "eastus", "forecastData": points}]
    table = read_intensity(as_json(tmp_path, content))
    assert (table.region, table.step_s) == ("eastus", 300)
    assert next(iter(table.issued.values()))[1] == [534.1]


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "{}", "[1, 2", '{"data": [{"from": 1, "intensity": 3}]}'])
def test_what_is_none_is_refused_in_words(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read_intensity(written(tmp_path, text))


def test_a_heading_without_rows_is_told(tmp_path: Path) -> None:
    heading = "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct)\n"
    with pytest.raises(InputError, match="no row has a time and a carbon intensity"):
        read_intensity(written(tmp_path, heading))


def test_units_and_times() -> None:
    assert unit_factor("gCO2eq/kWh") == 1
    assert unit_factor("lbs_co2_per_mwh") == pytest.approx(0.45359237)
    assert unit_factor("percent") is None
    assert epoch_s("2026-01-01T01:00+01:00") == epoch_s("2026-01-01T00:00Z")
    assert not epoch_s("2026-01-01 00:00")[1]
    with pytest.raises(ValueError, match="is no time"):
        epoch_s("soon")


def test_an_ingest_of_cases_points_to_the_command_that_reads_it(tmp_path: Path) -> None:
    path = written(tmp_path, "Time,Carbon Intensity\n2026-01-01 00:00:00,120.5\n")
    with pytest.raises(InputError, match="tunegraph green import"):
        discover([path])


def test_a_bad_time_of_issue_is_a_fault_of_its_row(tmp_path: Path) -> None:
    text = "issue_time,target_time,forecast\nsoon,2026-01-01 00:00,10\n2026-01-01 00:00,2026-01-01 00:30,20\n"
    table = read_intensity(written(tmp_path, text))
    assert [values for _, values in table.issued.values()] == [[20]]
    assert [fault.place for fault in table.faults] == ["line 2"]


def test_times_with_and_without_a_zone_are_not_mixed(tmp_path: Path) -> None:
    text = "Time,Carbon Intensity\n2026-01-01 00:00,1\n2026-01-01T00:30+01:00,2\n2026-01-01 01:00,3\n"
    table = read_intensity(written(tmp_path, text))
    assert (table.values, table.has_zone) == ([1, 3], False)
    assert "carries a zone, others do not" in table.faults[0].reason
