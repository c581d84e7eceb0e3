"""A workspace of every format that was released: read, written to, and renewed by the present program.

``formats/format-2.tar.xz`` was written by the program of release 0.1.0: two rows of a kernel, and a vendor and a chip of
its own. It is kept for ever; a new format gets a file beside it.
"""

import json
import tarfile
from pathlib import Path

import pytest

from kg.nouns.knowledge import HardwareProfile
from kg.triples.serialisation import from_graph
from recommender.files import FORMAT
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace

FORMATS = Path(__file__).parent / "formats"


def blocks(workspace: Workspace) -> list[str]:
    """The settings of all rows of the kernel that no shipped case has."""
    rows = workspace.trials.summary(workspace.trials.keys().tolist())
    settings = [item.configuration for row in rows for item in workspace.trials.rows(row.id)]
    return sorted(str(item["block"]) for item in settings if [*item] == ["block"])


@pytest.mark.long
@pytest.mark.parametrize("number", range(2, FORMAT + 1))
def test_a_workspace_of_any_released_format_goes_on(number: int, tmp_path: Path) -> None:
    old = tmp_path / "old"
    with tarfile.open(FORMATS / f"format-{number}.tar.xz") as archive:
        archive.extractall(old, filter="data")
    assert json.loads((old / "workspace.json").read_text())["format"] == number
    with Workspace.open(old, cache=tmp_path) as workspace:
        assert blocks(workspace) == ["32", "64"]
        assert from_graph(workspace.graph, HardwareProfile, "acme").labels["en"] == "Acme"
    assert [item for item in UpkeepDesk.examine(old, deep=True) if item.severity == "fault"] == []
    done = UpkeepDesk.renew(old, cache=tmp_path)
    assert (done.added.rows, done.nodes) == (2, ("hardware/acme", "hardware/chip"))
    with Workspace.open(old, cache=tmp_path) as workspace:
        assert blocks(workspace) == ["32", "64"]
        assert from_graph(workspace.graph, HardwareProfile, "acme").labels["en"] == "Acme"
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
