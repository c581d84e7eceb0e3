"""A/B tests by name: begun once, run by command, recorded once, and what they tried kept with them."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Better
from kg.nouns.values import Settings
from recommender.experiment.metadata import ExperimentMetadata, ExperimentSubject, Runs
from recommender.experiment.preparing import PreparedTest
from recommender.experiment.recording import Recorded
from recommender.experiment.testing import (
    Experiments,
    conclusions_of,
    is_conclusive,
    state_of,
)
from recommender.measuring.readings import OutputReading
from recommender.ranking.change import Change
from tests.unit.recommender.experiment.test_concluding import PROBLEM
from tests.unit.recommender.experiment.trials import design

SUBJECT = ExperimentSubject(
    question={"op": "toy"}, single=Change(id="4d", strategy="overlap", bottleneck="slow-link")
)


def runs(**changed: Any) -> Runs:
    reading = OutputReading(metric="latency", better=Better.LOWER, unit="s", path="t")
    command = ("printf", r'{{"t": %s}}', "{batch}")
    return Runs(**{"command": command, "readings": (reading,), "folder": Path.cwd(), **changed})


def prepared(**changed: Any) -> PreparedTest:
    made = design(pairs=12, **changed.pop("design", {}))
    return PreparedTest(**{"design": made, "runs": runs(), "subject": SUBJECT, **changed})


def test_a_test_runs_to_its_verdict_and_its_outcome_is_concluded(tmp_path: Path) -> None:
    experiments = Experiments(tmp_path)
    logged = experiments.begin(prepared(), "one")
    assert not is_conclusive(logged, state_of(logged))
    seen: list[int] = []
    done = experiments.run(logged, base={"PATH": "/usr/bin:/bin"}, on_round=lambda x: seen.append(x.rounds))
    assert experiments.names() == ["one"]
    assert seen
    state = state_of(experiments.find("one"))
    assert done.concluded["verdict"] == "worse"  # 64 takes twice as long as 32
    assert is_conclusive(done, state)
    [conclusion] = conclusions_of(done, state, PROBLEM, datetime(2026, 1, 1, tzinfo=UTC))
    assert conclusion.outcome.strategy == "overlap"
    assert conclusion.outcome.recommendation == "4d"
    assert not is_conclusive(replace(done, about=replace(done.about, subject=None)), state)


def test_a_name_is_taken_up_again_with_its_seed_and_never_by_another_command(tmp_path: Path) -> None:
    experiments = Experiments(tmp_path)
    first = experiments.begin(prepared(), "one")
    again = experiments.begin(prepared(design={"seed": 99}), "one")
    assert again.design.seed == first.design.seed
    with pytest.raises(InputError, match="another seed"):
        experiments.begin(prepared(design={"seed": 99}, is_seed_free=False), "one")
    with pytest.raises(InputError, match="runs another command"):
        experiments.begin(prepared(runs=runs(timeout_s=1.0)), "one")
    with pytest.raises(UnknownEntityError):
        experiments.find("two")


def test_tests_begun_in_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    experiments = Experiments(tmp_path)
    made = [experiments.begin(prepared(design={"seed": seed})).name for seed in range(4)]
    assert len(set(made)) == 4
    assert sorted(experiments.names()) == sorted(made)


def test_a_command_that_changes_nothing_leaves_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Experiments(tmp_path).begin(prepared(runs=runs(command=("true",))), "one")
    assert Experiments(tmp_path).names() == []


def test_a_recording_is_kept_once_and_cannot_be_run(tmp_path: Path) -> None:
    experiments = Experiments(tmp_path)
    recorded = Recorded(name="r", design=design(), samples=())
    logged = experiments.record(recorded, SUBJECT)
    assert experiments.record(recorded, SUBJECT) == logged
    with pytest.raises(InputError, match="was recorded"):
        experiments.run(logged, base={})


@pytest.mark.parametrize(
    "about",
    [
        ExperimentMetadata(),
        ExperimentMetadata(runs=runs(options={"treatment": "--fast"}), subject=SUBJECT, machine={"cores": 2}),
        ExperimentMetadata(
            subject=ExperimentSubject(question={}, arms={"number-1": Change(strategy="overlap")})
        ),
        ExperimentMetadata(
            subject=replace(SUBJECT, single=replace(SUBJECT.single, configuration=Settings({"batch": 64})))
        ),
    ],
)
def test_metadata_survive_their_json(about: ExperimentMetadata) -> None:
    assert ExperimentMetadata.from_json(json.loads(json.dumps(about.to_json()))) == about


def test_logs_of_before_are_read() -> None:
    flat = {
        "recommendation": "4d",
        "question": {},
        "configuration": {"b": 1},
        "strategy": "s",
        "bottleneck": "x",
    }
    subject = ExperimentMetadata.from_json({"tried": flat}).subject
    assert subject is not None
    assert subject.single == Change(id="4d", strategy="s", bottleneck="x", configuration=Settings({"b": 1}))
    assert subject.changed(Settings({"a": 1})) == Settings({"a": 1, "b": 1})
    assert ExperimentMetadata.from_json({"tried": {}, "runs": None}).subject is None


def test_of_several_arms_only_those_with_a_subject_move_a_strategy() -> None:
    assert SUBJECT.of_arm("treatment", is_only=True).strategy == "overlap"
    several = SUBJECT.of_arm("treatment-1", is_only=False)
    assert (several.strategy, several.bottleneck, several.id) == ("", "slow-link", "4d")
    arms = replace(SUBJECT, arms={"number-1": Change(strategy="fuse")})
    assert arms.of_arm("number-1", is_only=False).strategy == "fuse"
    assert arms.of_arm("number-2", is_only=False) == Change()
