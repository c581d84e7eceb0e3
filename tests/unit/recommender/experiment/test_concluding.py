"""From an experiment to the graph: the effect moves by the estimate, once, in whatever order it is told."""

import math
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.effects import Effect, to_unats
from kg.nouns.entities import Kind, Objective, Problem, Status, Trust
from kg.nouns.outcomes import Outcome
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, from_graph
from kg.triples.snapshots import open_newest
from recommender.experiment.concluding import Conclusion, conclude
from recommender.experiment.design import CONTROL
from recommender.experiment.journal import ExperimentJournal, Logged, read
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.running import Experiment
from recommender.experiment.standing import standing
from recommender.files import WorkspaceFiles
from recommender.ranking.change import Change
from recommender.workspace.workspace import Workspace
from tests.samples.problems import make_problem
from tests.unit.recommender.experiment.trials import A, World, design

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROBLEM = make_problem("toy", "acme-one", kind="operator", shape={"M": 1}, better=design().better, unit="s")
TRIED = Change(strategy="overlap", bottleneck="slow-link", id="4dcea6b43b7a")


def ran(folder: Path, name: str, **world: Any) -> Logged:
    path = folder / f"{name}.jsonl"
    made = design(pairs=12, seed=world.get("seed", 1))
    made_world = World(**world)
    evaluators = {arm: [made_world] for arm in made.arms}
    with ExperimentJournal(path, made, ExperimentMetadata()) as journal:
        Experiment(design=made, evaluators=evaluators, journal=journal).run(threading.Event())
    return read(path)


@pytest.fixture
def logs(tmp_path: Path) -> list[Logged]:
    """A gain, a loss, one that is nothing, and one whose treatment fails."""
    return [
        ran(tmp_path, "gain", values={32: 1.0, 64: 0.9}, seed=1),
        ran(tmp_path, "loss", values={32: 1.0, 64: 1.2}, seed=2),
        ran(tmp_path, "null", values={32: 1.0, 64: 1.0}, seed=3),
        ran(tmp_path, "fails", fails=(64,), seed=4),
    ]


def told(logs: list[Logged], tried: Change = TRIED) -> list[Conclusion]:
    return [conclude(logged, PROBLEM, tried, NOW) for logged in logs]


def test_a_case_says_what_the_interval_says(logs: list[Logged]) -> None:
    for logged, found in zip(logs, told(logs), strict=True):
        [item] = standing(logged.samples, logged.design).comparisons
        assert found.outcome.verdict == str(item.verdict)
        assert found.case.kind is Kind.MEASURED
        assert found.outcome.configuration == found.case.configuration == logged.design.arms["treatment"]
        assert found.outcome.control == A
        if item.interval.pairs:
            assert found.case.log_gain == pytest.approx(item.interval.mean, abs=1e-12)
            assert found.outcome.gain == item.interval.mean
        else:
            assert found.case.measurement.status is Status.FAILED
            assert "out of memory" in found.case.measurement.reason
            assert found.outcome.failures > 5


def test_it_has_one_identity(logs: list[Logged]) -> None:
    first, again = (
        conclude(logs[0], PROBLEM, TRIED, NOW),
        conclude(logs[0], PROBLEM, TRIED, datetime(2027, 1, 1, tzinfo=UTC)),
    )
    assert first.outcome.id == again.outcome.id
    assert first.case == again.case
    assert len({item.outcome.id for item in told(logs)}) == len(logs)


def test_another_metric_is_another_problem(logs: list[Logged]) -> None:
    other = Problem(
        workload=PROBLEM.workload,
        hardware=PROBLEM.hardware,
        objective=Objective(metric="energy", better=design().better, unit="J"),
    )
    found = conclude(logs[0], other, Change(), NOW)
    assert found.case.problem.objective.metric == "latency"
    assert found.outcome.problem == found.case.problem.id


def test_what_says_nothing_is_refused(tmp_path: Path, logs: list[Logged]) -> None:
    made = design()
    with ExperimentJournal(tmp_path / "empty.jsonl", made, ExperimentMetadata()):
        pass
    with pytest.raises(InputError, match="measured nothing"):
        conclude(read(tmp_path / "empty.jsonl"), PROBLEM, TRIED, NOW)
    with pytest.raises(InputError, match="no treatment 'third'"):
        conclude(logs[0], PROBLEM, Change(), NOW, "third")
    same = design(arms={CONTROL: A, "treatment": A}, is_self_test=True)
    with ExperimentJournal(tmp_path / "same.jsonl", same, ExperimentMetadata()):
        pass
    with pytest.raises(InputError, match="same configuration twice"):
        conclude(read(tmp_path / "same.jsonl"), PROBLEM, TRIED, NOW)


