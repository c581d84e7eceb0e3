"""A push holds what is one's own and nothing else, and the owner of the base can merge it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kg.errors import InputError
from kg.nouns.knowledge import HardwareProfile
from kg.triples.serialisation import from_graph
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.bases.conftest import answers, line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.long
def test_the_owner_merges_what_was_pushed(
    base: Path,
    mine: Path,
    tmp_path: Path,
    ingest: Callable[..., None],
    name_vendor: Callable[[Path, str, str], None],
) -> None:
    ingest(mine, line(3.0, block=8), line(0.5, size=64))
    name_vendor(mine, "own", "mine alone")
    file = tmp_path / "pushed.backup"
    _, added, nodes = UpkeepDesk.push(mine, file, cache=tmp_path)
    assert (added.rows, added.problems, nodes) == (2, 2, ("hardware/own",))
    assert b"mine.jsonl" not in file.read_bytes()
    with Workspace.open(base, cache=tmp_path) as workspace:
        merged = workspace.knowledge.merge(file)
        assert (merged.added.rows, merged.added.problems, merged.conflicts) == (2, 1, ())
        assert from_graph(workspace.graph, HardwareProfile, "own").labels["en"] == "mine alone"
    assert answers(base, tmp_path)[1] == answers(mine, tmp_path)[1]
    done = UpkeepDesk.rebase(mine, cache=tmp_path)
    assert (done.added.rows, done.added.repeated, done.conflicts) == (0, 2, ())


def test_nothing_of_ones_own_is_not_pushed(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has nothing that"):
        UpkeepDesk.push(mine, tmp_path / "pushed.backup", cache=tmp_path)
    assert not (tmp_path / "pushed.backup").exists()
