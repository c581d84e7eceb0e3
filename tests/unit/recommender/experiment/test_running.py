"""The loop: it stops by itself, resumes after anything, keeps every raw value, and is not fooled."""

import math
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.values import Settings
from recommender.experiment.comparison import GuardState
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard, treatments_named
from recommender.experiment.journal import MARK, ExperimentJournal, find, names, path_of, read
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.running import Experiment
from recommender.experiment.samples import rounds
from recommender.experiment.standing import ExperimentState, standing
from recommender.experiment.verdict import Verdict
from recommender.measuring.outcome import CancelledError
from tests.unit.recommender.experiment.trials import A, B, C, Clock, World, design


def run(path: Path, made: ExperimentDesign, world: World, **more: Any) -> ExperimentState:
    evaluators = {arm: [world] * len(made.inputs) for arm in made.arms}
    with ExperimentJournal(path, made, ExperimentMetadata()) as journal:
        return Experiment(design=made, evaluators=evaluators, journal=journal, **more).run(threading.Event())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "experiments" / "first.jsonl"


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.9, Verdict.BETTER), (1.1, Verdict.WORSE), (1.0, Verdict.EQUIVALENT)]
)
def test_it_stops_at_a_verdict(path: Path, value: float, verdict: Verdict) -> None:
    state = run(path, design(pairs=600), World(values={32: 1.0, 64: value}, noise=0.01))
    assert state.verdict is verdict
    assert state.is_decided
    assert state.rounds < 200
    [found] = state.comparisons
    assert found.interval.low <= -math.log(value) <= found.interval.high


def test_it_stops_at_its_budget_of_pairs(path: Path) -> None:
    state = run(path, design(pairs=10), World(noise=0.5))
    assert (state.verdict, state.rounds, state.is_decided) == (Verdict.UNDECIDED, 10, False)
    assert "10 pairs" in state.stop


def test_it_stops_at_its_budget_of_time(path: Path) -> None:
    clock = Clock()
    state = run(path, design(budget_s=25.0), World(noise=0.5), clock=clock.monotonic, now=clock.now)
    assert state.cost_s == pytest.approx(26, abs=2)
    assert "25 s" in state.stop


def test_warm_up_is_kept_and_does_not_count(path: Path) -> None:
    world = World(noise=0.5)
    state = run(path, design(pairs=6, warmup=3), world)
    kept = read(path).samples
    assert (state.rounds, len(kept), len(world.runs)) == (6, 18, 18)
    assert [item.is_warmup for item in kept] == [True] * 6 + [False] * 12


def test_repeats_inputs_and_dropped_runs(path: Path) -> None:
    made = design(pairs=6, repeats=2, drop=1, warmup=0, inputs=(Settings({"n": 1}), Settings({"n": 2})))
    world = World(noise=0.5)
    run(path, made, world)
    sample = read(path).samples[0]
    assert [len(runs) for runs in sample.runs] == [2, 2]
    assert len(world.runs) == 6 * 2 * 2 * 3
    logs = [math.log(value) for value in sample.values("latency")]
    assert sample.log("latency") == pytest.approx(sum(logs) / 4)


def test_a_control_that_always_fails_makes_the_treatment_better(path: Path) -> None:
    assert run(path, design(), World(fails=(32,))).verdict is Verdict.BETTER


def test_when_all_fails_it_ends_soon_and_undecided(path: Path) -> None:
    state = run(path, design(), World(fails=(32, 64)))
    assert (state.verdict, state.rounds) == (Verdict.UNDECIDED, 6)
    assert "all runs" in state.stop


def test_a_value_without_a_ratio_is_a_failed_run(path: Path) -> None:
    state = run(path, design(), World(values={32: 1.0, 64: 0.0}))
    assert state.verdict is Verdict.WORSE
    assert "above zero" in state.comparisons[0].failures.reason


@pytest.mark.parametrize(
    ("memory", "state", "verdict"),
    [(1.2e9, GuardState.BROKEN, Verdict.WORSE), (1.01e9, GuardState.KEPT, Verdict.BETTER)],
)
def test_a_guardrail_decides_too(path: Path, memory: float, state: GuardState, verdict: Verdict) -> None:
    made = design(guards=(Guard.parse("peak_memory<=+5%"),))
    world = World(values={32: 1.0, 64: 0.9}, more={"peak_memory": {32: 1e9, 64: memory}})
    found = run(path, made, world).comparisons[0]
    assert (found.guards[0].state, found.verdict) == (state, verdict)


