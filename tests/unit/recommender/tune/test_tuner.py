"""The loop by a machine of formulas: what is accepted, what a budget allows, and 40 kills that change nothing."""

import math
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InfeasibleError, InputError, WorkspaceError
from kg.nouns.entities import Better, Status
from kg.nouns.values import Settings
from recommender.experiment.verdict import Verdict
from recommender.measuring.outcome import CancelledError
from recommender.tune.candidates import TuneChange, digest_of
from recommender.tune.starts.budget import Budget
from recommender.tune.starts.machines import MachineGoneError, TuneMachine
from recommender.tune.tune_journal import TuneJournal
from recommender.tune.tune_result import TuneObjective, TuneOutcome, TuneResult, TuneStart
from recommender.tune.tuner import TuneLoop

GAINS = {"--good": 1.5, "--small": 1.1, "--bad": 0.7, "--same": 1.0}


class Killed(BaseException):
    """A kill of the process: nothing runs behind it."""


@dataclass
class Machine:
    """Gives values by a formula with noise; may be killed at a start."""

    noise: float = 0.01
    disturbed: int = 0
    fails: tuple[str, ...] = ()
    other_answers: tuple[str, ...] = ()
    kill_at: int | None = None
    base: float | None = 100.0
    misses: tuple[str, ...] = ()
    starts: int = 0
    luck: int = 0
    seen: list[tuple[str, ...]] = field(default_factory=list)
    judged: list[tuple[str, ...]] = field(default_factory=list)
    objective = TuneObjective(
        metric="throughput", better=Better.HIGHER, unit="tokens/s", text="tokens a second"
    )

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        if start.seed is None and not start.is_repeat:
            self.judged.append(tuple(sorted(start.edits.flags)))
        return self._value(start.edits, self.luck if start.seed is None else start.seed, start.bar)

    def _value(self, edits: ScriptEdits, luck: int, bar: float | None) -> TuneResult:
        if self.kill_at is not None and self.starts >= self.kill_at:
            raise Killed
        self.starts += 1
        self.seen.append(tuple(edits.flags))
        if self.base is None:
            return TuneResult(is_dropped=True, reason="at no load", nearest=0.4, cost_s=1.0)
        if set(self.fails) & set(edits.flags):
            return TuneResult(status=Status.FAILED, reason="out of memory", cost_s=1.0)
        rng = random.Random(f"{luck}/{sorted(edits.flags)}")
        value = (
            self.base * math.prod(GAINS[name] for name in edits.flags) * math.exp(rng.gauss(0, self.noise))
        )
        if bar is not None and value < 0.9 * bar:
            return TuneResult(is_dropped=True, reason="below the best", cost_s=0.5)
        says = "other" if set(self.other_answers) & set(edits.flags) else "as ever"
        kept = not set(self.misses) & {*edits.flags, "always"}
        share = 0.95 if kept else 0.5 + 0.1 * len(edits.flags)
        return TuneResult(
            value=value,
            cost_s=1.0,
            kept=kept,
            nearest=share,
            disturbed=self.disturbed,
            answers=(says,) * 8,
        )


def change(name: str) -> TuneChange:
    return TuneChange(name=name, edits=ScriptEdits(flags={name: ()}), why="asked for", key=name)


def tune(
    folder: Path,
    machine: Machine,
    names: tuple[str, ...] = ("--bad", "--good", "--small", "--same"),
    **more: Any,
) -> TuneOutcome:
    with TuneJournal(folder / "tune", {"of": "a test"}) as journal:
        loop = TuneLoop(
            evaluator=machine,
            candidates=[change(name) for name in names],
            budget=more.pop("budget", Budget()),
            journal=journal,
            experiment=folder / "experiments" / "tune.jsonl",
            settings_of=lambda edits: Settings(
                dict.fromkeys((name.strip("-") for name in edits.flags), True)
            ),
            **more,
        )
        return loop.run(Event())


def test_changes_that_help_add_up_and_are_confirmed(tmp_path: Path) -> None:
    found = tune(tmp_path, Machine())
    assert [item.name for item in found.accepted] == ["--good", "--small"]
    assert found.verdict is Verdict.BETTER
    assert found.state is not None
    interval = found.state.comparisons[0].interval
    assert interval.low < math.log(1.65) < interval.high
    assert found.steps[1].result.is_dropped  # by its first probe


