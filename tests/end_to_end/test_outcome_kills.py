"""Writers that are killed while they take in many outcomes leave all of a batch or nothing of it."""

import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kg.nouns.effects import Effect
from kg.nouns.entities import (
    Baseline,
    Better,
    Case,
    Hardware,
    Kind,
    Measurement,
    Objective,
    Problem,
    Source,
    Workload,
    WorkloadKind,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.triples.serialisation import all_of
from recommender.experiment.concluding import Conclusion
from recommender.files import WorkspaceFiles
from recommender.store.writing import batch_chain, bulk_writing
from recommender.workspace.workspace import Workspace

KILLS = 4
BATCH = 400
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def conclusion(number: int) -> Conclusion:
    case = Case(
        problem=Problem(
            workload=Workload(
                kind=WorkloadKind.OPERATOR, operator="copy", shape=Settings({"batch": number % 50})
            ),
            hardware=Hardware(name="card"),
            objective=Objective(metric="throughput", better=Better.HIGHER, unit="1/s"),
        ),
        configuration=Settings({"tile": number}),
        measurement=Measurement(metric="throughput", unit="1/s", value=100.0 + number),
        kind=Kind.MEASURED,
        source=Source(title=f"test {number}"),
        baseline=Baseline(value=100.0),
        strategy=f"strategy-{number % 3}",
    )
    outcome = Outcome(
        id=f"outcome-{number}",
        problem=case.problem.id,
        metric="throughput",
        configuration=case.configuration,
        verdict="better",
        scheme="randomised",
        pairs=12,
        alpha=0.01,
        margin=0.01,
        time=NOW + timedelta(minutes=number),
        source=case.source,
        gain=case.log_gain,
        strategy=case.strategy,
    )
    return Conclusion(case=case, outcome=outcome)


def write(path: Path) -> None:
    """Take in one batch after another, each in many steps, and say which are acknowledged."""
    small = pytest.MonkeyPatch()
    small.setattr(batch_chain, "BULK_TRIPLES", 1)
    small.setattr(bulk_writing, "PIECE", 40)
    with Workspace.editor(path, cache=path.parent / "cache", clock=lambda: NOW) as editor:
        first = editor.batch
        for batch in range(first, first + 1000):
            editor.add_outcomes([conclusion(BATCH * batch + number) for number in range(BATCH)])
            print(editor.batch, flush=True)


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
