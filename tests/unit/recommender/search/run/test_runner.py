"""The loop: budgets, parallel evaluations, finalists, accuracy, interruption, resumption."""

import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from recommender.measuring.outcome import CancelledError, RunOutcome
from recommender.search.log.metadata import SearchMetadata
from recommender.search.log.study import SearchLog
from recommender.search.log.workers import MANUAL
from recommender.search.objectives.callable import Function
from recommender.search.report.result import Result
from recommender.search.run.assembly import search_of
from recommender.search.run.runner import Progress, Runner
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task
from recommender.search.run.trial_queue import REPEATS

RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1, 2, 3, 4, 5], "y": [0, 1, 2]},
    "default": {"x": 0, "y": 0},
    "objectives": [{"metric": "kernel_time", "unit": "s"}],
    "stop": {"evaluations": 10},
}


def bowl(settings: Settings) -> float:
    """Smallest, 1, at x = 3 and y = 0."""
    numbers = dict(settings.numbers())
    return 1 + (numbers["x"] - 3) ** 2 + numbers["y"]


def runner(place: Path, evaluator: Any, **more: Any) -> Runner:
    """A runner of a new search."""
    allow = bool(more.pop("allow", False))
    task = read_task(TaskFile({**RAW, **more}, name="toy"), allow_unmeasured_accuracy=allow)
    log = SearchLog.create(
        str(place / "toy.journal"),
        name="toy",
        objectives=task.objectives,
        metadata=SearchMetadata(seed=1),
        record={},
    )
    return Runner(log=log, task=task, search=search_of(task, seed=1), evaluator=evaluator)


def again(before: Runner, evaluator: Any) -> Runner:
    """A runner that comes after another."""
    log = SearchLog.open(before.log.storage)
    return Runner(log=log, task=before.task, search=search_of(before.task, seed=1), evaluator=evaluator)


def function(measure: Any, **more: Any) -> Function:
    """A function as an objective."""
    return Function(measure=measure, metric="kernel_time", **more)


def test_a_budget_of_evaluations_is_kept_exactly(tmp_path: Path) -> None:
    seen: list[Progress] = []
    one = runner(tmp_path, function(bowl), jobs=3)
    one.on_progress = seen.append
    assert one.run() == "budget of 10 evaluations used"
    assert len(one.search.evaluations) == 10
    assert [item.done for item in seen] == list(range(11))
    assert len({item.configuration for item in one.search.evaluations}) == 10


def test_what_parts_cost_is_in_the_log_and_goes_on_from_there(tmp_path: Path) -> None:
    levels = list(range(8))
    told = {
        "parameters": dict.fromkeys(("a", "b", "c", "d"), levels),
        "default": None,
        "parts": {
            "first": {"parameters": ["a", "b"], "metric": "first_time"},
            "second": {"parameters": ["c", "d"], "metric": "second_time"},
        },
        "stop": {"evaluations": 14},
    }

    class Parted:
        kind = Kind.MODELLED

        def evaluate(self, configuration: Settings, cancel: threading.Event) -> RunOutcome:
            x = dict(configuration.numbers())
            first, second = 1 + (x["a"] - 5) ** 2 + (x["b"] - 1) ** 2, 1 + (x["c"] - 2) ** 2 + x["d"]
            values = {"kernel_time": first + second, "first_time": first, "second_time": second}
            return RunOutcome(values=values)

    one = runner(tmp_path, Parted(), **told)
    one.run()
    assert {trial.origin for trial in one.log.trials()} >= {"random", "spread", "parts"}
    for trial in SearchLog.open(one.log.storage).trials():
        assert trial.evaluation is not None
        assert sum(trial.evaluation.parts) == trial.evaluation.values[0]
    two = again(one, Parted())
    two.queue.catch_up()
    assert two.search.ask()[0].configuration == one.search.ask()[0].configuration


