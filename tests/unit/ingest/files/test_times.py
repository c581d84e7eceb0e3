"""Times of files: with their zone, or of a local clock."""

from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from ingest.files.times import epoch_s, from_local, zone_of
from kg.errors import InputError


@pytest.mark.parametrize(("name", "hours"), [("UTC", 0), ("+01:00", 1), ("-05:30", -5.5), ("Asia/Tokyo", 9)])
def test_zones_by_name_and_offset(name: str, hours: float) -> None:
    zone: tzinfo = zone_of(name)
    assert datetime(2026, 1, 1, tzinfo=zone).utcoffset() == timedelta(hours=hours)


@pytest.mark.parametrize("name", ["Mars", "+25:00", "", "../etc", "-x"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no time zone"):
        zone_of(name)


@pytest.mark.parametrize("text", ["soon", "", "0001-01-01T00:00+12:00x"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        epoch_s(text)


def test_the_doubled_hour_goes_on_and_the_skipped_one_is_moved() -> None:
    def walls(day: str, *times: str) -> list[float]:
        return [datetime.fromisoformat(f"{day}T{time}+00:00").timestamp() for time in times]

    berlin = zone_of("Europe/Berlin")
    autumn, changed = from_local(walls("2026-10-25", "01:00", "02:00", "02:00", "03:00"), berlin)
    first = datetime(2026, 10, 24, 23, tzinfo=UTC).timestamp()
    assert ([at - first for at in autumn], changed) == ([0, 3600, 7200, 10800], 2)
    spring, _ = from_local(walls("2026-03-29", "01:00", "03:00"), berlin)
    assert spring[1] - spring[0] == 3600
