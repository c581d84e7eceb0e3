"""The A/B tests of a workspace: what they try is looked up, and an outcome reaches the graph once."""

import shutil
from pathlib import Path

import pytest

from kg.errors import UnknownEntityError
from kg.nouns.entities import Better
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.triples.serialisation import all_of
from recommender.experiment.journal import Logged
from recommender.experiment.metadata import Runs
from recommender.experiment.preparing import PreparedTest
from recommender.experiment.recording import recorded
from recommender.measuring.readings import OutputReading
from recommender.store.experiments import StoredExperiments
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.experiment.trials import design

QUESTION: dict[str, object] = {
    "model": "llama-2-7b",
    "phase": "training",
    "hardware": "ascend-910b3",
    "count": 8,
}


def measured(workspace: Workspace, strategy: str) -> Logged:
    reading = OutputReading(metric="latency", better=Better.LOWER, unit="s", path="t")
    runs = Runs(command=("printf", r'{{"t": %s}}', "{batch}"), readings=(reading,), folder=Path.cwd())
    subject = workspace.experiments.of_problem(QUESTION, strategy)
    begun = workspace.experiments.begin(
        PreparedTest(design=design(pairs=12), runs=runs, subject=subject), "ab"
    )
    assert workspace.experiments.tell(begun) is None  # it has not ended
    return workspace.experiments.run(begun, base={"PATH": "/usr/bin:/bin"})


def test_an_outcome_is_learned_once(tmp_path: Path, shipped_path: Path) -> None:
    shutil.copytree(shipped_path, tmp_path / "w")
    with Workspace.open(tmp_path / "w", cache=shipped_path.parent / "cache") as workspace:
        answer = workspace.recommend(workspace.problem(QUESTION)[0])
        strategy = next(item.strategy for item in answer if item.strategy)
        logged = measured(workspace, strategy)
        first, second = workspace.experiments.tell(logged), workspace.experiments.tell(logged)
        assert first is not None
        assert (first.rows, first.strategies) == (1, (strategy,))
        assert second is not None
        assert second.rows == 0
        workspace.refresh()
        [outcome] = all_of(workspace.graph, Outcome)
        assert (outcome.strategy, outcome.verdict) == (strategy, "worse")
    assert StoredExperiments.at(tmp_path / "w").names() == ["ab"]


SERVING: dict[str, object] = {**QUESTION, "model": "qwen3-32b", "phase": "serving"}


@pytest.mark.long
def test_the_outcome_of_a_start_teaches_its_recipes(tmp_path: Path, shipped_path: Path) -> None:
    """The first start is refuted: the next answer rests on other recipes and divides it otherwise."""
    shutil.copytree(shipped_path, tmp_path / "w")
    table = tmp_path / "runs.csv"
    values = [(pair, 100 + pair % 3, 60 + pair % 4) for pair in range(20)]
    table.write_text("pair,control,treatment\n" + "".join(f"{a},{b},{c}\n" for a, b, c in values))
    with Workspace.open(tmp_path / "w", cache=shipped_path.parent / "cache") as workspace:
        before = workspace.recommend(workspace.problem(SERVING)[0])
        start = before.starts[0]
        assert start.recipes
        assert workspace.remember(before, SERVING, 5)
        subject = workspace.experiments.of_recommendation(start.id)
        assert subject.single.recipes == start.recipes
        found = recorded(
            [table],
            metrics=["throughput:tokens/s"],
            settings=(Settings({"tensor_parallel_size": 1}), subject.changed(Settings())),
        )
        logged = workspace.experiments.record(found, subject)
        assert workspace.experiments.tell(logged) is not None
        workspace.refresh()
        [outcome] = all_of(workspace.graph, Outcome)
        assert (outcome.recipes, outcome.verdict, outcome.strategy) == (start.recipes, "worse", "")
        after = workspace.recommend(workspace.problem(SERVING)[0])
        assert not set(after.starts[0].recipes) & set(start.recipes)
        assert after.starts[0].layout != start.layout


def test_a_subject_is_a_recommendation_or_a_problem(shipped: Workspace) -> None:
    experiments = shipped.experiments
    with pytest.raises(UnknownEntityError, match="no strategy named 'nothing'"):
        experiments.of_problem(QUESTION, "nothing")
    with pytest.raises(UnknownEntityError, match="is remembered"):
        experiments.of_recommendation("none-such")  # ids are hexadecimal
    subject = experiments.of_problem(QUESTION)
    assert subject.question == QUESTION
    assert subject.single.strategy == ""
