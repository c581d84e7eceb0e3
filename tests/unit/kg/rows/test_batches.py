"""Seals of batches: what changes them, what a sweep keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Measurement, Trust
from kg.nouns.values import Settings
from kg.rows import seals
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.samples.problems import make_problem

PROBLEM = make_problem("copy", "ascend-910b1", kind="operator")


def trial(tile: int) -> Trial:
    return Trial(
        configuration=Settings({"tile": tile}),
        measurement=Measurement(metric="latency", unit="s", value=tile * 1e-5),
        kind=Kind.MEASURED,
        source_id="my-runs",
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrialStore]:
    """Two rows in batch 1, one of the same problem in batch 2."""
    with TrialStore(tmp_path / "t.sqlite3") as opened:
        opened.add(1, PROBLEM, [trial(1), trial(2)])
        opened.add(2, PROBLEM, [trial(3)])
        seals.prepare(opened.file)
        yield opened


def test_a_batch_alone_has_the_digest_that_it_has_among_all(store: TrialStore) -> None:
    together = seals.digests(store.file, 2)
    assert {number: seals.digest_of(store.file, number, [1]) for number in (1, 2)} == together
    assert [(item.rows, item.problems) for item in together.values()] == [(2, 1), (1, 0)]


@pytest.mark.parametrize("change", ["value = 9", "stdev = 1", "status = 'failed'", "problem = 7"])
def test_any_change_of_a_row_changes_the_seal(store: TrialStore, change: str) -> None:
    before = seals.digests(store.file, 2)[2].seal(2, "")
    store.file.write(f"UPDATE trials SET {change} WHERE batch = 2")  # noqa: S608 - constants
    assert seals.digests(store.file, 2)[2].seal(2, "") != before


def test_a_seal_depends_on_number_and_seal_before() -> None:
    digest = seals.BatchDigest()
    assert len({digest.seal(1, ""), digest.seal(2, ""), digest.seal(2, "x")}) == 3


def test_swept_rows_lie_in_the_quarantine(store: TrialStore) -> None:
    assert seals.sweep(store.file, 1) == 1
    assert store.counts().trials == 2
    [(batch, content)] = seals.quarantine(store.file)
    assert (batch, content["problem"], content["configuration"]) == (2, PROBLEM.id, {"tile": 3})
    assert seals.sweep(store.file, 1) == 0


def test_the_quarantine_forgets_old_sweeps_but_never_acknowledged_rows(store: TrialStore) -> None:
    seals.sweep(store.file, 1, acknowledged=True)
    for tile in range(10, 10 + seals.KEPT_SWEEPS + 2):
        store.add(2, PROBLEM, [trial(tile)])
        seals.sweep(store.file, 1)
    tiles = [content["configuration"]["tile"] for _, content in seals.quarantine(store.file)]  # type: ignore[index]
    assert tiles == [3, 12, 13, 14]


def test_marks_of_batches_are_read_back(store: TrialStore) -> None:
    assert seals.recorded(store.file) == (None, {})
    seals.record(store.file, 1, "a")
    seals.record(store.file, 2, "b")
    seals.acknowledge(store.file, 1)
    assert seals.recorded(store.file) == (1, {1: "a", 2: "b"})


def test_a_changed_configuration_and_a_lost_index_entry_are_faults(store: TrialStore) -> None:
    assert list(seals.faults(store.file)) == []
    store.file.write("UPDATE settings SET content = '{\"tile\":4}' WHERE key = 1")
    assert any("does not say" in fault for fault in seals.faults(store.file))


def test_a_level_of_trust_is_part_of_its_batch(store: TrialStore) -> None:
    before = seals.digest_of(store.file, 2, [1])
    store.set_trust(2, "my-runs", Trust.HIGH)
    after = seals.digest_of(store.file, 2, [1])
    assert after != before
    assert after == seals.digests(store.file, 2)[2]
