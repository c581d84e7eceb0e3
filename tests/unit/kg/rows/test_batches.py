"""Batches: what each brought stands beside its rows, and any change of it shows."""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.nouns.entities import Kind, Measurement, Trust
from kg.nouns.values import Settings
from kg.rows import batches
from kg.rows.batches import GraphChange
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.samples.problems import make_problem

PROBLEM = make_problem("copy", "ascend-910b1", kind="operator")
SAID = [GraphChange(added=b"<tg:a> <tg:b> <tg:c> .\n"), GraphChange(removed=b"<tg:a> <tg:b> <tg:c> .\n")]


def trial(tile: int) -> Trial:
    return Trial(
        configuration=Settings({"tile": tile}),
        measurement=Measurement(metric="latency", unit="s", value=tile * 1e-5),
        kind=Kind.MEASURED,
        source_id="my-runs",
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrialStore]:
    """Two rows in batch 1, one of the same problem in batch 2, and knowledge after each."""
    with TrialStore(tmp_path / "t.sqlite3") as opened:
        opened.add(1, PROBLEM, [trial(1), trial(2)])
        opened.add(2, PROBLEM, [trial(3)])
        for number, change in enumerate(SAID, 1):
            digest = batches.digest_of(opened.file, number, [1]).with_change(number, change)
            batches.record(opened.file, number, digest, f"seal {number}", change)
            batches.record_change(opened.file, number, GraphChange(added=b"knowledge %d" % number))
        yield opened


def test_a_batch_alone_has_the_digest_that_it_has_among_all(store: TrialStore) -> None:
    together = batches.digests(store.file)
    assert {number: batches.digest_of(store.file, number, [1]) for number in (1, 2)} == together
    assert [(item.rows, item.problems) for item in together.values()] == [(2, 1), (1, 0)]


@pytest.mark.parametrize(
    "change",
    [
        "trials SET value = 9",
        "trials SET stdev = 1",
        "trials SET status = 'failed'",
        "trials SET batch = 3",
        "batches SET digest = 'x'",
        "statements SET added = removed, removed = added",
        "settings SET content = '{\"tile\":4}'",
    ],
)
def test_any_change_is_a_fault(store: TrialStore, change: str) -> None:
    assert list(batches.faults(store.file)) == []
    store.file.write(f"UPDATE {change} WHERE {'TRUE' if 'settings' in change else 'batch = 2'}") if (
        "batches" not in change
    ) else store.file.write(f"UPDATE {change} WHERE number = 2")
    assert list(batches.faults(store.file)) != []


def test_rows_without_their_batch_are_a_fault(store: TrialStore) -> None:
    store.add(3, PROBLEM, [trial(4)])
    assert list(batches.faults(store.file)) == ["there are rows of batch 3, which is not there"]


def test_statements_that_cannot_be_read_are_told(store: TrialStore) -> None:
    store.file.write("UPDATE statements SET added = x'00' WHERE number = 4")
    with pytest.raises(WorkspaceError, match="statements 4"):
        list(batches.faults(store.file))


def test_a_digest_depends_on_number_change_and_seal_before() -> None:
    rows = batches.BatchDigest()
    said = [*SAID, GraphChange(removed=b"another")]
    found = [rows.with_change(number, change, seal) for number in (1, 2) for change in said for seal in "ab"]
    assert len({*found, rows.with_change(1, None)}) == 13


def test_rows_are_summed_in_any_order_and_the_sum_is_that_of_stored_workspaces() -> None:
    """A seal is compared with what an older program wrote: the sum must not change its meaning."""
    rows = [("trials", (1, "a")), ("problems", (2, None))]
    sums = []
    for order in (rows, rows[::-1]):
        digest = batches.BatchDigest()
        for table, row in order:
            digest.add(table, row)
        sums.append(digest.total)
    seen = [int.from_bytes(blake2b(repr(one).encode(), digest_size=16).digest(), "big") for one in rows]
    assert sums == [sum(seen) % 2**128] * 2


def test_changes_after_a_batch_are_told_with_the_knowledge_that_may_be_there(store: TrialStore) -> None:
    last = GraphChange(added=b"knowledge 2")
    assert list(batches.changes_after(store.file, 2)) == [last]
    assert list(batches.changes_after(store.file, 1)) == [GraphChange(added=b"knowledge 1"), SAID[1], last]
    assert len(list(batches.changes_after(store.file, 0))) == 4
    assert [batches.change_of(store.file, number) for number in (1, 2, 3)] == [*SAID, None]


def test_the_newest_batch_and_each_seal_are_read_back(store: TrialStore) -> None:
    assert batches.newest(store.file) == (2, "seal 2")
    assert [batches.seal_of(store.file, number) for number in (1, 3)] == ["seal 1", None]
    assert batches.rows_up_to(store.file, 1) == 2


def test_a_level_of_trust_is_part_of_its_batch(store: TrialStore) -> None:
    before = batches.digest_of(store.file, 2, [1])
    store.set_trust(2, "my-runs", Trust.HIGH)
    after = batches.digest_of(store.file, 2, [1])
    assert after != before
    assert after == batches.digests(store.file)[2]
