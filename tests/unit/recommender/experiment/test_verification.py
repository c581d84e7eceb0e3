"""Recommendations as arms of one experiment: what a command can set, and what it cannot."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from recommender.experiment.design import CONTROL, ExperimentDesign
from recommender.experiment.metadata import Runs
from recommender.experiment.metrics import readings_of
from recommender.experiment.preparing import evaluators_of
from recommender.experiment.verification import verification
from recommender.ranking.change import Change
from recommender.ranking.plan_setting import Origin, PlanSetting

NOW = Settings({"batch": 32})


HOSTILE = "fast$(touch PWNED)"


def test_a_value_of_a_case_that_is_not_plain_needs_the_users_word() -> None:
    item = Change(id="abc", configuration=Settings({"batch": 64, "mode": HOSTILE}))
    with pytest.raises(InputError, match=r"--allow-value 'fast\$\(touch PWNED\)'"):
        verification([item], NOW, "run {batch} {mode}", {})
    made = verification([item], NOW, "run {batch} {mode}", {}, [HOSTILE])
    assert made.arms["number-1"]["mode"] == HOSTILE


def candidate(identifier: str = "abc", flags: tuple[str, ...] = (), **sets: Any) -> Change:
    return Change(id=identifier, configuration=Settings(sets), flags=flags, strategy=f"s-{identifier}")


def commands(made: Any, command: str) -> dict[str, Any]:
    """The words that each arm would run, and its environment."""
    design = ExperimentDesign(metric="run_time", better=Better.LOWER, arms={CONTROL: NOW, **made.arms})
    runs = Runs(
        command=command,
        readings=readings_of((), (), better=""),
        folder=Path(),
        environment=made.environment,
        options=made.options,
    )
    found = evaluators_of(design, runs, base={}, mark="t")
    return {arm: items[0] for arm, items in found.items()}


def test_the_first_three_that_can_be_set_are_arms() -> None:
    items = [
        candidate("one", batch=64),
        candidate("two", ("--overlap",), overlap=True),
        candidate("three", batch=16),
        candidate("four", batch=8),
    ]
    made = verification(items, NOW, "run {batch}", {})
    assert dict(made.arms) == {"number-1": Settings({"batch": 64}), "number-3": Settings({"batch": 16})}
    assert made.tried["number-1"].strategy == "s-one"
    assert made.left_out == ("number 2 cannot be tried: the command has no {overlap}",)


def test_flags_and_variables_reach_the_arm_they_are_of() -> None:
    items = [
        candidate("one", ("--overlap-grad-reduce",), overlap_grad_reduce=True),
        candidate("two", ("export HCCL_X=1",), HCCL_X=1),
    ]
    made = verification(items, NOW, "run --batch {batch} {options}", {})
    assert (made.options["number-1"], made.options["number-2"]) == ("--overlap-grad-reduce", "")
    assert made.environment == {"HCCL_X": "{HCCL_X}"}
    found = commands(made, "run --batch {batch} {options}")
    assert found["number-1"].options == ("--overlap-grad-reduce",)
    assert found[CONTROL].options == ()


def test_what_must_be_taken_away_needs_a_place_of_its_own() -> None:
    gone = PlanSetting(
        where=SettingPlace.FLAG, key="--eager", value=False, origin=Origin.COST_MODEL, removed=True
    )
    item = replace(candidate("one", ("--tp 4", "without --eager"), tp=4, eager=False), settings=(gone,))
    with pytest.raises(InputError, match=r"number 1 cannot be tried: the command has no \{eager\}"):
        verification([item], NOW, "run {options}", {})


def test_what_is_set_already_is_no_arm() -> None:
    with pytest.raises(InputError, match="number 1 is what is set now"):
        verification([candidate(batch=32)], NOW, "run {batch}", {})


@pytest.mark.parametrize("command", ["run", "run {batch} {lost}", "run {options}"])
def test_a_command_that_can_set_nothing_is_told_so(command: str) -> None:
    with pytest.raises(InputError, match=r"nothing of the answer can be verified: number 1"):
        verification([candidate(batch=64)], NOW, command, {})


def test_an_empty_answer_cannot_be_verified() -> None:
    with pytest.raises(InputError, match="it is empty"):
        verification([], NOW, "run {batch}", {})


def test_the_start_is_an_arm_of_its_own() -> None:
    begun = candidate("first", ("--tp 4", "export MODE=fast"), tp=4, MODE="fast")
    made = verification([candidate("one", batch=64)], NOW, "run {batch} {options}", {}, (), begun)
    assert list(made.arms) == ["start", "number-1"]
    assert made.arms["start"] == Settings({"batch": 32, "tp": 4, "MODE": "fast"})
    assert made.options == {"start": "--tp 4", "number-1": ""}
    kept = verification([candidate("one", batch=64)], NOW, "run {batch}", {}, (), begun)
    assert kept.left_out == ("start cannot be tried: the command has no {tp}",)
