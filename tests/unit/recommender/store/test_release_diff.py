"""What a change of release makes of the questions that were asked."""

import json
from collections.abc import Mapping

import pytest

from kg.errors import InputError, UnknownEntityError
from recommender.answers.answer import Answer
from recommender.store.release_diff import MOST_QUESTIONS, release_diff
from recommender.workspace.workspace import Workspace

SERVING = {
    "model": "qwen3-32b",
    "phase": "serving",
    "hardware": "ascend-910b3",
    "count": 4,
    "software": {"vllm-ascend": "0.19.1rc1"},
}


def never(_: Mapping[str, object]) -> Answer:
    raise AssertionError("asked a question that is about something else")


@pytest.mark.long
def test_only_what_differs_between_the_releases_is_said(shipped: Workspace) -> None:
    def ask(raw: Mapping[str, object]) -> Answer:
        problem, notes = shipped.problem(raw)
        return shipped.recommend(problem, notes=notes)

    same_but_newer = {**SERVING, "software": {"vllm-ascend": "0.23.0"}}
    questions = [json.dumps(item) for item in (SERVING, same_but_newer)]
    found = release_diff("vllm-ascend=0.19.1rc1..0.23.0", questions, ask)
    assert (found.asked, found.left_out, found.read) == (1, 0, ("0.19.1rc1", "0.23.0"))
    [changed] = found.changed
    assert changed.about == "qwen3-32b serving on ascend-910b3 x4"
    not_yet = [text for text in changed.gone if "enable_flashcomm1: not yet, since 0.20.2rc1" in text]
    assert not_yet
    assert not set(changed.gone) & set(changed.come)
    same = release_diff("vllm-ascend=0.23..0.23.0", questions, ask)
    assert [text for item in same.changed for text in (*item.gone, *item.come) if "start" in text] == []


def test_questions_about_something_else_are_not_asked() -> None:
    others = [{"op": "gemm", "hardware": "h100"}, {**SERVING, "software": {"vllm": "0.10"}}]
    found = release_diff("vllm-ascend=0.20..0.23", map(json.dumps, others), never)
    assert (found.asked, found.changed) == (0, ())


def test_older_questions_beyond_the_most_are_counted() -> None:
    def ask(raw: Mapping[str, object]) -> Answer:
        raise InputError("no such count")

    questions = [json.dumps({**SERVING, "count": count}) for count in range(MOST_QUESTIONS + 3)]
    found = release_diff("vllm-ascend=0.20..0.23", questions, ask)
    assert (found.asked, found.left_out, found.changed) == (MOST_QUESTIONS, 3, ())
    assert found.notes == (
        f"{MOST_QUESTIONS} of your questions are about vllm-ascend",
        "3 older ones were not asked again",
    )


@pytest.mark.parametrize(
    "text", ["", "vllm-ascend", "vllm-ascend=0.23", "vllm-ascend=..0.23", "vllm-ascend=1..", "a=1..1"]
)
def test_what_names_no_two_releases_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="names no framework and two releases"):
        release_diff(text, [], never)


@pytest.mark.parametrize("text", ["nonsense=1..2", "vllm-ascend=x..0.23"])
def test_an_unknown_name_is_said(text: str) -> None:
    with pytest.raises(UnknownEntityError):
        release_diff(text, [], never)
