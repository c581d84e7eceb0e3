"""The short form of ``chaos.py`` beside it: nothing is lost, torn or silent; the quick form in the long tier."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest

from benchmarks.protocols.processes import children_import_from_here
from tests.endurance import chaos
from tests.endurance.disorder import places
from tests.endurance.disorder.acts import ONE_STEP, act, look
from tests.endurance.disorder.children import run
from tests.endurance.disorder.damage import flip_often
from tests.endurance.disorder.kills import KillFigures, Reference, judge, kill_often
from tests.endurance.disorder.writes import failing_writes


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chaos")
    children_import_from_here()
    made = run(make, folder)
    assert not made.error
    return folder


def make(_: object, folder: Path) -> None:
    places.make(folder)


@pytest.mark.long
@pytest.mark.parametrize("name", ["evolve", "revert"])
def test_a_step_that_is_killed_leaves_what_was_before_or_after(place: Path, name: str) -> None:
    said: list[str] = []
    figures = kill_often(place, 2, random.Random(4), said.append, (name,))
    assert name in ONE_STEP
    assert (figures.torn, figures.broken, figures.rows_lost, figures.unlike) == (0, 0, 0, 0), said
    assert figures.kills == 2


@pytest.mark.long
def test_flips_are_told_or_harmless(place: Path) -> None:
    said: list[str] = []
    figures = flip_often(place, 8, random.Random(2), said.append)
    assert (figures.done, figures.silent, figures.tracebacks) == (8, 0, 0), said


@pytest.mark.long
@pytest.mark.usefixtures("preloading")
def test_each_write_may_fail(place: Path) -> None:
    """Full and read-only disks: a line of words, nothing lost or torn, and the next one ends where it would have."""
    said: list[str] = []
    figures = failing_writes(place, 44, random.Random(3), said.append)
    wrong = (figures.torn, figures.broken, figures.rows_lost, figures.unlike, figures.tracebacks)
    assert wrong == (0, 0, 0, 0, 0), said
    assert min(figures.writes.values()) > 2
    assert figures.refused > 30, "most of them cannot be done without the disk"


@pytest.mark.long
def test_a_torn_workspace_is_counted(place: Path) -> None:
    """The harness can fail: where the learned files of a step are gone after it, each look counts."""
    path = place / "work"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(place / "base", path)
    before, done = run(look, path), run(act, "evolve", place, path)
    assert not done.error
    after = run(look, path)
    shutil.rmtree(path / "learned")
    figures = KillFigures()
    reference = Reference(before.value["then"], after.value["then"], 1.0)
    said = judge(figures, place, path, "evolve", reference, None)
    assert figures.torn == 1, said


@pytest.mark.long
@pytest.mark.usefixtures("preloading")
def test_the_quick_form_finds_nothing_silent() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest closes its own folders to other users
        folder = Path(name)
        folder.chmod(0o755)  # a child of another user reads it
        figures = chaos.measure(folder, dict(chaos.QUICK), seed=5)
    wrong = ("silent", "rows_lost", "broken", "tracebacks")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0)
