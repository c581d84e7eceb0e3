"""A small workspace that stands for what ships, and one that began with it."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recommender.files import WorkspaceFiles
from recommender.store.base import Base
from recommender.store.ingestion import Options
from recommender.store.renewal.renewal import renew
from recommender.store.renewal.replay import RenewalResult
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line

VENDOR = "hardware:\n  - {{id: {0}, level: vendor, label: {{en: {1}}}}}\n"


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two rows of one problem."""
    place = tmp_path_factory.mktemp("base")
    Workspace.create(place / "base", cache=place / "cache", text_model=None, with_shipped=False)
    (place / "base.jsonl").write_text(case_line(1.0) + case_line(2.0, block=32))
    with Workspace.editor(place / "base", cache=place) as editor:
        editor.ingest([place / "base.jsonl"])
    return place / "base"


@pytest.fixture
def base(made_once: Path, tmp_path: Path) -> Path:
    """A copy of it that may be written to: what ships now."""
    return shutil.copytree(made_once, tmp_path / "base")


def begun_with(base: Path, path: Path) -> Path:
    """A workspace that begins with what another holds now, with nothing of its own."""
    shutil.copytree(base, path)
    Base.keep(WorkspaceFiles(path), "then")
    return path


def renewed(path: Path, base: Path, cache: Path) -> RenewalResult:
    """Put a workspace on what another holds now."""
    return renew(
        WorkspaceFiles(path),
        cache,
        version="now",
        make=lambda draft: Base.keep(WorkspaceFiles(shutil.copytree(base, draft.root)), "now"),
        clock=lambda: datetime.now(UTC),
    )


@pytest.fixture
def mine(base: Path, tmp_path: Path) -> Path:
    """A workspace that began with it, with nothing of its own."""
    return begun_with(base, tmp_path / "mine")


@pytest.fixture
def ingest(tmp_path: Path) -> Callable[..., None]:
    """Take lines into a workspace."""

    def take(path: Path, *lines: str, options: Options | None = None) -> None:
        file = tmp_path / f"{path.name}.jsonl"
        file.write_text("".join(lines))
        with Workspace.editor(path, cache=tmp_path) as editor:
            editor.ingest([file], options=options)

    return take


@pytest.fixture
def name_vendor(tmp_path: Path) -> Callable[[Path, str, str], None]:
    """Describe a vendor in a workspace, or describe it anew."""

    def describe(path: Path, identifier: str, label: str) -> None:
        file = tmp_path / "vendors.yaml"
        file.write_text(VENDOR.format(identifier, label))
        with Workspace.editor(path, cache=tmp_path) as editor:
            editor.add_file("hardware", file)

    return describe


def answers(path: Path, cache: Path) -> Any:
    """Everything that answers rest on, but for the times of writing."""
    with Workspace.open(path, cache=cache) as workspace:
        triples = {str(item) for item in workspace.graph.triples() if "endedAtTime" not in str(item)}
        rows = {
            row.id: workspace.trials.rows(row.id)
            for row in workspace.trials.summary(workspace.trials.keys().tolist())
        }
        return triples, rows, workspace.snapshot.index.keys(workspace.snapshot.batch).tolist()
