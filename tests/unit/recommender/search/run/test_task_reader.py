"""Search files: what each key says, and every refusal names its key."""

from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Objective
from kg.nouns.values import Settings
from recommender.search.run.task import Task
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task

RAW: dict[str, Any] = {
    "parameters": {"x": [0, 1], "y": [0, 1]},
    "metrics": {"kernel_time": {"path": "t", "unit": "s"}},
    "command": ["bench", "{x}", "{y}"],
}
COUNTED = {"a": {"path": "a", "better": "lower"}}
UNKNOWN = Settings({"x": 0, "y": 1})
MODELLED: dict[str, Any] = {"cost_model": {}, "command": None, "metrics": None}


def read(**changed: Any) -> Task:
    raw = {key: value for key, value in {**RAW, **changed}.items() if value is not None}
    return read_task(TaskFile(raw, name="toy"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"paramters": {}}, "no key 'paramters'"),
        ({"jobs": 1.5}, "jobs: 1.5 is not whole"),
        ({"jobs": 0}, "jobs: 0 is no number of at least 1"),
        ({"finalists": True}, "finalists: True is no number"),
        ({"default": {"x": 2, "y": 0}}, "x"),
        ({"default": {"x": 1, "y": 1}, "constraints": ["x + y < 2"]}, "the default breaks a constraint"),
        ({"default": {"x": float("nan")}}, "default: "),
        ({"metrics": {"kernel_time": 3}}, "expected path or pattern, not '3'"),
        ({"metrics": {"kernel_time": {"paht": "t"}}}, "no key metrics.kernel_time.'paht'"),
        ({"metrics": {"of_mine": "t"}}, "of_mine: say which way is better"),
        ({"metrics": {"of_mine": {"path": "t", "better": "up"}}}, "lower or higher, not 'up'"),
        ({"metrics": [1]}, "metrics: expected names and values"),
        ({"objectives": []}, "list at least one metric"),
        ({"objectives": ["energy"]}, "energy is not among the metrics"),
        ({"objectives": ["kernel_time", "kernel_time"]}, "listed twice"),
        ({"objectives": ["accuracy"], **MODELLED}, "the cost model has no accuracy"),
        ({"objectives": [{"metric": "energy", "unit": "furlong"}], "command": None, "metrics": None}, "furlong"),
        ({"limits": "energy<=1J"}, "expected a list such as"),
        ({"limits": ["energy<=1J"]}, "nothing measures energy"),
        ({"accuracy": {"x": 0.1}}, "accuracy: x: expected a loss for each value"),
        ({"accuracy": {"x": {"1": 0.1}}}, "accuracy: x=1: a loss needs a source"),
        ({"accuracy": {"x": {"1": {"loss": -1, "source": "a"}}}}, "x=1: -1 is no number of at least 0"),
        ({"stop": {"evaluations": 0}}, "stop.evaluations: 0 is no number of evaluations"),
        ({"stop": {"patience": 2.5}}, "stop.patience: 2.5 is no number of evaluations"),
        ({"stop": {"tiem_s": 1}}, "no key stop.'tiem_s'"),
        ({"versions": {"gcc": "cc -v"}}, "expected for each name a command as a list"),
        ({"problem": "gemm"}, "problem: expected what a problem file says"),
        ({"parts": {"a": ["x"]}, "objectives": ["kernel_time", "a"], "metrics": RAW["metrics"] | COUNTED}, "one objective"),
        ({"parts": {"a": ["x"]}, "objectives": ["throughput"], **MODELLED, "cost_model": {"count": 1}}, "tells no times of parts"),
    ],
)  # fmt: skip
def test_what_a_file_says_wrong_is_named(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as fault:
        read(**changed)
    assert says in str(fault.value)


def test_what_a_file_says_is_read() -> None:
    loss = {"loss": 0.1, "source": "a paper"}
    task = read(
        metrics={"of_mine": {"pattern": "m=(.*)", "unit": "J", "better": "Higher"}, **RAW["metrics"]},
        objectives="of_mine", limits={"kernel_time": "1ms", "accuracy_loss": "1%"}, jobs=2, finalists=3,
        accuracy={"x": {0: 0, 1: loss}, "y": {1: "unknown"}}, default={"x": 1, "y": 0}, problem={"op": "gemm"},
        stop={"evaluations": 7, "time_s": 1.5, "cost": None}, versions={"gcc": ["cc", 1]},
    )  # fmt: skip
    assert task.objectives[0].better is Better.HIGHER
    assert [(item.metric, item.path, item.pattern) for item in task.readings] == [
        ("of_mine", "", "m=(.*)"),
        ("kernel_time", "t", ""),
    ]
    assert [(item.metric, item.maximum) for item in task.limits] == [
        ("kernel_time", 1e-3),
        ("accuracy_loss", 0.01),
    ]
    assert (task.jobs, task.finalists, task.stop.evaluations, task.stop.time_s, task.stop.cost) == (
        2,
        3,
        7,
        1.5,
        None,
    )
    assert (dict(task.default or {}), task.problem, task.versions) == (
        {"x": 1, "y": 0},
        {"op": "gemm"},
        {"gcc": ["cc", "1"]},
    )
    assert task.accuracy.losses == {"x": {0: (0.0, ""), 1: (0.1, "a paper")}, "y": {1: None}}
    broken = task.space.violated(UNKNOWN)
    assert broken is not None
    assert "its loss of accuracy is unknown" in broken.reason
    assert task.space.violated(Settings({"x": 1, "y": 0})) is None


@pytest.mark.parametrize(
    ("objectives", "found"),
    [
        (None, ("kernel_time", Better.LOWER, "s")),
        ([{"metric": "kernel_time", "better": "higher"}], None),
        (["kernel_time"], ("kernel_time", Better.LOWER, "s")),
    ],
)
def test_the_first_metric_is_the_objective_unless_told(
    objectives: Any, found: tuple[Any, ...] | None
) -> None:
    if found is None:
        with pytest.raises(InputError, match="not among the metrics"):
            read(objectives=objectives)
        return
    metric, better, unit = found
    assert read(objectives=objectives).objectives == (Objective(metric=metric, better=better, unit=unit),)


def test_a_setting_of_unknown_accuracy_is_proposed_where_that_is_allowed_or_measured() -> None:
    unknown = {"accuracy": {"y": {1: None}}}
    raw = TaskFile({**RAW, **unknown}, name="toy")
    assert read(**unknown).space.violated(UNKNOWN) is not None
    assert read_task(raw, allow_unmeasured_accuracy=True).space.violated(UNKNOWN) is None
    measured = RAW["metrics"] | {"accuracy_loss": {"path": "a", "unit": "1"}}
    assert read(**unknown, metrics=measured).space.violated(UNKNOWN) is None
