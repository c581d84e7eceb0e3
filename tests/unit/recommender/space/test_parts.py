"""Parts of what is searched, as files declare them."""

from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.search.run.task import Task
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task
from recommender.space.parts import cut, subspace
from recommender.space.space_file import read_space

RAW: dict[str, Any] = {
    "parameters": {
        "tile": [1, 2, 4],
        "mode": ["a", "b"],
        "width": [1, 2, 4, 8],
        "ahead": {"values": [0, 1], "when": "width > 1"},
        "threads": [1, 2],
    },
    "constraints": ["tile * threads <= 4", "tile <= width", "width != 8 or ahead == 1"],
    "command": ["run", "{tile}", "{mode}", "{width}", "{ahead}", "{threads}"],
    "metrics": {
        "step_time": {"path": "t", "unit": "s"},
        "first_time": {"path": "a", "unit": "s", "better": "lower"},
        "second_time": {"path": "b", "unit": "s", "better": "lower"},
        "speed": {"path": "c", "unit": "1", "better": "higher"},
    },
    "objectives": ["step_time"],
}
PARTS = {
    "first": {"parameters": ["tile", "mode"], "metric": "first_time"},
    "second": {"parameters": ["width", "ahead"], "metric": "second_time"},
}


def task(parts: object, **more: object) -> Task:
    return read_task(TaskFile({**RAW, "parts": parts, **more}, name="t"))


def test_a_part_keeps_the_constraints_that_speak_of_it_alone() -> None:
    first, second = task(PARTS).parts
    assert [str(item) for item in first.space.constraints] == ["tile * threads <= 4"]
    assert [str(item) for item in second.space.constraints] == ["width != 8 or ahead == 1"]


def test_a_table_is_cut_to_the_parameters_of_a_part() -> None:
    whole = read_space({"parameters": {"a": [1, 2], "b": [1, 2]}})
    listed = type(whole)(
        parameters=whole.parameters, listed=tuple(Settings({"a": a, "b": 1}) for a in (1, 2))
    )
    assert subspace(listed, {"b"}).listed == (Settings({"b": 1}),)
    assert cut(Settings({"a": 1, "b": 2}), {"b"}) == Settings({"b": 2})


def test_every_fault_is_told_at_once() -> None:
    wrong = {
        "first": {"parameters": ["tile", "mod"], "metric": "first_tim"},
        "second": {"parameters": ["tile"], "metric": "speed", "share": 0.5},
        "third": {"parameters": ["ahead"], "metric": "second_time"},
        "fourth": {"parameters": ["width"]},
        "fifth": 3,
    }
    with pytest.raises(InputError) as caught:
        task(wrong)
    message = str(caught.value)
    for fault in (
        "first: no parameter 'mod' (did you mean mode?)",
        "first: nothing measures 'first_tim' (did you mean first_time?)",
        "second: no key 'share'",
        "speed is better higher",
        "third: ahead depends on width, which is another part's",
        "fourth: say which metric",
        "fifth: expected parameters and metric",
        "parameter 'tile' is in 2 parts",
    ):
        assert fault in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("parts", "more", "said"),
    [
        ({"only": {"parameters": ["tile"], "metric": "first_time"}}, {}, "at least two"),
        (["tile"], {}, "at least two"),
        (
            {**PARTS, "third": {"parameters": [], "metric": "first_time"}},
            {},
            "metric 'first_time' is of 2 parts",
        ),
        (PARTS, {"objectives": ["step_time", "speed"]}, "parts add up to one objective"),
        (
            {n: {"parameters": [], "metric": f"{n}_time"} for n in ("first", "second")},
            {},
            "no part has a parameter",
        ),
    ],
)
def test_what_are_no_parts_is_refused(parts: object, more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        task(parts, **more)


def test_times_of_parts_add_up_in_one_unit() -> None:
    metrics = {**RAW["metrics"], "second_time": {"path": "b", "better": "lower"}}
    with pytest.raises(InputError, match="in one unit"):
        task(PARTS, metrics=metrics)
