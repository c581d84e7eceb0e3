"""Runs that are kept, the table that is written from them, and a kept run that is run again."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmarks.test_scripts import SCRIPTS
from tools import figures

TABLE = {
    "a bench": {
        "run": "benchmarks.speed.nothing --known {data}/cases",
        "figures": {
            "hits": {"d": "shipped/k1", "n": "nested/k1", "r": "nested/k1", "goal": ">= .5"},
            "second": {"d": "list/1"},
        },
    },
    "another": {
        "run": "benchmarks.none",
        "figures": {"time": {"d": "time", "r": "time", "goal": "<= 2"}},
    },
}


def result(seed: int, k1: float | None) -> dict[str, Any]:
    return {
        "seed": seed,
        "n": 1200,
        "cpu_s": 3.0,
        "held_out": {"family": ["x", "y"], "device": "each"},
        "nested": {"k1": k1},
        "shipped": {"k1": 0.75},
        "list": [1, 12.5],
        "flag": True,
    }


def row(seed: int, k1: float | None, *, is_all: bool = False) -> dict[str, Any]:
    return figures.row_of("a bench", TABLE["a bench"]["figures"], result(seed, k1), is_all=is_all)  # type: ignore[arg-type]


def test_a_kept_run_has_what_its_mode_can_tell() -> None:
    assert row(7, 0.5)["figures"] == {"rotating": {"hits": 0.5}}
    assert row(7, 0.5)["held_out"] == {"family": 2, "device": "each"}
    every = row(0, 0.5, is_all=True)
    assert every["figures"] == {"development": {"hits": 0.75, "second": 12.5}, "nested": {"hits": 0.5}}


def test_the_same_seed_replaces_and_another_adds(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    for one in (row(7, 0.5), row(8, 0.25), row(7, 0.0), row(7, 1.0, is_all=True)):
        figures.keep(path, one)
    kept = [(one["mode"], one["seed"]) for one in figures.kept_runs(path)]
    assert kept == [("rotating", 8), ("rotating", 7), ("all", 7)]


def test_a_page_keeps_its_words_and_gets_a_table_for_each_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Head\n\n{figures.BEGIN}\nold\n{figures.END}\n\ntail\n", encoding="utf-8")
    failed = {"benchmark": "another", "mode": "rotating", "seed": 7, "failed": "took more than 5 s"}
    rows = [row(0, 0.4, is_all=True), row(7, 0.5), row(8, 0.25), failed]
    sections = {"One": {"a bench": TABLE["a bench"]}, "Two": {"another": TABLE["another"]}}
    for _ in range(2):
        figures.write(page, sections, rows)
        assert page.read_text(encoding="utf-8").splitlines() == [
            "# Head",
            "",
            figures.BEGIN,
            "1 of 2 goals are missed.",
            "",
            "## One",
            "",
            "|figure|goal|all groups|last draw|",
            "|---|---|---|---|",
            "|**a bench** `speed.nothing`||n 1,200|n 1,200|",
            "|hits|>=.5|0.4 **missed**|0.25|",
            "|second||12.5||",
            "",
            "Not run yet: another.",
            figures.END,
            "",
            "tail",
        ]


def test_a_figure_may_differ_by_a_hundredth_of_itself_alone() -> None:
    assert figures.differences(row(7, 0.5), row(7, 0.504)) == []
    assert figures.differences(row(7, None), row(7, None)) == []
    [said] = figures.differences(row(7, 0.5), row(7, 0.51))
    assert said == "a bench, hits, rotating: 0.5 kept, 0.51 recomputed"
    assert len(figures.differences(row(7, 0.5), row(7, None))) == 1


@pytest.mark.parametrize(("k1", "code"), [(0.5, None), (0.6, 1)])
def test_a_kept_run_that_says_another_figure_ends_with_an_error(
    k1: float,
    code: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "table.yaml").write_text(yaml.safe_dump({"Part": TABLE}), encoding="utf-8")
    monkeypatch.setattr(figures, "TABLE", tmp_path / "table.yaml")
    monkeypatch.setattr(figures, "RUNS", tmp_path / "runs.jsonl")
    monkeypatch.setattr(figures, "run", lambda *_: result(7, k1))
    figures.keep(figures.RUNS, row(7, 0.5))
    monkeypatch.setattr(sys, "argv", ["figures", str(tmp_path), "--check"])
    if code is None:
        figures.main()
    else:
        with pytest.raises(SystemExit) as ended:
            figures.main()
        assert ended.value.code == code
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["same"] is (code is None)


def test_a_benchmark_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not there"):
        figures.run("benchmarks.answers.gains --effects {data}/no.csv", tmp_path, 7, 60)
    with pytest.raises(ValueError, match="took more than 0 s"):
        figures.run("benchmarks.answers.gains", tmp_path, 7, 0.01)


def test_the_table_names_scripts_that_exist_and_places_that_are_told() -> None:
    sections = yaml.safe_load(figures.TABLE.read_text(encoding="utf-8"))
    for name, bench in (item for table in sections.values() for item in table.items()):
        assert bench["run"].split()[0] in SCRIPTS, name
        assert all(set(where) <= {*figures.KINDS, "goal"} for where in bench["figures"].values()), name


def test_the_page_is_written_from_the_kept_runs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(figures.PAGE.read_text(encoding="utf-8").replace("**missed**", ""), encoding="utf-8")
    sections = yaml.safe_load(figures.TABLE.read_text(encoding="utf-8"))
    figures.write(page, sections, figures.kept_runs(figures.RUNS))
    assert page.read_text(encoding="utf-8") == figures.PAGE.read_text(encoding="utf-8")
