"""The graph of a workspace is made from its batches; what it lacks is put in, and what differs is told."""

import shutil
from pathlib import Path

from kg.nouns.knowledge import Bottleneck
from kg.rows.trials import TrialStore
from kg.triples.graph import GraphStore
from recommender.files import WorkspaceFiles
from recommender.store.graph_cache import catch_up, graph_mismatch
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import write_cases


def test_what_a_graph_lacks_is_put_in_once(empty_path: Path, tmp_path: Path) -> None:
    files = WorkspaceFiles(empty_path)
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        editor.ingest([write_cases(tmp_path / "any", range(1, 3))])
    shutil.copytree(files.live, tmp_path / "older")
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        editor.ingest([write_cases(tmp_path / "any", range(3, 6))])
        editor.add_knowledge([Bottleneck(id="own", labels={"en": "own words"})])
    with GraphStore(files.live, read_only=True) as graph:
        whole = set(graph.triples())
    with TrialStore(files.trials, read_only=True) as trials:
        with GraphStore(tmp_path / "older") as graph:
            assert graph_mismatch(graph, trials.file) == ""  # behind is no other
            assert catch_up(graph, trials.file)
            assert set(graph.triples()) == whole
        with GraphStore(tmp_path / "none") as graph:
            assert not graph_mismatch(graph, trials.file)
            assert catch_up(graph, trials.file)
            assert set(graph.triples()) == whole


def test_a_graph_of_other_batches_is_told(empty_path: Path, tmp_path: Path) -> None:
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        editor.ingest([write_cases(tmp_path / "any", range(1, 3))])
    places = {
        name: WorkspaceFiles(shutil.copytree(empty_path, tmp_path / name)) for name in ("older", "twin")
    }
    for path, at in ((empty_path, 3), (tmp_path / "twin", 6)):
        with Workspace.editor(path, cache=tmp_path) as editor:
            editor.ingest([write_cases(tmp_path / "any", range(at, at + 3))])
    said = {"older": "with batch", "twin": "another seal"}
    with GraphStore(WorkspaceFiles(empty_path).live, read_only=True) as graph:
        for name, files in places.items():
            with TrialStore(files.trials, read_only=True) as trials:
                assert said[name] in graph_mismatch(graph, trials.file)