def test_a_guardrail_on_a_metric_that_may_be_zero(path: Path) -> None:
    made = design(guards=(Guard.parse("accuracy_loss<=0.002"),))
    world = World(values={32: 1.0, 64: 0.9}, more={"accuracy_loss": {32: 0.0, 64: 0.01}})
    found = run(path, made, world).comparisons[0]
    assert found.verdict is Verdict.WORSE
    assert found.guards[0].worse == pytest.approx(0.01)


def test_a_metric_of_a_guardrail_that_is_not_printed_is_said(path: Path) -> None:
    made = design(guards=(Guard.parse("energy<=+5%"),))
    found = run(path, made, World(values={32: 1.0, 64: 0.9})).comparisons[0]
    assert found.guards[0].state is GuardState.UNMEASURED


def test_a_drifting_control_is_noticed_and_does_not_fool_the_test(path: Path) -> None:
    state = run(path, design(pairs=60, margin=0.001), World(drift=0.005, noise=0.01))
    assert state.verdict is not Verdict.BETTER
    assert any("control drifted by +" in note for note in state.notes)


def test_a_clock_that_jumps_is_told_and_changes_nothing(path: Path) -> None:
    clock, seen = Clock(), []

    def jump(state: ExperimentState) -> None:
        seen.append(state.rounds)
        clock.jump = timedelta(hours=-1) if len(seen) == 3 else clock.jump

    made = design(pairs=8)
    state = run(path, made, World(noise=0.5), clock=clock.monotonic, now=clock.now, on_round=jump)
    assert all(sample.cost_s == 1.0 for sample in read(path).samples)
    assert any("clock jumped by -3600 s" in note for note in state.notes)


def test_several_treatments_share_a_control_and_the_best_is_found(path: Path) -> None:
    made = design(arms={CONTROL: A, **treatments_named([B, C])}, pairs=400)
    world = World(values={32: 1.0, 64: 0.97, 128: 0.9})
    state = run(path, made, world)
    assert state.best == "treatment-2"
    assert world.runs.count(32) == world.runs.count(128)
    assert world.runs.count(64) <= world.runs.count(128)


def test_a_treatment_that_another_beats_is_measured_no_further(path: Path) -> None:
    made = design(arms={CONTROL: A, **treatments_named([B, C])}, pairs=60)
    world = World(values={32: 1.0, 64: 2.0, 128: 0.99}, noise=0.05)
    run(path, made, world)
    assert 2 * world.runs.count(64) < world.runs.count(128)


def test_treatments_that_do_not_differ_are_said_not_to(path: Path) -> None:
    made = design(arms={CONTROL: A, **treatments_named([B, C])}, pairs=400)
    state = run(path, made, World(values={32: 1.0, 64: 0.9, 128: 0.9}, noise=0.01))
    assert state.best == ""
    assert state.contenders == ("treatment-1", "treatment-2")
    assert "do not differ" in state.stop


def test_it_goes_on_where_it_was_cut_off(path: Path) -> None:
    made = design(pairs=12)
    with pytest.raises(CancelledError):
        run(path, made, World(noise=0.5, stop_after=13))
    assert len(read(path).samples) == 13  # six rounds and half of one
    state = run(path, made, World(noise=0.5, seed=2))
    samples = read(path).samples
    assert state.rounds == 12
    counted = rounds(samples, made)
    assert all(len({item.session for item in pair.values()}) == 1 for pair in counted)
    assert samples[12] not in [item for pair in counted for item in pair.values()]  # its other half is lost
    assert [item.is_warmup for item in samples if item.session == 1][:3] == [True, True, False]


def test_an_order_is_the_same_after_a_restart(path: Path, tmp_path: Path) -> None:
    made = design(pairs=8)
    run(path, made, World(noise=0.5))
    with pytest.raises(CancelledError):
        run(tmp_path / "cut.jsonl", made, World(noise=0.5, stop_after=6))
    run(tmp_path / "cut.jsonl", made, World(noise=0.5))
    for sample in read(tmp_path / "cut.jsonl").samples:
        assert made.order(sample.round)[sample.slot] == sample.arm