def effects(path: Path) -> tuple[list[Effect], set[str]]:
    with open_newest(WorkspaceFiles(path).graph) as graph:
        return list(all_of(graph, Effect)), {item.id for item in all_of(graph, Outcome)}


def take_in(path: Path, conclusions: list[Conclusion]) -> list[int]:
    with Workspace.editor(path, cache=path.parent / "cache", clock=lambda: NOW) as editor:
        return [editor.add_outcomes([item]).rows for item in conclusions]


def test_an_outcome_moves_the_effect_by_its_estimate_and_only_once(
    empty_path: Path, logs: list[Logged]
) -> None:
    conclusions = told(logs)
    assert take_in(empty_path, conclusions) == [1, 1, 1, 1]
    [effect], outcomes = effects(empty_path)
    gains = [item.case.log_gain for item in conclusions if item.case.log_gain is not None]
    assert len(gains) == 3
    assert effect.n == 3
    assert effect.sum_unats == sum(map(to_unats, gains))
    assert effect.sum_squares_unats2 == sum(to_unats(gain) ** 2 for gain in gains)
    assert (effect.strategy, effect.context.bottleneck, effect.context.hardware) == (
        "overlap",
        "slow-link",
        "acme-one",
    )
    assert outcomes == {item.outcome.id for item in conclusions}
    assert take_in(empty_path, conclusions) == [0, 0, 0, 0]
    assert effects(empty_path) == ([effect], outcomes)


def test_an_outcome_is_an_activity_that_used_its_problem(empty_path: Path, logs: list[Logged]) -> None:
    [conclusion] = told(logs[:1])
    take_in(empty_path, [conclusion])
    with Workspace.open(empty_path, cache=empty_path.parent / "cache") as workspace:
        store = workspace.graph
        assert isinstance(store, GraphStore)
        assert from_graph(store, Outcome, conclusion.outcome.id) == conclusion.outcome
        assert from_graph(store, Problem, conclusion.outcome.problem) == conclusion.case.problem
        assert [item.says for item in workspace.upkeep.check() if item.severity == "fault"] == []
        assert math.isclose(conclusion.outcome.gain or 0, -math.log(0.9), abs_tol=0.05)


def test_outcomes_come_with_a_workspace_that_is_joined(
    empty_path: Path, tmp_path: Path, logs: list[Logged]
) -> None:
    other = tmp_path / "other"
    Workspace.create(other, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    conclusions = told(logs)
    take_in(other, conclusions[:3])
    take_in(empty_path, conclusions[2:])
    for _ in range(2):
        with Workspace.editor(empty_path, cache=tmp_path / "cache", clock=lambda: NOW) as editor:
            editor.merge(other)
        [effect], outcomes = effects(empty_path)
        assert effect.n == 3  # three gains and a failure, and what both knew counts once
        assert len(outcomes) == 4


def test_gains_of_a_source_that_is_distrusted_later_stand_apart(empty_path: Path, logs: list[Logged]) -> None:
    conclusions = told(logs)
    take_in(empty_path, conclusions)
    [before], _ = effects(empty_path)
    for trust, number in ((Trust.LOW, 2), (Trust.HIGH, 2), (Trust.MEDIUM, 1)):
        with Workspace.editor(empty_path, cache=empty_path.parent / "cache", clock=lambda: NOW) as editor:
            editor.add_outcomes(conclusions[:1], trust=trust)
        found, _ = effects(empty_path)
        assert len(found) == number
        moved = next(item for item in found if item.trust is trust)
        assert [item.id for item in moved.recent if item.id == conclusions[0].outcome.id] != []
        assert sum(item.n for item in found) == before.n
        assert sum(item.sum_unats for item in found) == before.sum_unats
        assert sum(item.sum_squares_unats2 for item in found) == before.sum_squares_unats2
        with Workspace.open(empty_path, cache=empty_path.parent / "cache") as workspace:
            assert workspace.knowledge.validate() == []
    assert found == [before]


def test_outcomes_are_dated_by_their_last_sample(logs: list[Logged]) -> None:
    late = datetime(2030, 1, 1, tzinfo=UTC)
    for logged in logs:
        told_now, told_later = conclude(logged, PROBLEM, TRIED, NOW), conclude(logged, PROBLEM, TRIED, late)
        assert told_now.outcome.time == told_later.outcome.time
        assert told_now.outcome.time.isoformat() >= logged.samples[-1].time[:10]