def test_one_change_at_a_time_on_top_of_what_was_accepted(tmp_path: Path) -> None:
    machine = Machine()
    tune(tmp_path, machine)
    assert machine.seen[:5] == [
        (), ("--bad",), ("--good",), ("--good", "--small"), ("--good", "--small", "--same"),
    ]  # fmt: skip


def test_what_the_winner_is_no_worse_without_is_taken_back(tmp_path: Path) -> None:
    """A change that was lucky once does not go into the script beside one that helps."""

    class Lucky(Machine):
        def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
            found = super().evaluate(start, cancel)
            if start.seed is not None:
                return found
            lucky = tuple(start.edits.flags) == ("--same",) and self.seen.count(("--same",)) == 1
            return replace(found, value=found.value * 1.2) if lucky and found.value else found

    found = tune(tmp_path, Lucky(), ("--same", "--good"))
    assert [item.is_accepted for item in found.steps] == [True, True, True]
    assert [item.name for item in found.accepted] == ["--good"]
    assert found.is_better


@pytest.mark.parametrize("seed", range(8))
def test_the_same_under_another_name_is_no_gain(tmp_path: Path, seed: int) -> None:
    """A lucky candidate is refused by its confirmation: an A/A tune reports no gain."""
    found = tune(tmp_path, Machine(noise=0.08, luck=seed), ("--same",), seed=seed)
    assert not found.is_better


def test_a_disturbed_gain_must_show_twice_beside_the_best(tmp_path: Path) -> None:
    machine = Machine(disturbed=1)
    found = tune(tmp_path, machine, ("--same", "--good"))
    assert [item.name for item in found.accepted] == ["--good"]
    assert machine.seen.count(()) > 3  # the script as it is was started again beside the candidates
    assert machine.judged == [(), ("--same",), ("--good",), ("--good", "--same")]  # answers, once each


def test_a_failure_and_a_fault_of_quality_are_losses(tmp_path: Path) -> None:
    found = tune(tmp_path, Machine(fails=("--good",), other_answers=("--small",)), ("--good", "--small"))
    assert not found.accepted
    assert found.steps[1].result.reason == "out of memory"
    assert found.steps[2].quality is not None
    assert found.steps[2].quality.is_fault


def test_what_noise_may_have_hidden_is_tried_once_more_on_the_last_best(tmp_path: Path) -> None:
    machine = Machine(noise=0.0)
    found = tune(tmp_path, machine, ("--same", "--good", "--small"))
    assert [step.name for step in found.steps[1:]] == ["--same", "--good", "--small", "--same"]
    assert machine.seen[4] == ("--good", "--small", "--same")
    alone = tune(tmp_path / "alone", Machine(noise=0.0), ("--same",))
    assert [step.name for step in alone.steps[1:]] == ["--same"]  # on the same script it would be the same


def test_more_tokens_beyond_the_limits_are_no_gain(tmp_path: Path) -> None:
    found = tune(tmp_path, Machine(misses=("--good",)))
    assert [item.name for item in found.accepted] == ["--small"]


def test_limits_that_nothing_keeps_name_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"the nearest is --good, in which 60\.0% of the requests"):
        tune(tmp_path, Machine(misses=("always",)), ("--good",))


def test_a_budget_keeps_room_for_the_confirmation(tmp_path: Path) -> None:
    machine = Machine()
    found = tune(tmp_path, machine, budget=Budget(evaluations=17))
    assert found.starts <= 17
    assert machine.starts <= 17
    assert found.state is not None
    assert [item.name for item in found.accepted] == ["--good", "--small"]


@pytest.mark.parametrize("starts", [14, 16, 17])
def test_a_budget_that_a_busy_machine_would_use_up_is_left_to_the_confirmation(
    tmp_path: Path, starts: int
) -> None:
    machine = Machine(disturbed=1)
    found = tune(tmp_path, machine, ("--good",), budget=Budget(evaluations=starts))
    assert (found.verdict, machine.starts) == (Verdict.BETTER, found.starts)
    assert found.starts <= starts


