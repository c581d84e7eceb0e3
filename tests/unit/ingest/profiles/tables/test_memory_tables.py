"""Use of device memory over time."""

from __future__ import annotations

from ingest.profiles.tables.memory_tables import memory_use


def test_components_are_not_mixed_and_what_went_back_is_counted() -> None:
    own = [("PTA", at, reserved, 80.0) for at, reserved in enumerate([100.0, 400.0, 250.0, 400.0])]
    other = [("GE", at, 5.0, 2.0) for at in range(4)]
    process = [("APP", at, 9000.0, 9000.0) for at in range(4)]
    found = memory_use([*own, *other, *process], "memory_record.csv", None)
    assert found is not None
    assert (found.peak_reserved_mb, found.peak_allocated_mb, found.returned_mb) == (400.0, 80.0, 150.0)


def test_without_a_framework_there_is_no_use() -> None:
    assert memory_use([("APP", 1, 10.0, 10.0)], "memory_record.csv", None) is None
