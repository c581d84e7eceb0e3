"""Settings that a start takes from the measured run of its layout."""

from dataclasses import replace
from pathlib import Path

from recommender.ranking.measured.best_case import case_settings, describe_run, runs_of
from recommender.ranking.plan_setting import Origin
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import case, runs, starts, with_cases


def test_the_layout_that_was_measured_faster_comes_first(
    shipped: Workspace, shipped_path: Path, tmp_path: Path
) -> None:
    before = starts(shipped).first
    assert before.layout is not None
    assert before.layout.tp < 8
    slow = [case(1500, tp=tp) for tp in (2, 4)]
    with with_cases(shipped_path, tmp_path, *slow, case(2400, tp=8)) as workspace:
        found = starts(workspace).first
    assert found.layout is not None
    assert found.layout.tp == 8
    [line] = [line for line in found.because if line.startswith("measured: ")]
    assert line.startswith("measured: 2,400 tokens/s/device with TP 8, 64 at once")
    assert "; 3 runs of this model correct its price <https://a.example/c.json>" in line
    narrow, wide = (item.expected[0].high / item.expected[0].low for item in (found, before))
    assert narrow < wide


def test_a_start_in_a_layout_that_nobody_ran_says_what_corrects_its_price(
    shipped_path: Path, tmp_path: Path
) -> None:
    with with_cases(shipped_path, tmp_path, case(1500, tp=8)) as workspace:
        found = starts(workspace)
    lines = {
        one.layout.tp: one.because for one in (found.first, *found.alternatives) if one.layout is not None
    }
    said = "corrected by 1 measured run of this model near by"
    assert lines
    assert all((said in because) == (tp != 8) for tp, because in lines.items())


def test_what_the_fastest_run_of_the_layout_set_is_set(shipped_path: Path, tmp_path: Path) -> None:
    tuned = {"max_num_batched_tokens": 16384, "scheduler": "x"}
    cases = [case(2000), case(3900, config=tuned), case(1000, tp=4), case(500, tp=8)]
    with with_cases(shipped_path, tmp_path, *cases) as workspace:
        [taken] = [item for item in starts(workspace).first.settings if item.origin is Origin.CASE]
    assert (taken.key, taken.value) == ("--max-num-batched-tokens", 16384)
    assert taken.source == "https://a.example/c.json"


def test_a_slow_run_that_beats_a_low_price_is_not_the_one_to_copy(shipped_path: Path, tmp_path: Path) -> None:
    eager = case(3000, config={"enforce_eager": True})
    with with_cases(shipped_path, tmp_path, case(3900), eager) as workspace:
        assert "--enforce-eager" not in {item.key for item in starts(workspace).first.settings}


def test_runs_of_a_layout_are_those_of_device_engine_and_layout(shipped_path: Path, tmp_path: Path) -> None:
    with with_cases(
        shipped_path, tmp_path, case(3900, at_once=64), case(1900, at_once=16), case(900, tp=8)
    ) as one:
        found = runs(one)
        place = next(run.place for run in found if run.place.load == 6.0 and run.place.layout[0] == 1.0)
        assert [run.place.load for run in runs_of(place, found)] == [6.0, 4.0]
        near, far = (
            replace(found[0], place=replace(place, lengths=tuple(one + by for one in place.lengths)))
            for by in (0.1, -0.5)
        )
        assert runs_of(place, [far, near]) == [near, far]
        assert runs_of(replace(place, engine="sglang"), found) == []
        assert runs_of(replace(place, device="h200"), found) == []
        line = describe_run(found[0], 1)
        assert "correct" not in line
        assert case_settings(found[0], None) == []
