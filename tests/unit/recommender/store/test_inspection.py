"""Parts that are out of step are found, and the remedy is one that works."""

import sqlite3
from pathlib import Path

import pytest
from pyoxigraph import Triple

from kg.triples.iris import problem_iri
from kg.triples.vocabulary import TG
from recommender.files import WorkspaceFiles
from recommender.store.inspection import Severity
from recommender.store.upkeep.checkup import installation
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import write_cases


@pytest.fixture
def filled(empty_path: Path, tmp_path: Path) -> Path:
    file = write_cases(tmp_path / "any", range(1, 6))
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        editor.ingest([file])
    return empty_path


def found(path: Path) -> dict[str, tuple[str, str]]:
    with Workspace.open(path, cache=path.parent) as workspace:
        findings = workspace.upkeep.check()
    return {item.about: (item.severity, item.says) for item in findings}


def test_a_sound_workspace_agrees_with_itself(filled: Path) -> None:
    severities = {about: severity for about, (severity, _) in found(filled).items()}
    assert severities == {"problems": Severity.OK, "vectors": Severity.OK, "index": Severity.OK}


def test_a_problem_that_only_the_graph_has_is_found(filled: Path) -> None:
    with Workspace.editor(filled, cache=filled) as editor:
        writer = editor._writer
        batch = next(iter(writer.graph.triples(None, TG.BATCH_OF))).object
        writer.change_knowledge((), [Triple(problem_iri("stray"), TG.BATCH_OF, batch)])
    assert found(filled)["problems"] == (
        Severity.FAULT,
        "1 are in the graph and not in the trial store, 0 the other way round",
    )


def test_lost_trials_are_found(filled: Path) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute("DELETE FROM trials WHERE problem = (SELECT min(problem) FROM trials)")
    findings = found(filled)
    assert {severity for severity, _ in findings.values()} >= {Severity.FAULT}


def test_lost_vectors_are_found(filled: Path) -> None:
    with sqlite3.connect(WorkspaceFiles(filled).trials) as trials:
        trials.execute("DELETE FROM vectors WHERE row = (SELECT max(row) FROM vectors)")
    assert found(filled)["vectors"] == (
        Severity.FAULT,
        "1 are in the trial store and not in the vectors, 0 the other way round",
    )


def test_what_is_needed_is_installed_here_and_a_missing_text_model_is_only_noted(tmp_path: Path) -> None:
    packages, model = installation(tmp_path)
    assert (packages.about, packages.severity) == ("packages", Severity.OK)
    assert (model.about, model.severity) == ("text model", Severity.NOTE)
    assert "pip install" in model.remedy