def test_a_budget_without_that_room_says_so(tmp_path: Path) -> None:
    found = tune(tmp_path, Machine(), budget=Budget(evaluations=5))
    assert found.verdict is None
    assert found.starts == 5
    assert "takes 12 starts at least" in found.why


def test_a_script_that_does_not_run_or_keeps_no_limit_ends_the_tune(tmp_path: Path) -> None:
    broken = Machine()
    broken.base = 1.0
    broken.noise = 0.0
    broken.evaluate = lambda *_, **__: TuneResult(status=Status.FAILED, reason="no such flag")  # type: ignore[method-assign]
    with pytest.raises(WorkspaceError, match="the script as it is does not run: no such flag"):
        tune(tmp_path / "one", broken)
    with pytest.raises(InfeasibleError, match="keeps the limits at no load"):
        tune(tmp_path / "two", Machine(base=None))
    with pytest.raises(InputError, match="shorter than one start"):
        tune(tmp_path / "three", Machine(), budget=Budget(seconds=0.5))


class Hanging(Machine):
    """A change with which it never gets ready."""

    def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
        if "--bad" in start.edits.flags:
            assert cancel.wait(60), "it was not interrupted"
            raise CancelledError("interrupted")
        return replace(super().evaluate(start, cancel), cost_s=0.1)


def test_what_never_gets_ready_leaves_the_time_of_the_confirmation(tmp_path: Path) -> None:
    found = tune(tmp_path, Hanging(), ("--good", "--bad"), budget=Budget(seconds=2.0))
    assert [item.name for item in found.accepted] == ["--good"]
    assert found.verdict is Verdict.BETTER
    assert found.steps[2].result.is_dropped  # nothing is learned of it
    assert "the time that was left ended in it" in found.steps[2].result.reason
    assert found.cost_s <= 2.2


def test_a_script_that_is_not_ready_within_the_budget_is_interrupted(tmp_path: Path) -> None:
    class Slow(Machine):
        def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
            assert cancel.wait(60), "it was not interrupted"
            raise CancelledError("interrupted")

    with pytest.raises(InputError, match=r"the budget of 0\.2 s is shorter than one start"):
        tune(tmp_path, Slow(), budget=Budget(seconds=0.2))


def test_a_disturbed_gain_is_taken_back_only_where_it_shows_twice(tmp_path: Path) -> None:
    """The first of two looks at whether the winner needs a change is spoilt by others."""

    class Spoilt(Machine):
        def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
            found = super().evaluate(start, cancel)
            both = tuple(start.edits.flags) == ("--good", "--small") and self.seen.count(("--small",)) == 1
            return replace(found, value=found.value / 2) if both and found.value else found

    quiet = tune(tmp_path / "quiet", Spoilt(noise=0.0), ("--good", "--small"))
    busy = tune(tmp_path / "busy", Spoilt(noise=0.0, disturbed=1), ("--good", "--small"))
    assert [item.name for item in quiet.accepted] == ["--small"]
    assert [item.name for item in busy.accepted] == ["--good", "--small"]


def test_kills_at_random_starts_change_nothing_and_the_budget_is_exact(tmp_path: Path) -> None:
    whole = tune(tmp_path / "whole", Machine(), budget=Budget(evaluations=30))
    rng, kills = random.Random(0), 0
    for turn in range(4):
        outcome, starts, lost = None, 0, 0
        while outcome is None:
            machine = Machine(kill_at=rng.randint(1, 4))
            try:
                outcome = tune(tmp_path / f"killed-{turn}", machine, budget=Budget(evaluations=30))
            except Killed:
                lost += 1
            starts += machine.starts
        kills += lost
        assert [item.name for item in outcome.accepted] == [item.name for item in whole.accepted]
        assert [item.result for item in outcome.steps] == [item.result for item in whole.steps]
        assert outcome.verdict is whole.verdict
        assert starts == whole.starts == outcome.starts  # a kill costs the start that it cut off alone
        with TuneJournal(tmp_path / f"killed-{turn}" / "tune", {"of": "a test"}) as journal:
            assert sum(event["event"] == "measured" for event in journal.events) == len(whole.steps) + 4
    assert kills >= 20


