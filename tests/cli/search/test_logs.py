"""Logs that a search keeps: journals, databases, logs of others and of later releases."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.search.toy import search, task, trials


@pytest.mark.long
def test_another_space_is_refused_when_resuming(run: Run, place: Path) -> None:
    file = task(place, stop={"evaluations": 2})
    assert search(run, place, "run", file, "--no-ingest").code == 0
    assert search(run, place, "resume", "toy.journal", "--file", file, "-n", "3", "--no-ingest").code == 0
    changed = task(place, parameters={"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2, 9]})
    ran = search(run, place, "resume", "toy.journal", "--file", changed, "--no-ingest")
    assert ran.code == 2
    assert "the parameter y changed" in ran.fault
    again = search(run, place, "run", file)
    assert (again.code, "holds a search named 'toy' already" in again.fault) == (2, True)


@pytest.mark.long
def test_a_database_by_url_is_as_good_as_a_journal(run: Run, place: Path) -> None:
    url = "sqlite:///toy.db"
    assert (
        search(run, place, "run", task(place, stop={"evaluations": 3}), "--log", url, "--no-ingest").code == 0
    )
    ran = search(run, place, "resume", url, "-n", "5", "--no-ingest", "--json")
    assert ran.json["state"]["ended"] == 5
    missing = search(run, place, "resume", "sqlite:///gone.db")
    assert (missing.code, (place / "gone.db").exists()) == (2, False)


@pytest.mark.long
def test_what_a_database_elsewhere_holds_enters_the_workspace(run: Run, place: Path) -> None:
    """An address that is no plain file's, as a database on another machine has."""
    url = f"sqlite:///{place}/toy.db?timeout=5"
    problem = {"op": "toy", "phase": "kernel", "shape": {"M": 7}, "hardware": "ascend-910b3"}
    file = task(place, problem=problem, stop={"evaluations": 4})
    ran = run("--workspace", "own", "search", "run", file, "--log", url, folder=place)
    assert ran.code == 0, ran.err
    assert "4 new rows in the workspace" in ran.err
    assert not (place / "toy.journal").exists()


def filled_by_tpe(place: Path, log: str, study: str) -> None:
    """Four trials of Optuna's own sampler in a journal."""
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(str(place / log))
    theirs = optuna.create_study(
        study_name=study,
        storage=optuna.storages.JournalStorage(backend),
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=1),
    )
    theirs.optimize(
        lambda trial: (
            trial.suggest_categorical("x", [0, 1, 2, 3, 4, 5]) + trial.suggest_categorical("y", [0, 1, 2])
        ),
        n_trials=4,
    )


@pytest.mark.long
def test_a_storage_that_another_sampler_filled_is_gone_on_with_beside_it_or_refused(
    run: Run, place: Path
) -> None:
    begun = search(run, place, "run", task(place, stop={"evaluations": 4}), "--no-ingest", "--json")
    assert begun.code == 0, begun.err
    filled_by_tpe(place, "toy.journal", "toy")  # into our study: trials that we did not propose
    filled_by_tpe(place, "toy.journal", "theirs")  # a study beside ours
    assert "which search?" in search(run, place, "status", "toy.journal").fault
    status = search(run, place, "status", "toy.journal", "--name", "toy", "--json")
    assert status.json["state"]["ended"] == 4
    resumed = search(
        run, place, "resume", "toy.journal", "--name", "toy", "--evaluations", "9", "--no-ingest", "--json"
    )
    assert resumed.code == 0, resumed.err
    assert resumed.json["state"]["ended"] == 9
    refused = search(run, place, "resume", "toy.journal", "--name", "theirs")
    assert refused.code == 2
    assert "'theirs' was not made by a search of this version" in refused.fault


@pytest.mark.long
def test_a_search_of_a_later_release_is_refused_and_left_as_it_is(run: Run, place: Path) -> None:
    assert search(run, place, "run", task(place, stop={"evaluations": 2}), "--no-ingest").code == 0
    path = place / "toy.journal"
    path.write_text(re.sub(r'("schema": ?)1\b', r"\g<1>7", path.read_text()))
    before = path.read_bytes()
    for verb in ("resume", "status"):
        refused = search(run, place, verb, "toy.journal")
        assert refused.code == 2
        assert "of a later release (schema 7, here 1)" in refused.fault
    assert path.read_bytes() == before


def test_a_search_of_another_tool_is_reported(run: Run, place: Path, line: Any) -> None:
    (place / "other.jsonl").write_text(
        "".join(line(value, block=block) for block, value in enumerate((9, 5, 4, 4.1)))
    )
    ran = search(run, place, "report", "other.jsonl", "--json")
    [figures] = ran.json["searches"].values()
    assert (figures["evaluations"], figures["evaluations_to_95_percent"]) == (4, 3)
    assert figures["best"] == pytest.approx(0.004)


@pytest.mark.long
def test_steps_that_a_report_measures_are_kept(run: Run, place: Path) -> None:
    file = task(place, default={"x": 0, "y": 2})
    search(run, place, "ask", file, "-n", "1")
    for x, y in ((0, 2), (3, 0)):
        value = f"kernel_time={1 + (x - 3) ** 2 + y}s"
        assert search(run, place, "tell", "toy.journal", "--set", f"x={x},y={y}", "--value", value).code == 0
    search(run, place, "report", "toy.journal")
    before = len(trials(place))
    measured = search(run, place, "report", "toy.journal", "--measure", "--json").json
    assert all(item["evaluated"] for item in measured["contributions"])
    assert [item["parameters"] for item in measured["contributions"]] == [["x"], ["y"]]
    assert len(trials(place)) == before + 2  # x alone and y alone
    assert measured["figures"]["evaluations"] == 4
    search(run, place, "report", "toy.journal", "--measure")
    assert len(trials(place)) == before + 2
