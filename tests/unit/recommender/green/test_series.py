"""Series from tables: gaps, doubled and skipped hours, mixed steps and units, labels."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from ingest.formats.intensity.table import IntensityTable
from kg.errors import InputError
from recommender.green.series import green_windows, series_from

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def table(minutes: list[float], values: list[float], **more: Any) -> IntensityTable:
    return IntensityTable(times_s=[NEW_YEAR + 60 * minute for minute in minutes], values=values, **more)


def test_quarters_are_averaged_and_hours_are_spread() -> None:
    quarters = series_from([table([0, 15, 30, 45], [100, 200, 300, 500])], region="XX")
    assert quarters.values.tolist() == [150, 400]
    hours = series_from([table([0, 60], [100, 200])], region="XX")
    assert hours.values.tolist() == [100, 100, 200, 200]


def test_a_time_may_name_the_end_of_its_slot() -> None:
    series = series_from([table([60, 120], [100, 200])], region="XX", label="end")
    assert series.start.timestamp() == NEW_YEAR
    assert series.values.tolist() == [100, 100, 200, 200]


def test_gaps_are_filled_and_said() -> None:
    series = series_from([table([0, 30, 120, 150], [100, 100, 200, 200])], region="XX")
    assert series.values.tolist() == pytest.approx([100, 100, 133.33, 166.67, 200, 200], abs=0.01)
    assert series.is_filled.tolist() == [False, False, True, True, False, False]
    assert any("2 half hours are missing" in note for note in series.notes)


def test_a_long_gap_is_the_day_before() -> None:
    day = [30.0 * slot for slot in range(48)]
    later = [minute + 2 * 24 * 60 for minute in day]
    series = series_from([table(day + later, [float(slot) for slot in range(48)] * 2)], region="XX")
    assert series.values[48:96].tolist() == series.values[:48].tolist()


def test_a_time_that_is_there_twice_counts_once() -> None:
    series = series_from([table([0, 30, 30, 60], [100, 200, 300, 400])], region="XX")
    assert series.values.tolist() == [100, 300, 400]
    assert any("1 times are there twice" in note for note in series.notes)


def test_times_without_a_zone_ask_for_one() -> None:
    with pytest.raises(InputError, match="carry no zone") as fault:
        series_from([table([0, 30], [1, 2], has_zone=False)], region="XX")
    assert "--zone" in fault.value.hint


def test_the_hours_of_the_change_of_clocks_fall_where_they_were() -> None:
    berlin = "Europe/Berlin"

    def local(start: datetime, walls: list[str]) -> IntensityTable:
        times = [datetime.fromisoformat(f"{start:%Y-%m-%d}T{wall}+00:00").timestamp() for wall in walls]
        return IntensityTable(times_s=times, values=[float(n) for n in range(len(walls))], has_zone=False)

    autumn = local(datetime(2025, 10, 26), ["01:00", "02:00", "02:00", "03:00"])
    series = series_from([autumn], region="XX", zone=berlin)
    assert series.values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    spring = local(datetime(2026, 3, 29), ["00:00", "01:00", "03:00", "04:00"])
    series = series_from([spring], region="XX", zone=berlin)
    assert series.values.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert not series.is_filled.any()


@pytest.mark.parametrize(
    ("one", "two"),
    [({"kind": "average"}, {"kind": "marginal"}), ({"scope": "direct"}, {"scope": "life cycle"})],
)
def test_unlike_quantities_are_not_mixed(one: dict[str, Any], two: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="mixes"):
        series_from([table([0], [1], **one), table([30], [2], **two)], region="XX")


def test_several_regions_need_a_name() -> None:
    tables = [table([0, 30], [1, 2], region="A"), table([0, 30], [1, 2], region="B")]
    with pytest.raises(InputError, match="several regions"):
        series_from(tables)


def test_odd_steps_are_refused() -> None:
    with pytest.raises(InputError, match="7 minutes"):
        series_from([table([0, 7, 14, 21], [1, 2, 3, 4])], region="XX")


def test_local_days_have_48_slots_all_year() -> None:
    series = series_from([table([0, 30], [1, 2])], region="XX", zone="Europe/Berlin")
    assert series.local_start == datetime(2026, 1, 1, 1, 0)
    assert series.slot_of(series.time_of(7)) == 7
    assert np.isfinite(series.values).all()


def test_the_windows_of_the_day_are_local_and_cover_it() -> None:
    hours = [100.0 if hour < 6 else 400.0 for hour in range(24)] * 3  # clean from midnight to six in UTC
    series = series_from([table([60.0 * at for at in range(72)], hours)], region="XX", zone="+03:00")
    place, windows = green_windows(series)
    assert place.id == "xx"
    assert [(one.start_hour, one.end_hour) for one in windows] == [(at, at + 3) for at in range(0, 24, 3)]
    assert [one.start_hour for one in windows if one.carbon_intensity_g_per_kwh == 100] == [3, 6]
    with pytest.raises(InputError, match="less than a day"):
        green_windows(series_from([table([0, 30], [1, 2])], region="XX"))