def test_other_machines_measure_too_and_their_numbers_meet_none_of_ours(tmp_path: Path) -> None:
    """One is three times as fast: nothing wins by having run there, and the pairs of the test are shared."""
    here, there = Machine(), Machine(base=300.0)
    alone = tune(tmp_path / "alone", Machine())
    found = tune(tmp_path / "both", here, machines=[TuneMachine(name="node2", evaluator=there)])
    assert {item.name for item in found.accepted} == {item.name for item in alone.accepted}
    assert found.verdict is Verdict.BETTER
    assert found.state is not None
    interval = found.state.comparisons[0].interval
    assert interval.low < math.log(1.65) < interval.high < math.log(2)
    [step] = [item for item in found.steps if item.name == "--good"]
    assert (step.on, step.is_accepted) == ("node2", True)
    assert step.gain == pytest.approx(1.5, abs=0.1)
    assert step.result.value == pytest.approx(150, rel=0.1)  # as a part of what the script gives here
    assert there.starts >= interval.pairs
    assert here.starts < alone.starts


def test_a_machine_that_dies_loses_only_what_it_is_at(tmp_path: Path) -> None:
    class Dies(Machine):
        def evaluate(self, start: TuneStart, cancel: Event) -> TuneResult:
            if self.starts == 3:
                raise MachineGoneError("exit code 255")
            return super().evaluate(start, cancel)

    machines = [TuneMachine(name=name, evaluator=Dies()) for name in ("node2", "node3")]
    found = tune(tmp_path, Machine(), machines=machines)
    assert {item.name for item in found.accepted} == {"--good", "--small"}
    assert found.is_better
    with TuneJournal(tmp_path / "tune", {"of": "a test"}) as journal:
        gone = [event["on"] for event in journal.events if event["event"] == "gone"]
        keys = [event["digest"] for event in journal.events if event["event"] == "measured"]
    assert sorted(gone) == ["node2", "node3"]
    assert len(keys) == len({*keys})


@pytest.mark.parametrize("seed", range(6))
def test_kills_with_other_machines_keep_the_budget(tmp_path: Path, seed: int) -> None:
    rng, outcome = random.Random(seed), None
    budget = Budget(evaluations=26)
    while outcome is None:
        others = [TuneMachine(name=name, evaluator=Machine()) for name in ("node2", "node3")]
        with suppress(Killed):
            outcome = tune(tmp_path, Machine(kill_at=rng.randint(1, 4)), budget=budget, machines=others)
    assert {item.name for item in outcome.accepted} == {"--good", "--small"}
    assert outcome.is_better
    with TuneJournal(tmp_path / "tune", {"of": "a test"}) as journal:
        keys = [event["digest"] for event in journal.events if event["event"] == "measured"]
        pairs = [event["pair"] for event in journal.events if event["event"] == "pair"]
        both = [(event["arm"], event["pair"]) for event in journal.events if event["event"] == "compared"]
    assert len(keys) == len({*keys})
    assert not {*pairs} & {number for _, number in both}  # a pair is of one machine
    assert len(both) == len({*both})
    assert outcome.starts == len(keys) + len(both) + 2 * len(pairs) <= 26


def test_edits_have_one_digest_whatever_their_order() -> None:
    one = ScriptEdits(flags={"--a": ("1",), "--b": ()}, removed=("--x", "--y"))
    other = ScriptEdits(flags={"--b": (), "--a": ("1",)}, removed=("--y", "--x"))
    assert digest_of(one) == digest_of(other)


def test_a_change_that_sets_nothing_is_not_tried(tmp_path: Path) -> None:
    """Noise would accept it, and there would be nothing to confirm."""
    idle = TuneChange(name="without --none", edits=ScriptEdits(removed=("--none",)), why="asked for")
    machine = Machine(disturbed=1)
    with TuneJournal(tmp_path / "tune", {"of": "a test"}) as journal:
        loop = TuneLoop(
            evaluator=machine, candidates=[idle], budget=Budget(), journal=journal,
            experiment=tmp_path / "tune.jsonl", settings_of=lambda edits: Settings(dict.fromkeys(edits.flags, True)),
        )  # fmt: skip
        loop.run(Event())
    assert (len(loop.steps), machine.starts) == (1, 1)