def test_budgets_of_time_and_cost(tmp_path: Path) -> None:
    def slow(settings: Settings) -> float:
        time.sleep(0.05)
        return bowl(settings)

    (tmp_path / "a").mkdir()
    by_time = runner(tmp_path / "a", function(slow), stop={"time_s": 0.4})
    assert by_time.run() == "time of 0.4 s used"
    assert 1 <= len(by_time.search.evaluations) <= 8
    # 3600 an hour is 1 a second: five evaluations of 0.05 s and a bit cost 0.25 and a bit
    by_cost = runner(tmp_path, function(slow), stop={"cost": 0.3, "price_per_hour": 3600})
    assert by_cost.run() == "cost of 0.3 used"
    assert 1 <= len(by_cost.search.evaluations) <= 6


def test_evaluations_run_at_the_same_time(tmp_path: Path) -> None:
    together, calls = threading.Barrier(3), count()

    def measure(settings: Settings) -> float:
        if next(calls) < 3:
            together.wait(60)  # for two others; broken where one runs after the other
        return bowl(settings)

    one = runner(tmp_path, function(measure), jobs=3)
    one.run()
    assert next(calls) == len(one.search.evaluations) == 10
    assert all(evaluation.ok for evaluation in one.search.evaluations)


def test_finalists_are_measured_again_in_turns_and_the_luckiest_does_not_win(tmp_path: Path) -> None:
    """Each first measurement of x=0 is lucky by far; measured again it is the slowest."""
    seen: dict[Settings, int] = {}

    def noisy(settings: Settings) -> float:
        seen[settings] = seen.get(settings, 0) + 1
        return 0.1 if settings["x"] == 0 and settings["y"] == 0 and seen[settings] == 1 else bowl(settings)

    one = runner(tmp_path, function(noisy), stop={}, finalists=2)
    one.run()
    repeats = [item.configuration for item in one.log.trials() if item.origin == "repeat"]
    assert len(repeats) == 2 * REPEATS
    assert repeats[0] != repeats[1]
    assert repeats[0::2] == [repeats[0]] * REPEATS
    best = Result.of(one.log, one.task).best()
    assert best is not None
    assert best.configuration == Settings({"x": 3, "y": 0})
    assert best.interval is not None


def test_what_a_function_raises_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    def fails(settings: Settings) -> float:
        if settings["x"] == 5:
            raise ValueError("no such tile")
        if settings["x"] == 4:
            return float("nan")
        return bowl(settings)

    one = runner(tmp_path, function(fails), stop={})
    one.run()
    reasons = {item.reason for item in one.search.evaluations if not item.ok}
    assert reasons == {"ValueError: no such tile", "kernel_time is nan"}
    assert all(item.values == (None,) for item in one.search.evaluations if not item.ok)


def test_a_search_in_which_everything_fails_alike_ends_early(tmp_path: Path) -> None:
    def fails(settings: Settings) -> float:
        raise RuntimeError("no device")

    one = runner(tmp_path, function(fails), stop={"evaluations": 18})
    with pytest.raises(InfeasibleError, match="none of 10 evaluations ran: RuntimeError: no device"):
        one.run()


def test_an_interruption_queues_what_was_under_way_and_another_run_ends_it(tmp_path: Path) -> None:
    class Waits:
        kind = Kind.MEASURED
        count = 0

        def evaluate(self, configuration: Settings, cancel: threading.Event) -> RunOutcome:
            self.count += 1
            if self.count > 3:
                assert cancel.wait(20)
                raise CancelledError("interrupted")
            return RunOutcome(values={"kernel_time": bowl(configuration)})

    one = runner(tmp_path, Waits())
    threading.Timer(0.8, one.cancel.set).start()
    with pytest.raises(CancelledError):
        one.run()
    states = [item.state for item in SearchLog.open(one.log.storage).trials()]
    assert states == ["COMPLETE"] * 3 + ["WAITING"]
    two = again(one, function(bowl))
    two.run()
    trials = two.log.trials()
    assert [item.state for item in trials] == ["COMPLETE"] * 10
    assert len({item.configuration for item in trials}) == 10


def test_a_trial_asked_for_by_hand_is_left_alone(tmp_path: Path) -> None:
    one = runner(tmp_path, function(bowl), stop={"evaluations": 4})
    [suggestion] = one.search.ask(1)
    one.log.start(suggestion, one.task.space, owner=MANUAL, until=None)
    two = again(one, function(bowl))
    two.run()
    states = [item.state for item in two.log.trials()]
    assert states[0] == "RUNNING"
    configurations = [item.configuration for item in two.log.trials()]
    assert len(set(configurations)) == len(configurations)


