"""The shelf: what a second import does to the first, and damage."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from kg.errors import InputError, WorkspaceError
from recommender.green.desk import GreenDesk
from recommender.green.history import DAY
from recommender.green.shelf import GreenShelf

DAY_ONE = datetime(2026, 3, 2, tzinfo=UTC)


def day_file(folder: Path, day: datetime, value: float, *, mark: str = "", first: int = 0) -> Path:
    """A day of half hours; ``mark`` is the zone's, ``first`` the slot of its first time."""
    path = folder / f"{day:%m%d}{first}{mark.replace(':', '')}.csv"
    rows = [
        f"{day + timedelta(minutes=30 * slot):%Y-%m-%dT%H:%M}{mark},{value}"
        for slot in range(first, first + DAY)
    ]
    path.write_text("Time,Carbon Intensity (g/kWh)\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_label_is_that_of_the_files_and_not_of_what_is_stored(tmp_path: Path) -> None:
    shelf = GreenShelf(tmp_path / "green")
    shelf.add([day_file(tmp_path, DAY_ONE, 100, first=1)], region="XX", zone="UTC", label="end")
    later = day_file(tmp_path, DAY_ONE + timedelta(days=1), 200, first=1)
    stored, _ = shelf.add([later], region="XX", zone="UTC", label="end")
    assert stored.series.start == DAY_ONE
    assert stored.series.values.tolist() == [100] * DAY + [200] * DAY


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+01:00"])
def test_a_second_import_keeps_the_display_clock_and_still_asks_for_a_zone(tmp_path: Path, zone: str) -> None:
    shelf = GreenShelf(tmp_path / "green")
    shelf.add([day_file(tmp_path, DAY_ONE, 100)], region="XX", zone=zone)
    with pytest.raises(InputError, match="carry no zone"):
        shelf.add([day_file(tmp_path, DAY_ONE + timedelta(days=1), 200)], region="XX")
    marked = day_file(tmp_path, DAY_ONE + timedelta(days=2), 200, mark="+00:00")
    stored, _ = shelf.add([marked], region="XX")
    assert stored.zone == zone
    assert stored.series.start.utcoffset() == {"UTC": timedelta()}.get(zone, timedelta(hours=1))
    assert stored.series.end == DAY_ONE + timedelta(days=3)


def damages(path: Path) -> dict[str, bytes]:
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 0xFF
    return {"empty": b"", "text": b"broken", "cut": whole[: len(whole) // 2], "flipped": bytes(flipped)}


@pytest.mark.parametrize("kind", ["empty", "text", "cut", "flipped"])
def test_a_damaged_region_is_said_and_an_import_heals_it(tmp_path: Path, kind: str) -> None:
    shelf = GreenShelf(tmp_path / "green")
    file = day_file(tmp_path, DAY_ONE, 100)
    shelf.add([file], region="XX", zone="UTC")
    path = tmp_path / "green" / "XX.npz"
    path.write_bytes(damages(path)[kind])
    with pytest.raises(WorkspaceError, match="is damaged"):
        shelf.load("XX")
    other, _ = shelf.add([file], region="YY", zone="UTC")  # a damaged neighbour stops nobody
    assert shelf.neighbours(other.series) == []
    healed, faults = shelf.add([file], region="XX", zone="UTC")
    assert len(healed.series.values) == DAY
    assert "set aside" in faults[0]
    assert path.with_name("XX.npz.damaged").exists()


def test_a_published_forecast_alone_is_a_region(tmp_path: Path) -> None:
    """Zone and label count for it too: local times of Berlin that name the ends of their slots."""
    path = tmp_path / "forecast.csv"
    rows = [
        f"2026-03-02 01:00,{DAY_ONE + timedelta(minutes=60 + 30 * slot):%Y-%m-%d %H:%M},{100 if slot > 20 else 400}"
        for slot in range(1, DAY + 1)
    ]
    path.write_text("issue_time,target_time,forecast\n" + "\n".join(rows) + "\n", encoding="utf-8")
    desk = GreenDesk(tmp_path / "green", clock=lambda: DAY_ONE + timedelta(minutes=5))
    with pytest.raises(InputError, match="carry no zone"):
        desk.add([path], region="XX")
    stored, faults = desk.add([path], region="XX", zone="Europe/Berlin", label="end")
    assert (len(stored.series.values), faults) == (0, [])
    made = desk.forecast("XX")
    assert made.outlook.g_per_kwh.tolist() == [400] * 20 + [100] * 28
    assert not any(made.has_interval(slot) for slot in range(DAY))
    assert "published forecast" in made.outlook.basis
    assert any("forecast alone" in note for note in made.outlook.notes)
    assert not np.isnan(made.outlook.variation)
