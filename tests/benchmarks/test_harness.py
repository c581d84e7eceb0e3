"""Options, draws and the last line that every benchmark shares."""

import datetime
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import harness
from kg.errors import InputError

NAMES = [f"family {number}" for number in range(50)]


def read(monkeypatch: pytest.MonkeyPatch, *words: str) -> harness.Run:
    monkeypatch.setattr(sys, "argv", ["benchmark", *words])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    return harness.read(
        "A benchmark.",
        harness.place("--known", "--cases", required=False),
        harness.option("--most", type=int),
    )


def test_a_draw_depends_on_seed_kind_and_names_and_not_on_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = read(monkeypatch, "--seed", "7")
    drawn = run.draw("family", NAMES)
    assert len(drawn) == 10
    assert run.draw("family", [*reversed(NAMES), *NAMES]) == drawn
    assert run.held_out["family"] == sorted(drawn)
    assert run.draw("device", NAMES) != drawn
    assert read(monkeypatch, "--seed", "8").draw("family", NAMES) != drawn
    assert read(monkeypatch, "--seed", "7").draw("family", NAMES) == drawn


def test_seeds_ask_about_every_group_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [read(monkeypatch, "--seed", str(seed)).draw("family", NAMES) for seed in range(60)]
    assert frozenset().union(*drawn) == set(NAMES)


def test_few_groups_give_one_and_none_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    run = read(monkeypatch, "--seed", "7")
    assert len(run.draw("kit", ["a", "b"])) == 1
    assert run.draw("kit", []) == frozenset()
    assert run.held_out["kit"] == []
    assert len(run.draw("kit", ["a", "b"], least=3)) == 2


def test_all_asks_each_group_with_the_published_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = read(monkeypatch, "--all")
    assert run.draw("family", NAMES) == set(NAMES)
    assert run.held_out == {"family": harness.EACH}
    assert run.seed_range(3) == range(3)
    assert run.rng().random() == np.random.default_rng(0).random()


def test_no_two_seeds_share_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (read(monkeypatch, "--seed", str(seed)).seed_range(100) for seed in (202647, 202648))
    assert not set(one) & set(other)
    assert max(other) < 2**32  # numpy and Optuna take no more


@pytest.mark.parametrize(
    ("day", "number"),
    [(datetime.date(2026, 11, 26), 202648), (datetime.date(2027, 1, 1), 202653)],
)
def test_the_seed_of_a_week(day: datetime.date, number: int) -> None:
    assert harness.week(day) == number


def test_the_seed_is_that_of_the_week_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = harness.week(datetime.date.today())
    assert read(monkeypatch).seed == read(monkeypatch, "--seed", "week").seed == now


def test_a_folder_that_is_not_there_ends_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read(monkeypatch, "--cases", str(tmp_path / "no"))
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{tmp_path / 'no'} is not there (--known): name what exists\n"
    assert read(monkeypatch, "--known", str(tmp_path)).known == tmp_path


@pytest.mark.parametrize(
    "fault", [InputError("no such column"), FileNotFoundError(2, "is not there", "a.csv")]
)
def test_a_fault_of_what_is_read_ends_in_one_line(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read(monkeypatch)
    with pytest.raises(SystemExit) as ended:
        sys.excepthook(type(fault), fault, None)
    assert (ended.value.code, capsys.readouterr().err) == (2, f"{fault}\n")


def test_a_seed_that_is_no_number_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read(monkeypatch, "--seed", "soon")
    assert ended.value.code == 2
    assert "'soon' is neither a whole number nor week" in capsys.readouterr().err


def test_what_is_no_number_is_null(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = read(monkeypatch, "--seed", "7", "--quick")
    run.draw("kit", ["a"])
    run.last_line({"k1": np.float64(0.5), "nothing": math.nan, "rows": (1, math.inf), "8": None}, n=3)
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said.pop("cpu_s") >= 0
    assert said == {
        "seed": 7,
        "n": 3,
        "held_out": {"kit": ["a"]},
        "quick": True,
        "k1": 0.5,
        "nothing": None,
        "rows": [1, None],
        "8": None,
    }


def test_scores_of_nothing_are_null_and_refusals_are_misses() -> None:
    assert harness.mean([]) is None
    assert harness.percentile([]) is None
    assert harness.share([]) is None
    assert harness.share([True, True], refused=2) == 0.5
    assert harness.share([], refused=2) == 0
    assert harness.percentile([4, 1, 2, 3]) == 2.5
    assert harness.percentile(range(101), 90) == 90
