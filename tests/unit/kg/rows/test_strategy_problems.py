"""Problems on which strategies were tested."""

from dataclasses import replace
from pathlib import Path

import pytest

from kg.nouns.entities import Baseline, Hardware, Kind, Measurement
from kg.nouns.values import Settings
from kg.rows.gains import problems_with_strategies
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from tests.samples.problems import make_problem

PROBLEM = make_problem("copy", "ascend-910b1", kind="operator", unit="s")


def trial(tile: int, value: float, kind: Kind = Kind.MEASURED, strategy: str = "") -> Trial:
    baseline = Baseline(value=2.0) if strategy else None
    return Trial(
        configuration=Settings({"tile": tile}),
        measurement=Measurement(metric="latency", unit="s", value=value),
        kind=kind,
        source_id="s",
        baseline=baseline,
        strategy=strategy,
    )


@pytest.fixture
def trials(tmp_path: Path) -> TrialStore:
    store = TrialStore(tmp_path / "trials.sqlite3")
    store.add(1, PROBLEM, [trial(16, 1.0), trial(32, 1.5), trial(64, 2.0, Kind.PUBLISHED)])
    other = replace(PROBLEM, hardware=Hardware(name="ascend-910b2"))
    store.add(2, other, [trial(16, 1.0, strategy="overlap")])
    return store


def test_only_problems_with_a_row_of_a_strategy_are_grouped(trials: TrialStore) -> None:
    [group] = problems_with_strategies(trials)
    assert group.hardware == "ascend-910b2"
    assert len(group.problems) == 1


def test_rows_of_later_batches_do_not_count(trials: TrialStore) -> None:
    trials.acknowledged = 1
    assert problems_with_strategies(trials) == []
