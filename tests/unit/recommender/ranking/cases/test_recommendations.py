"""Where the very question was measured, its gains are those of the measurements."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from recommender.answers.answer import Answer
from recommender.ranking.cases.recommendations import LEAST
from recommender.workspace.workspace import Workspace

TIMES = {2**at: 1.0 + at / 100 for at in range(LEAST + 1)}
"""Milliseconds by size of a tile: the median is 4 % slower than the best."""
QUESTION: dict[str, Any] = {"op": "toy_add", "hardware": "A100-SXM4-80GB", "shape": {"n": 4096}}


def row(tile: int, time: float, metric: str = "kernel_time", unit: str = "ms", **more: Any) -> str:
    outcome = {"metric": metric, "unit": unit, "value": time, "std": time * 0.004, "n": 16}
    record = {
        "task": {"kind": "kernel", "op": "toy_add", "shape": {"n": 4096}},
        "hardware": {"name": "A100-SXM4-80GB"},
        "config": {"tile": tile},
        "outcome": outcome,
        "source": {"title": "mine"},
    }
    return json.dumps({**record, **more}) + "\n"


def answer(place: Path, rows: list[str], tmp_path: Path, **more: Any) -> Answer:
    shutil.copytree(place, tmp_path / "workspace")
    with Workspace.open(tmp_path / "workspace", cache=place.parent / "cache") as workspace:
        (tmp_path / "rows.jsonl").write_text("".join(rows))
        workspace.ingest(tmp_path / "rows.jsonl")
        return workspace.recommend({**QUESTION, **more}, 2)


@pytest.fixture
def table() -> list[str]:
    return [row(tile, time) for tile, time in TIMES.items()]


def test_a_complete_table_reports_its_own_effect_and_its_own_spread(
    shipped_path: Path, tmp_path: Path, table: list[str]
) -> None:
    first = answer(shipped_path, table, tmp_path).recommendations[0]
    assert dict(first.configuration) == {"tile": 1}
    assert first.gain is not None
    assert math.exp(first.gain.expected) == pytest.approx(1.04)
    error = 1.645 * math.hypot(0.001, 0.001)
    assert first.gain.high - first.gain.low == pytest.approx(2 * error, rel=1e-3)
    assert first.probability is not None
    assert first.probability > 0.99
    assert "its own table" in first.against


def test_sizes_that_are_not_told_are_the_only_ones_that_were_timed_and_an_outlier_is_named(
    shipped_path: Path, tmp_path: Path, table: list[str]
) -> None:
    found = answer(shipped_path, [*table, row(777, 0.001)], tmp_path, shape={}).recommendations
    assert [dict(one.configuration) for one in found] == [{"tile": 777}, {"tile": 1}]
    assert "the only sizes known here" in found[1].title
    assert "see that it computes" in found[0].title
    assert "see that it computes" not in found[1].title


def test_another_table_beside_it_changes_nothing_of_that(
    shipped_path: Path, tmp_path: Path, table: list[str]
) -> None:
    others = [row(tile, 9 - time, hardware={"name": "H100-SXM"}) for tile, time in TIMES.items()]
    first = answer(shipped_path, [*table, *others], tmp_path).recommendations[0]
    assert first.gain is not None
    assert math.exp(first.gain.expected) == pytest.approx(1.04)
    assert first.tier == "measured here"
    (tmp_path / "alone").mkdir()
    alone = answer(shipped_path, others, tmp_path / "alone").recommendations[0]
    assert alone.gain is not None
    assert alone.tier == "measured elsewhere"


def test_what_runs_now_is_the_reference_where_it_was_measured(
    shipped_path: Path, tmp_path: Path, table: list[str]
) -> None:
    first = answer(shipped_path, table, tmp_path, current={"tile": 256}).recommendations[0]
    assert first.gain is not None
    assert math.exp(first.gain.expected) == pytest.approx(1.08)


def test_a_few_rows_timed_once_keep_their_numbers_and_say_so(shipped_path: Path, tmp_path: Path) -> None:
    def timed(tile: int, **outcome: Any) -> str:
        return row(tile, 1.0, outcome={"metric": "kernel_time", **outcome})

    rows = [timed(tile, unit="ms", value=value) for tile, value in ((1, 0.5), (2, 0.4), (4, 0.45))]
    others = [
        row(
            64,
            0.1,
            config={"of_another_program": 3},
            task={"kind": "kernel", "op": "toy_add", "shape": {"n": 8}},
        )
    ]
    found = answer(shipped_path, [*rows, timed(8, status="error"), *others], tmp_path).recommendations
    assert [dict(item.configuration) for item in found[:3]] == [{"tile": 2}, {"tile": 4}]
    first = found[0]
    assert (first.tier, first.title) == ("measured here", "400 us, timed once, no spread")
    assert first.gain is not None
    assert str(first.gain) == "1.12x"
    assert "few" in first.against
    assert first.probability is None


def test_of_repeats_the_mean_counts_and_one_lucky_reading_wins_nothing(
    shipped_path: Path, tmp_path: Path
) -> None:
    lucky = {1: (1.0, 1.5, 1.5), 2: (1.1, 1.1, 1.1)}
    rows = [(tile, time) for tile, times in lucky.items() for time in times]
    rows += [(2**at, 1.2 + at / 100 + repeat / 1000) for at in range(2, LEAST) for repeat in range(3)]
    table = [
        row(
            tile,
            time,
            outcome={"metric": "kernel_time", "unit": "ms", "value": time},
            source={"title": f"{at}"},
        )
        for at, (tile, time) in enumerate(rows)
    ]
    first = answer(shipped_path, table, tmp_path).recommendations[0]
    assert dict(first.configuration) == {"tile": 2}
    assert first.gain is not None
    assert "its own table" in first.against, "the spread between repeats stands for one that no row states"
    assert 1.0 < math.exp(first.gain.low) < math.exp(first.gain.high)
