"""Gains that rows say: their sign, once each, and by whom."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kg.errors import WorkspaceError
from kg.nouns.entities import Baseline, Better, Kind
from kg.nouns.values import Settings
from kg.rows.gains import gains, gains_with_sources
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.unit.kg.rows.samples import OTHER_SOURCE, SOURCE, problem, trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TrialStore]:
    with TrialStore(tmp_path / "trials.sqlite3") as opened:
        yield opened


def tried(value: float, baseline: float, **more: Any) -> Trial:
    filled: dict[str, Any] = {
        "strategy": "tile-it",
        "bottleneck": "memory",
        "baseline": Baseline(value=baseline),
        **more,
    }
    return trial(1, value, **filled)


@pytest.mark.parametrize(
    ("better", "metric", "value", "baseline"),
    [(Better.LOWER, "latency", 0.8, 1.0), (Better.HIGHER, "throughput", 1.25, 1.0)],
)
def test_a_quarter_faster_is_the_same_gain_in_time_and_in_rate(
    store: TrialStore, better: Better, metric: str, value: float, baseline: float
) -> None:
    store.add(1, problem(better=better), [tried(value, baseline, metric=metric)])
    [gain] = gains(store)
    assert gain.unats == round(1e6 * math.log(1.25))
    assert (gain.strategy, gain.bottleneck, gain.metric, gain.kind) == (
        "tile-it",
        "memory",
        metric,
        Kind.MEASURED,
    )


@pytest.mark.parametrize(("better", "metric"), [(Better.LOWER, "latency"), (Better.HIGHER, "throughput")])
def test_what_is_worse_is_a_loss(store: TrialStore, better: Better, metric: str) -> None:
    value = 1.25 if better is Better.LOWER else 0.8
    store.add(1, problem(better=better), [tried(value, 1.0, metric=metric)])
    [gain] = gains(store)
    assert gain.unats == -round(1e6 * math.log(1.25))


def test_a_gain_counts_once_for_the_source_that_said_it_first(store: TrialStore) -> None:
    store.add(1, problem(), [tried(0.5, 1.0)])
    store.add(
        2, problem(), [tried(0.5, 1.0, source_id=OTHER_SOURCE), tried(0.4, 1.0, source_id=OTHER_SOURCE)]
    )
    both = [round(1e6 * math.log(2)), round(1e6 * math.log(2.5))]
    assert sorted(gain.unats for gain in gains(store)) == both
    assert [gain.unats for gain in gains(store, SOURCE)] == both[:1]
    assert [gain.unats for gain in gains(store, OTHER_SOURCE)] == both[1:]
    assert [(source, gain.unats) for source, gain in gains_with_sources(store)] == [
        (SOURCE, both[0]),
        (OTHER_SOURCE, both[1]),
    ]


def test_a_gain_has_what_its_configuration_stood_against(store: TrialStore) -> None:
    before = Baseline(value=1.0, configuration=Settings({"block": 9}))
    store.add(1, problem(), [trial(1, 0.5, strategy="tile-it", baseline=before, kind=Kind.PUBLISHED)])
    [gain] = gains(store)
    assert (gain.kind, gain.hardware, gain.model) == (Kind.PUBLISHED, "h100", "")


@pytest.mark.parametrize(
    "damage", ["kind = 'publishgd'", "status = 'gk'", "baseline = 0.0", "baseline = -2.0"]
)
def test_a_word_or_number_that_no_writer_wrote_is_damage_of_the_file(store: TrialStore, damage: str) -> None:
    """SQLite has no checksums: a flipped bit comes back as another word, out of an index at that."""
    store.add(1, problem(), [tried(0.8, 1.0)])
    store.file.write(f"UPDATE trials SET {damage}")  # noqa: S608 - constants
    readers = (
        store.counts,
        lambda: store.rows(problem().id),
        lambda: [*gains(store), *gains_with_sources(store)],
    )
    seen = 0
    for read in readers:
        try:
            read()
        except WorkspaceError as error:
            seen += str(store.file.path) in str(error)
    assert seen >= 1
