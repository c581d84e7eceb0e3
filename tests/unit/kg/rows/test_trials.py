"""The trial store: what goes in comes out, in order, once, and only what counts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from kg.nouns.entities import (
    Baseline,
    Better,
    Kind,
    Measurement,
    Status,
    Trust,
)
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.unit.kg.rows.samples import OTHER_SOURCE, SOURCE, blocks, key_of, problem, trial


def test_a_row_comes_back_whole(store: TrialStore) -> None:
    whole = Trial(
        configuration=Settings({"block": 16, "unroll": True, "layout": (1, "x", None)}),
        measurement=Measurement(
            metric="latency", unit="s", value=1.0000000000000002e-9, stdev=0.5, repeats=7, reported_unit="ns"
        ),
        kind=Kind.PUBLISHED,
        source_id=SOURCE,
        software=Settings({"cuda": "12.4"}),
        strategy="tile",
        bottleneck="compute",
        baseline=Baseline(value=2.0, configuration=Settings({"block": 8})),
    )
    failed = Trial(
        configuration=Settings({"block": 64}),
        measurement=Measurement(metric="latency", status=Status.FAILED, reason="内存不足 'out of memory'"),
        kind=Kind.MEASURED,
        source_id=OTHER_SOURCE,
    )
    assert store.add(1, problem(), [failed, whole]) == 2
    assert store.rows(problem().id) == [whole, failed]
    assert store.rows(problem().id, limit=1) == [whole]
    assert store.rows(problem().id, limit=0) == []
    assert store.rows("nothing") == []


def test_adding_twice_changes_nothing(store: TrialStore) -> None:
    rows = [trial(block, block / 10) for block in range(1, 9)]
    assert store.add(1, problem(), rows) == 8
    assert store.add(2, problem(), reversed(rows)) == 0
    assert store.add(2, problem(), [*rows, trial(99, 1.0)]) == 1
    assert store.counts().trials == 9


def test_what_differs_is_another_row(store: TrialStore) -> None:
    rows = [
        trial(1, 1.0),
        trial(1, 1.5),
        trial(1, 1.0, source_id=OTHER_SOURCE),
        trial(1, 1.0, metric="energy"),
        trial(1, 1.0, software=Settings({"cuda": "12"})),
        trial(True, 1.0),
        trial("1", 1.0),
        trial(1, None),
        trial(1, None, status=Status.FAILED),
    ]
    assert store.add(1, problem(), rows) == len(rows)
    assert store.add(1, problem("a100"), rows[:1]) == 1
    assert sorted(map(repr, store.rows(problem().id))) == sorted(map(repr, rows))


def test_the_table_is_best_first_and_keeps_apart_what_is_not_a_time(store: TrialStore) -> None:
    store.add(
        1,
        problem(),
        [
            trial("failed", None, status=Status.FAILED),
            trial("slow", 3.0),
            trial("forbidden", None, status=Status.FORBIDDEN),
            trial("winner", None, status=Status.NOT_MEASURED, kind=Kind.WINNER),
            trial("unknown", None),
            trial("fast", 1.0),
            trial("energy", 9.0, metric="energy"),
        ],
    )
    table = store.table(key_of(store, problem()))
    assert blocks(store, table.configuration_ids)[:4] == ["fast", "slow", "winner", "unknown"]
    assert set(blocks(store, table.configuration_ids)[4:]) == {"failed", "forbidden"}
    np.testing.assert_array_equal(table.costs, [1.0, 3.0, np.nan, np.nan, np.inf, np.inf])
    assert table.statuses[:4] == (Status.OK, Status.OK, Status.NOT_MEASURED, Status.UNKNOWN)
    assert table.kinds == (Kind.MEASURED,) * 2 + (Kind.WINNER,) + (Kind.MEASURED,) * 3
    assert len(table) == 6
    best = store.table(key_of(store, problem()), 2)
    np.testing.assert_array_equal(best.costs, [1.0, 3.0])


def test_where_higher_is_better_the_cost_is_the_reciprocal(store: TrialStore) -> None:
    asked = problem(better=Better.HIGHER)
    store.add(
        1,
        asked,
        [trial(block, value, metric="throughput") for block, value in ((1, 2.0), (2, 8.0), (3, 0.0))],
    )
    table = store.table(key_of(store, asked))
    assert blocks(store, table.configuration_ids) == [2, 1, 3]
    np.testing.assert_array_equal(table.costs, [1 / 8, 1 / 2, np.inf])


def test_costs_of_configurations_known_elsewhere(store: TrialStore) -> None:
    store.add(1, problem("a100"), [trial(block, 1.0) for block in range(5)])
    ids = store.table(key_of(store, problem("a100"))).configuration_ids.tolist()
    store.add(
        1,
        problem(),
        [
            trial(0, 5.0),
            trial(0, 4.0),
            trial(1, None, status=Status.FAILED),
            trial(2, None, kind=Kind.WINNER),
            trial(3, 7.0, metric="energy"),
        ],
    )
    np.testing.assert_array_equal(
        store.costs(key_of(store, problem()), ids), [4.0, np.inf, np.nan, np.nan, np.nan]
    )


def test_one_configuration_has_one_id_over_all_problems(store: TrialStore) -> None:
    for hardware in ("h100", "a100"):
        store.add(1, problem(hardware), [trial(16, 1.0), trial(32, 2.0)])
    one, other = (store.table(key_of(store, problem(name))).configuration_ids for name in ("h100", "a100"))
    np.testing.assert_array_equal(one, other)
    assert store.configuration_id(Settings({"block": 16})) == one[0]
    assert store.configuration_id(Settings({"block": 17})) is None
    assert store.counts().configurations == 2


def test_batches_that_are_not_acknowledged_do_not_exist(store: TrialStore) -> None:
    store.add(1, problem(), [trial(1, 5.0)])
    store.add(2, problem(), [trial(2, 1.0)])
    store.add(2, problem("a100"), [trial(1, 1.0)])
    key, later = key_of(store, problem()), key_of(store, problem("a100"))
    store.acknowledged = 1
    assert store.problem_key(problem("a100").id) is None
    assert store.rows(problem("a100").id) == []
    assert [row.measurement.value for row in store.rows(problem().id)] == [5.0]
    assert store.table(key).costs.tolist() == [5.0]
    assert store.table(key, acknowledged=2).costs.tolist() == [1.0, 5.0]
    assert len(store.table(later)) == 0
    assert np.isnan(store.costs(key, [int(store.table(key, acknowledged=2).configuration_ids[0])])[0])
    assert [row.key for row in store.summary([later, key])] == [key]
    assert store.keys().tolist() == [key]
    counts = store.counts()
    assert (counts.trials, counts.problems, counts.configurations) == (1, 1, 1)


def test_counts_tell_kinds_and_statuses_apart(store: TrialStore) -> None:
    store.add(
        1, problem(), [trial(1, 1.0), trial(2, None, kind=Kind.WINNER), trial(3, None, status=Status.FAILED)]
    )
    counts = store.counts()
    assert counts.kinds == {Kind.MEASURED: 2, Kind.WINNER: 1}
    assert counts.statuses == {Status.OK: 1, Status.FAILED: 1, Status.UNKNOWN: 1}


def test_a_transaction_that_fails_writes_nothing_and_forgets_what_it_made(store: TrialStore) -> None:
    def broken() -> Iterator[Trial]:
        yield trial(1, 1.0)
        raise RuntimeError("the file broke")

    def both() -> None:
        with store.transaction():
            store.add(1, problem(), [trial(2, 2.0)])
            store.add(1, problem("a100"), broken())

    with pytest.raises(RuntimeError, match="the file broke"):
        both()
    assert (store.counts().trials, store.counts().problems) == (0, 0)
    assert store.add(1, problem(), [trial(1, 1.0), trial(2, 2.0)]) == 2
    assert blocks(store, store.table(key_of(store, problem())).configuration_ids) == [1, 2]


def test_of_many_timed_rows_every_nth_is_taken_with_the_best(store: TrialStore) -> None:
    asked = problem()
    store.add(1, asked, [trial(block=number, value=float(1 + number)) for number in range(100)])
    store.add(1, asked, [trial(block=1000, value=None), trial(block=0, value=1.0, source_id="other")])
    key = key_of(store, asked)
    ids, costs = store.timed(key, 1000)
    assert costs.tolist() == [float(1 + number) for number in range(100)]
    ids, costs = store.timed(key, 30)
    assert costs.tolist() == [float(1 + number) for number in range(0, 100, 4)]
    assert blocks(store, ids) == list(range(0, 100, 4))
    assert [len(array) for array in store.timed(key + 1, 30)] == [0, 0]


def test_problems_are_found_by_the_unit_of_what_was_timed(store: TrialStore) -> None:
    with store.transaction():
        store.add(1, problem("h100"), [trial(1, 2.0)])
        store.add(1, problem("a100"), [trial(1, None, status=Status.FAILED)])
        store.add(1, problem("b200"), [trial(1, 3.0, metric="energy")])
    [key] = store.measured_in("latency", "s").tolist()
    assert store.summary([key])[0].hardware == "h100"
    assert not store.measured_in("latency", "tokens/s/device").size
    assert not store.measured_in("throughput", "s").size


def test_trust_of_a_later_batch_is_not_seen(store: TrialStore) -> None:
    store.add(1, problem(), [trial(1, 0.5)])
    store.set_trust(1, SOURCE, Trust.HIGH)
    store.set_trust(2, SOURCE, Trust.LOW)
    store.acknowledged = 1
    assert store.trust_of(SOURCE) is Trust.HIGH
    store.acknowledged = 9
    assert store.trust_of(SOURCE) is Trust.LOW


def test_as_many_rows_as_asked_for_come_back_those_of_its_own_metric_first(store: TrialStore) -> None:
    asked = problem()
    power = Measurement(metric="power", unit="W", value=300.0)
    others = [replace(trial(block, 3.0), measurement=power) for block in (3, 4)]
    store.add(1, asked, [trial(1, 1.0), trial(2, 2.0), *others])
    metrics = [item.measurement.metric for item in store.rows(asked.id)]
    assert metrics == [asked.objective.metric] * 2 + ["power"] * 2
    for limit in range(6):
        assert [item.measurement.metric for item in store.rows(asked.id, limit)] == metrics[:limit]
    assert store.rows("nobody") == []
