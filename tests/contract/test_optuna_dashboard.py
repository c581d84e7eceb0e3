"""Optuna's dashboard and command line take the log of a search as it is.

The dashboard's own application and Optuna's own command run in this process.
"""

import json
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import numpy as np
import pytest

from kg.nouns.entities import Better, Objective, Status
from recommender.measuring.outcome import RunOutcome
from recommender.search.evaluations import Suggestion
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.log.workers import worker
from recommender.search.run.objective import evaluation_of
from recommender.space.space_file import read_space

optuna = pytest.importorskip("optuna")

SPACE = read_space(
    {"parameters": {"tile": [16, 32, 64], "depth": {"low": 1, "high": 9}, "more": {"values": [1, 2], "when": "tile > 16"}}}
)  # fmt: skip
OBJECTIVE = Objective(metric="latency", better=Better.LOWER, unit="ms")
RECORD = {
    "task": {"kind": "kernel", "op": "matmul", "shape": {"M": 64}},
    "hardware": {"name": "acme-one"},
    "kind": "measured",
    "outcomes": [{"metric": "latency", "unit": "ms", "better": "lower"}],
    "source": {"title": "tunegraph search toy"},
}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The log of a search of twelve trials: ten ended well, one failed, one runs."""
    path = tmp_path / "toy.journal"
    log = SearchLog.create(
        str(path), name="toy", metadata=SearchMetadata(seed=1), record=RECORD, objectives=(OBJECTIVE,)
    )
    for number, point in enumerate(SPACE.sample(np.random.default_rng(3), 12)):
        suggestion = Suggestion(number=number, configuration=point, origin="random")
        trial = log.start(suggestion, SPACE, owner=worker(), until=None)
        if number == 11:
            continue
        outcome = (
            RunOutcome(status=Status.FAILED, reason="out of memory")
            if number == 5
            else RunOutcome(values={"latency": 20.0 - number + int(str(point["depth"]))})
        )
        evaluation = evaluation_of(outcome, point, (OBJECTIVE,), ())
        log.finish(trial, evaluation, outcome, objectives=(OBJECTIVE,), elapsed_s=0.5)
    return path


def served(app: Any, address: str) -> bytes:
    """What a WSGI application answers to a GET of an address, which must go well."""
    path, _, query = address.partition("?")
    environ: dict[str, Any] = {"PATH_INFO": path, "QUERY_STRING": query, "wsgi.input": BytesIO()}
    setup_testing_defaults(environ)
    status: list[str] = []
    content = b"".join(app(environ, lambda line, headers, exc_info=None: status.append(line)))
    assert status[0].startswith("200"), (address, status, content[:300])
    return content


def test_the_dashboard_shows_a_search(journal: Path) -> None:
    dashboard = pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    app = dashboard.wsgi(storage)
    assert b"<html" in served(app, "/dashboard/")
    [study] = json.loads(served(app, "/api/studies"))["study_summaries"]
    assert (study["study_name"], study["directions"]) == ("toy", ["minimize"])
    shown = json.loads(served(app, f"/api/studies/{study['study_id']}?after=0"))
    assert shown["objective_names"] == ["latency"]
    expected = SearchLog.open(str(journal)).trials()
    assert [trial["state"] for trial in shown["trials"]] == [
        {"COMPLETE": "Complete", "FAIL": "Fail", "RUNNING": "Running"}[trial.state] for trial in expected
    ]
    for trial, own in zip(shown["trials"], expected, strict=True):
        assert {item["name"]: item["param_external_value"] for item in trial["params"]} == {
            name: str(value) for name, value in own.configuration.to_json().items()
        }
        assert trial.get("values") == (
            list(own.evaluation.values) if own.evaluation and own.evaluation.ok else None
        )
    importances = json.loads(served(app, f"/api/studies/{study['study_id']}/param_importances"))
    assert {item["name"] for item in importances["param_importances"][0]} >= {"tile", "depth"}


@pytest.mark.parametrize("command", ["studies", "trials", "best-trial"])
def test_optunas_command_line_lists_a_search(
    journal: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = pytest.importorskip("optuna.cli")
    study = [] if command == "studies" else ["--study-name", "toy"]
    monkeypatch.setattr(
        sys, "argv", ["optuna", command, "--storage", str(journal), "--format", "json", *study]
    )
    assert cli.main() == 0
    rows = json.loads(capsys.readouterr().out)
    trials = SearchLog.open(str(journal)).trials()
    if command == "studies":
        assert [(row["name"], row["n_trials"]) for row in rows] == [("toy", 12)]
    elif command == "trials":
        assert [row["state"] for row in rows] == [trial.state for trial in trials]
    else:
        values = [trial.evaluation.values[0] for trial in trials if trial.evaluation and trial.evaluation.ok]
        assert rows["value"] == {"latency": min(value for value in values if value is not None)}
