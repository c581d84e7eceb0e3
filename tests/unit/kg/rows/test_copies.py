"""Repeated statements count once: rows of two sources, tables of two devices."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Measurement, Problem, Status
from kg.nouns.values import Settings
from kg.rows.copies import copied_devices, mark_copied_devices, marks_fault
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.samples.problems import make_problem


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrialStore]:
    with TrialStore(tmp_path / "trials.sqlite3") as opened:
        yield opened


def problem(rows: int, hardware: str, operator: str = "gemm") -> Problem:
    return make_problem(operator, hardware, shape={"M": rows}, count=1)


def row(block: int, value: float | None, source: str = "a", kind: Kind = Kind.MEASURED) -> Trial:
    status = Status.OK if value is not None else Status.NOT_MEASURED
    return Trial(
        configuration=Settings({"block": block}),
        measurement=Measurement(
            metric="latency", value=value, unit=None if value is None else "s", status=status
        ),
        kind=kind,
        source_id=source,
    )


def fill(store: TrialStore, hardware: str, tasks: int, shift: float = 0.0, **more: object) -> None:
    for number in range(tasks):
        rows = [row(block, number + block / 7 + shift, hardware) for block in (1, 2, 3)]
        store.add(1, problem(number, hardware, **more), rows)  # type: ignore[arg-type]


def test_a_repeated_row_is_shown_once(store: TrialStore) -> None:
    store.add(1, problem(1, "h100"), [row(1, 0.5), row(1, 0.5, "b"), row(1, 0.6, "b"), row(2, 0.7)])
    table = store.table(1)
    assert table.costs.tolist() == [0.5, 0.6, 0.7]
    assert store.counts().trials == 4


def test_one_device_under_two_names_is_found_and_the_first_is_its_origin(store: TrialStore) -> None:
    fill(store, "b300", 5)
    fill(store, "gb300", 5)
    fill(store, "gb301", 5)
    fill(store, "h100", 5, shift=1e-9)
    mark_copied_devices(store, ["gemm"])
    assert [(item.device, item.origin, item.rows, item.shared) for item in copied_devices(store)] == [
        ("gb300", "b300", 15, 15),
        ("gb301", "b300", 15, 15),
    ]
    measured_on = {item.hardware: item.measured_on for item in store.summary(store.keys().tolist())}
    assert measured_on == {"b300": "b300", "gb300": "b300", "gb301": "b300", "h100": "h100"}


def test_two_equal_rows_are_chance_and_a_copied_part_is_found(store: TrialStore) -> None:
    for device in ("a", "b"):
        store.add(1, problem(1, device), [row(1, 0.25, device), row(2, 0.5, device)])
    for number in range(10):
        shared = row(1, 0.125 + number)
        own = [[row(block, number + block / share) for block in (2, 3, 4)] for share in (7, 11)]
        store.add(1, problem(number, "a", "conv"), [shared, *own[0]])
        store.add(1, problem(number, "c", "conv"), [shared, *own[1]])
    mark_copied_devices(store, ["gemm", "conv"])
    assert [(item.device, item.rows, item.shared) for item in copied_devices(store)] == [("c", 10, 40)]


def test_a_few_equal_rows_among_many_are_no_copy(store: TrialStore) -> None:
    for number in range(10):
        store.add(1, problem(number, "a"), [row(block, number + block / 7) for block in range(1, 7)])
        store.add(
            1,
            problem(number, "b"),
            [row(block, number + block / (7 if block == 1 else 11)) for block in range(1, 7)],
        )
    mark_copied_devices(store, ["gemm"])
    assert copied_devices(store) == []


def test_changed_marks_are_told_and_made_again(store: TrialStore) -> None:
    fill(store, "a", 4)
    fill(store, "b", 4)
    mark_copied_devices(store, ["gemm"])
    marks = copied_devices(store)
    assert marks_fault(store.file) == ""
    store.file.write("UPDATE copied_devices SET origin = 'x' WHERE device = 'b'")
    assert "index of copied devices" in marks_fault(store.file)
    mark_copied_devices(store, ["gemm"])
    assert marks_fault(store.file) == ""
    assert copied_devices(store) == marks


def test_winners_are_copies_only_where_many_different_ones_agree(store: TrialStore) -> None:
    for number in range(10):
        for device in ("a", "b"):
            winner = row(number % 5, None, device, Kind.WINNER)
            default = row(1, None, device, Kind.WINNER)
            store.add(1, problem(number, device, "moe"), [winner])
            store.add(1, problem(number, device, "norm"), [default])
    mark_copied_devices(store, ["moe", "norm"])
    assert [(item.operator, item.device, item.rows) for item in copied_devices(store)] == [("moe", "b", 10)]


def test_a_copy_is_forgotten_when_its_tables_differ(store: TrialStore) -> None:
    fill(store, "a", 4)
    fill(store, "b", 4)
    mark_copied_devices(store, ["gemm"])
    for number in range(4):
        store.add(2, problem(number, "b"), [row(block, block / 3 + number) for block in range(9, 60)])
        store.add(2, problem(number, "a"), [row(block, block / 5 + number) for block in range(9, 60)])
    mark_copied_devices(store, ["gemm"])
    assert copied_devices(store) == []


@pytest.mark.parametrize(("equal", "is_copy"), [(9, True), (8, False), (6, False)])
def test_nine_in_ten_rows_that_could_be_alike_are(store: TrialStore, equal: int, is_copy: bool) -> None:
    """Fewer may be three of nine by chance, or two tables that share a part of their settings."""
    for device in ("a", "b"):
        rows = [row(n, n + 1 / 7 if n < equal or device == "a" else n + 1 / 11) for n in range(9)]
        store.add(1, problem(1, device), rows)
    mark_copied_devices(store, ["gemm"])
    assert bool(copied_devices(store)) is is_copy
