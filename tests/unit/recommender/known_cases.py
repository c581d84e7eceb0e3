"""A few known problems on a small hardware tree, for tests of ranking."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kg.nouns.entities import Kind, Measurement, Problem, Source, Status
from kg.nouns.knowledge import Level
from kg.nouns.values import Settings
from kg.rows.trial_rows import ProblemRow, Trial
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import Distance, HardwareTree
from recommender.retrieval.neighbours import Neighbour
from tests.samples.hardware_nodes import facts, node, tree_of
from tests.samples.problems import make_problem

SOURCE = Source(title="a test")

Row = tuple[Mapping[str, object], float | None]
"""A configuration and its cost; None for one that failed."""


def tree() -> HardwareTree:
    """Two vendors; ``one`` has two architectures, ``near`` and ``same`` share one."""
    nodes = [
        ("one", Level.VENDOR, None, 0.0),
        ("arch-a", Level.ARCHITECTURE, "one", 0.0),
        ("arch-b", Level.ARCHITECTURE, "one", 0.0),
        ("same", Level.DEVICE, "arch-a", 100.0),
        ("near", Level.DEVICE, "arch-a", 110.0),
        ("far", Level.DEVICE, "arch-b", 40.0),
        ("other", Level.VENDOR, None, 0.0),
        ("foreign", Level.DEVICE, "other", 100.0),
    ]
    return tree_of(
        *(
            node(name, level, broader, facts=facts(compute_units=units) if units else ())
            for name, level, broader, units in nodes
        )
    )


def problem(hardware: str = "same", size: int = 1024, count: int | None = None) -> Problem:
    return make_problem("copy", hardware, shape={"n": size}, count=count)


def trial(configuration: Mapping[str, object], cost: float | None, kind: Kind = Kind.MEASURED) -> Trial:
    measured = (
        Measurement(metric="latency", status=Status.UNKNOWN if kind is Kind.WINNER else Status.FAILED)
        if cost is None
        else Measurement(metric="latency", unit="s", value=cost)
    )
    return Trial(configuration=Settings(configuration), measurement=measured, kind=kind, source_id=SOURCE.id)


def store(folder: Path, known: Mapping[Problem, Sequence[Trial]]) -> TrialStore:
    trials = TrialStore(folder / "trials.sqlite3")
    for about, rows in known.items():
        trials.add(1, about, rows)
    return trials


def neighbour(trials: TrialStore, about: Problem, asked: Problem, apart: float = 0.0) -> Neighbour:
    key = trials.problem_key(about.id)
    assert key is not None
    [row] = trials.summary([key])
    return Neighbour(
        problem=row,
        device=_distance(row, asked),
        same_task=row.task_id == asked.task_id,
        same_count=row.count == asked.hardware.count,
        apart=apart,
    )


def _distance(row: ProblemRow, asked: Problem) -> Distance:
    return tree().distance(asked.hardware.name, row.hardware)