@pytest.mark.parametrize("cut", [1, 7, 50])
def test_a_torn_last_line_is_passed_over_and_cut(path: Path, cut: int) -> None:
    made = design(pairs=8)
    with pytest.raises(CancelledError):
        run(path, made, World(noise=0.5, stop_after=6))
    whole = path.read_bytes()
    kept = whole[: whole[:-1].rfind(b"\n") + 1]
    path.write_bytes(whole[:-cut])
    path.with_suffix(MARK).write_text(f"{len(kept)}\n")  # a line is noted once all of it is on the disk
    assert len(read(path).samples) == 5
    assert run(path, made, World(noise=0.5)).rounds == 8
    assert kept in path.read_bytes()


def test_an_end_that_is_missing_is_noticed_at_every_line(path: Path) -> None:
    made = design(pairs=6)
    run(path, made, World(noise=0.5))
    whole, mark = path.read_bytes(), path.with_suffix(MARK)
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for end in (0, *ends[:-1]):
        path.write_bytes(whole[:end])
        with pytest.raises(WorkspaceError, match="the end is missing"):
            read(path)
        with pytest.raises(WorkspaceError, match="the end is missing"):
            run(path, made, World(noise=0.5))
        assert path.read_bytes() == whole[:end]
    path.write_bytes(whole)
    assert mark.read_text() == f"{len(whole)}\n"
    mark.write_text("x")
    with pytest.raises(WorkspaceError, match="mark is damaged"):
        read(path)
    mark.unlink()  # a log of an earlier program
    path.write_bytes(whole[: ends[3]])
    assert len(read(path).samples) == 3
    run(path, made, World(noise=0.5))
    path.unlink()  # a person takes it away
    assert run(path, made, World(noise=0.5)).rounds == 6


def test_a_damaged_line_within_is_told(path: Path) -> None:
    run(path, design(pairs=6), World(noise=0.5))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], lines[3][:20], *lines[4:]]))
    with pytest.raises(WorkspaceError, match="line 4 is damaged"):
        read(path)
    path.write_bytes(b'{"format": 99}\n')
    with pytest.raises(WorkspaceError, match="format 99"):
        read(path)
    path.with_suffix(MARK).unlink()
    path.write_bytes(b'{"for')
    with pytest.raises(WorkspaceError, match="cut off"):
        read(path)


def test_a_log_killed_as_it_began_is_no_experiment_and_can_be_begun(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"for')
    name = path.name.removesuffix(".jsonl")
    assert names(path.parent) == []
    with pytest.raises(UnknownEntityError, match="no experiment named"):
        find(path.parent, name)
    run(path, design(pairs=6), World(noise=0.5))
    assert names(path.parent) == [name]


def test_a_log_is_of_one_design_and_one_process(path: Path) -> None:
    run(path, design(pairs=6), World(noise=0.5))
    with (
        pytest.raises(InputError, match="begun with another margin"),
        ExperimentJournal(path, design(pairs=6, margin=0.02), ExperimentMetadata()),
    ):
        pass
    with (
        ExperimentJournal(path, design(pairs=6), ExperimentMetadata()),
        pytest.raises(WorkspaceError, match="being run by another process"),
        ExperimentJournal(path, design(pairs=6), ExperimentMetadata()),
    ):
        pass


def test_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no name"):
        path_of(tmp_path, "../x")
    with pytest.raises(UnknownEntityError, match="no experiment named 'x'"):
        find(tmp_path, "x")
    run(tmp_path / "x.jsonl", design(pairs=6), World(noise=0.5))
    assert names(tmp_path) == ["x"]
    assert find(tmp_path, "x").design == design(pairs=6)
    assert names(tmp_path / "nowhere") == []


def test_before_anything_is_measured_nothing_is_known() -> None:
    state = standing([], design())
    assert (state.verdict, state.rounds, state.pairs_left, state.stop) == (Verdict.UNDECIDED, 0, None, "")
    assert state.comparisons[0].to_json()["ratio"] is None


def test_inputs_that_disagree_are_told(path: Path) -> None:
    class Turning(World):
        def evaluate(self, configuration: Settings, cancel: threading.Event) -> Any:
            self.values = {32: 1.0, 64: 0.8 if len(self.runs) % 2 else 1.2}
            return super().evaluate(configuration, cancel)

    made = design(pairs=20, inputs=(Settings({"n": 1}), Settings({"n": 2})))
    state = run(path, made, Turning(noise=0.01))
    assert any("choose by input" in note for note in state.notes)