ACCURACY: dict[str, Any] = {
    "parameters": {"precision": ["fp32", "bf16", "int8"], "x": [1, 2]},
    "default": {"precision": "fp32", "x": 1},
    "accuracy": {
        "precision": {"bf16": {"loss": 0.001, "source": "https://example.org/a"}, "int8": "unknown"}
    },
    "limits": ["accuracy_loss<=0.5%"],
    "stop": {},
}


def precise(settings: Settings) -> float:
    """Lower precision is faster."""
    return {"fp32": 4.0, "bf16": 2.0, "int8": 1.0}[str(settings["precision"])] / float(str(settings["x"]))


def test_unknown_loss_of_accuracy_is_not_proposed(tmp_path: Path) -> None:
    one = runner(tmp_path, function(precise), **ACCURACY)
    one.run()
    assert {item.configuration["precision"] for item in one.search.evaluations} == {"fp32", "bf16"}
    best = Result.of(one.log, one.task).best()
    assert best is not None
    assert best.configuration["precision"] == "bf16"
    assert best.values == (1.0, 0.001)
    assert "https://example.org/a" in best.notes[0]


def test_unknown_loss_of_accuracy_is_proposed_on_request_and_marked(tmp_path: Path) -> None:
    one = runner(tmp_path, function(precise), allow=True, **ACCURACY)
    one.run()
    result = Result.of(one.log, one.task)
    unknown = [item for item in result.configurations() if item.configuration["precision"] == "int8"]
    assert len(unknown) == 2
    assert unknown[0].values[1] is None
    assert not unknown[0].keeps, "a limit that is not known to be kept is not kept"
    assert "not measured" in unknown[0].notes[0]
    best = result.best()
    assert best is not None
    assert best.configuration["precision"] == "bf16"


def test_what_the_measurement_says_of_accuracy_comes_first(tmp_path: Path) -> None:
    def measured(settings: Settings) -> dict[str, float]:
        return {
            "kernel_time": precise(settings),
            "accuracy_loss": 0.02 if settings["precision"] == "bf16" else 0.0,
        }

    one = runner(tmp_path, function(measured), **ACCURACY)
    one.run()
    best = Result.of(one.log, one.task).best()
    assert best is not None
    assert best.configuration["precision"] == "fp32"


def test_a_loss_needs_a_source() -> None:
    with pytest.raises(InputError, match="a loss needs a source"):
        read_task(TaskFile({**RAW, **ACCURACY, "accuracy": {"precision": {"bf16": 0.01}}}, name="toy"))


def test_a_function_warms_up_and_repeats() -> None:
    numbers = iter([100.0, 1.0, 2.0, 3.0])
    found = function(lambda _: next(numbers), warmup=1, repeats=3).evaluate(Settings(), threading.Event())
    assert (found.values, found.stdev, found.repeats) == ({"kernel_time": 2.0}, {"kernel_time": 1.0}, 3)
    with pytest.raises(InputError, match="returns str"):
        function(lambda _: "fast").evaluate(Settings(), threading.Event())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objectives": []}, "at least one metric"),
        ({"objectives": ["speed"]}, "say which way is better"),
        ({"stop": {"evaluation": 3}}, "did you mean evaluations"),
        ({"stop": {"patience": 0}}, "no number of evaluations"),
        ({"default": {"x": 9, "y": 0}}, "no value 9"),
        ({"limits": ["speed"]}, "expected metric<=value"),
        ({"jobs": 0}, "at least 1"),
        ({"parameters": {}}, "expected names and their values"),
        ({"parameters": {"x": {"low": 3}}}, "no range from 3"),
        ({"constraints": ["z > 1"]}, "which is no parameter"),
    ],
)
def test_a_wrong_file_is_told_by_its_fault(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as fault:
        read_task(TaskFile({**RAW, **change}, name="toy"))
    assert words in f"{fault.value} {fault.value.hint}"
