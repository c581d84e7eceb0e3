"""Writers that are killed while they take in many outcomes leave all of a batch or nothing of it."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kg.nouns.effects import Effect
from kg.nouns.outcomes import Outcome
from kg.triples.serialisation import all_of
from recommender.files import WorkspaceFiles
from recommender.store.writing import batch_chain, bulk_writing
from recommender.workspace.workspace import Workspace
from tests.samples.conclusions import NOW, conclusion, copies

KILLS = 4
BATCH = 400


def write(path: Path) -> None:
    """Take in one batch after another, each in many steps, and say which are acknowledged."""
    small = pytest.MonkeyPatch()
    small.setattr(batch_chain, "BULK_TRIPLES", 1)
    small.setattr(bulk_writing, "PIECE", 40)
    with Workspace.editor(path, cache=path.parent / "cache", clock=lambda: NOW) as editor:
        first = editor.batch
        for batch in range(first, first + 1000):
            numbers = range(BATCH * batch, BATCH * (batch + 1))
            editor.add_outcomes([conclusion(n, copies(n % 50), f"test {n}") for n in numbers])
            print(editor.batch, flush=True)


@pytest.mark.long
def test_a_killed_writer_leaves_whole_batches(empty_path: Path) -> None:
    chance, note, cut_off = random.Random(3), WorkspaceFiles(empty_path).unfinished, 0
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, __file__, empty_path], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        acknowledged = int(child.stdout.readline())
        while not note.exists():  # it writes the next batch now, for a tenth of a second and more
            assert child.poll() is None
        time.sleep(chance.uniform(0.0, 0.1))
        child.kill()
        acknowledged = max([acknowledged, *map(int, child.stdout.read().split())])
        child.wait()
        cut_off += note.exists()
        with Workspace.editor(empty_path, cache=empty_path.parent / "cache", clock=lambda: NOW) as editor:
            batches = editor.batch
        assert acknowledged <= batches <= acknowledged + 1
        with Workspace.open(empty_path, cache=empty_path.parent / "cache") as workspace:
            assert [item.says for item in workspace.upkeep.check() if item.severity == "fault"] == []
            rows = workspace.trials.counts().trials
            outcomes = [item.id for item in all_of(workspace.graph, Outcome)]
            assert rows == len(outcomes) == BATCH * batches
            assert sum(item.n for item in all_of(workspace.graph, Effect)) == rows
    assert cut_off


if __name__ == "__main__":
    write(Path(sys.argv[1]))
