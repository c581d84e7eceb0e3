"""The ready-made workspace of a wheel is the one that would be made, or is passed over."""

import json
import shutil
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

import data
from embeddings.encoder import words
from embeddings.text_cache import CachedTextEncoder, TextCache
from embeddings.text_encoder import DEFAULT_MODEL, OnnxTextEncoder
from kg.nouns.entities import Problem
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import all_of
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.encoding import keep_shipped_texts
from recommender.store.inspection import Severity
from recommender.store.upkeep.checkup import examine
from recommender.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def archive(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("ready") / "workspace.zip"
    creation.pack_ready_made(WorkspaceFiles(shipped_path), target)
    return target


@pytest.fixture
def ships(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the archive, which is among the shipped files."""
    copy, resource = tmp_path / "ready.zip", data.resource
    shutil.copyfile(archive, copy)

    def with_archive(name: str) -> Traversable:
        return copy if name == creation.READY_MADE else resource(name)

    monkeypatch.setattr(data, "resource", with_archive)
    return copy


def test_it_is_the_workspace_that_would_be_made(ships: Path, shipped: Workspace, tmp_path: Path) -> None:
    place = tmp_path / "home" / "workspace"
    Workspace.create(place, cache=tmp_path / "cache", text_model=None)
    with Workspace.open(place, cache=tmp_path / "cache") as made:
        assert len(made.graph) == len(shipped.graph)
        assert made.snapshot.knowledge_version == shipped.snapshot.knowledge_version
    assert {result.severity for result in examine(WorkspaceFiles(place), deep=False)} == {Severity.OK}
    assert WorkspaceFiles(place).read()["shipped"] == creation.made_from()["shipped"]
    assert sorted(path.name for path in place.parent.iterdir()) == ["workspace"]


@pytest.mark.parametrize("fault", ["other knowledge", "other form", "cut", "changed"])
def test_one_that_does_not_fit_is_passed_over(fault: str, ships: Path, tmp_path: Path) -> None:
    if fault == "cut":
        ships.write_bytes(ships.read_bytes()[:-100])
    elif fault == "changed":
        content = bytearray(ships.read_bytes())
        content[len(content) // 2] ^= 1
        ships.write_bytes(content)
    else:
        note = creation.made_from() | ({"shipped": "old"} if fault == "other knowledge" else {"format": 0})
        with ZipFile(ships) as there:
            parts = {name: there.read(name) for name in there.namelist()}
        parts["made-from.json"] = json.dumps(note).encode()
        with ZipFile(ships, "w") as changed:
            for name, part in parts.items():
                changed.writestr(name, part)
    layout = WorkspaceFiles(tmp_path / "workspace")
    assert not creation.unpack_ready_made(layout)
    assert not layout.root.exists()


def test_a_checkout_has_none(tmp_path: Path) -> None:
    assert not creation.unpack_ready_made(WorkspaceFiles(tmp_path / "workspace"))


@pytest.mark.long
def test_what_a_workspace_without_a_manifest_holds_is_not_replaced(ships: Path, tmp_path: Path) -> None:
    place = tmp_path / "workspace"
    Workspace.create(place, cache=tmp_path / "cache", text_model=None)
    kept = (place / "trials.sqlite3").stat().st_ino
    WorkspaceFiles(place).manifest.unlink()
    Workspace.create(place, cache=tmp_path / "cache", text_model=None)
    assert (place / "trials.sqlite3").stat().st_ino == kept


def test_texts_of_shipped_problems_need_no_text_model(shipped: Workspace, tmp_path: Path) -> None:
    layout = WorkspaceFiles(tmp_path)
    keep_shipped_texts(layout, DEFAULT_MODEL)
    encoder = CachedTextEncoder(OnnxTextEncoder(tmp_path), TextCache(layout.texts))
    tree = HardwareTree(shipped.graph)
    texts = {words(problem, tree) for problem in all_of(shipped.graph, Problem)}
    missing = texts - encoder.cache.get(encoder.hash, sorted(texts)).keys()
    assert len(missing) <= 0.1 * len(texts), "python -m tools.shipping.texts"
    lengths = np.linalg.norm(encoder.encode(sorted(texts - missing)), axis=1)
    assert np.abs(lengths - 1).max() < 1e-3


def test_the_build_takes_what_the_program_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    assert set(hook["dependencies"]) <= set(project["project"]["dependencies"])
    assert (ROOT / hook["path"]).is_file()


def test_a_workspace_is_its_owners_alone_but_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o755)
    for place, mode in ((tmp_path / "new" / "own", 0o700), (open_folder, 0o755)):
        Workspace.create(place, cache=tmp_path / "cache", text_model=None, with_shipped=False)
        assert place.stat().st_mode & 0o777 == mode
