"""An explanation is made of the answer's own numbers: every section says something real."""

import math
from typing import Any

import pytest

from kg.nouns.gain import Gain, factor_text
from kg.nouns.values import Settings
from recommender.answers.answer import Answer
from recommender.answers.explanation.explanation import (
    ChangeExplanation,
    Explanation,
    StartExplanation,
    explain,
)
from recommender.answers.explanation.summary import MOST_LETTERS, MOST_LINES, summary
from recommender.ranking.change import Change
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.known_cases import problem as known_problem

RAW: dict[str, Any] = {
    "model": "bert-large",
    "phase": "training",
    "hardware": "Ascend 910",
    "count": 8,
    "precision": "fp16",
    "bottlenecks": {"allreduce-wait": 0.28, "host-bound": None},
    "limits": ["accuracy_loss<=0.5%"],
    "current": {"enable_cpu_binding": True},
    "software": {"torch-npu": "5.0"},
}


@pytest.fixture
def explanation(shipped: Workspace) -> ChangeExplanation:
    problem, notes = shipped.problem(RAW)
    answer = shipped.recommend(problem, 5, notes=notes)
    found = explain(answer, answer.recommendations[0].id)
    assert isinstance(found, ChangeExplanation)
    return found


def lines(explanation: Explanation, title: str) -> tuple[str, ...]:
    [section] = [section for section in explanation.sections if section.title == title]
    return section.lines


def test_what_was_asked_is_all_there(explanation: ChangeExplanation) -> None:
    said = lines(explanation, "What was asked")
    assert said[0] == "training train bert-large float16 on 8 x ascend-910a (as told: Ascend 910)"
    assert "decided by throughput, higher is better" in said
    assert "observed bottleneck collective-wait, 28% of the time" in said
    assert "observed bottleneck host-bound" in said
    assert "set now, and not advised again: enable_cpu_binding=true" in said
    assert "Ascend 910 is taken as Ascend 910A" in said


def test_what_was_left_out_has_rule_reason_and_source(explanation: ChangeExplanation) -> None:
    said = lines(explanation, "What was left out")
    first = explanation.answer.refused[0]
    assert said[0] == f"{first.rule}: {first.reason} <{first.source}>"
    assert said[-1] == "nothing can check yet: accuracy_loss <= 0.5 %"


def test_the_numbers_are_those_of_the_rank(shipped: Workspace) -> None:
    question: dict[str, Any] = {"model": "qwen3-8b", "phase": "training", "hardware": "910b3", "count": 8}
    answer = shipped.recommend(shipped.problem(question)[0], 5)
    item = next(item for item in answer if item.gain is not None)
    said = lines(explain(answer, item.id), "The numbers")
    assert said[0].startswith(f"gain {factor_text(item.gain)} against {item.against}")
    assert {f"{name}: {value:.4g}" for name, value in item.parts.items()} <= set(said)


def test_what_it_rests_on_has_a_source_each(explanation: ChangeExplanation) -> None:
    said = lines(explanation, "What it rests on")
    assert said[0] == explanation.item.basis
    assert len(said) == 1 + len(explanation.item.evidence)
    assert all("https://" in line for line in said[1:])


def test_the_next_is_the_next(explanation: ChangeExplanation) -> None:
    [said] = lines(explanation, "Why not the next")
    assert explanation.answer.recommendations[1].id in said


def test_the_last_has_no_next(explanation: ChangeExplanation) -> None:
    last = explain(explanation.answer, explanation.answer.recommendations[-1].id)
    assert "Why not the next" not in {section.title for section in last.sections}


def test_no_section_is_empty_for_any_of_them(explanation: ChangeExplanation) -> None:
    for item in explanation.answer:
        for section in explain(explanation.answer, item.id).sections:
            assert section.lines
            assert all(line.strip() for line in section.lines)


def test_the_json_has_the_whole_answer(explanation: ChangeExplanation) -> None:
    content = explanation.to_json()
    assert content["explained"] == explanation.item.id
    assert content["answer"] == explanation.answer.to_json()


def item(identifier: str, factor: float, **more: Any) -> Change:
    gain = math.log(factor)
    return Change(
        id=identifier,
        title=f"Way {identifier}",
        configuration=Settings({"x": identifier}),
        flags=(),
        gain=Gain(expected=gain, low=gain - 0.1, high=gain + 0.1),
        against="the same without it",
        basis="1 published gain",
        strategy=identifier,
        **more,
    )


def answered(*items: Change) -> Answer:
    return Answer(problem=known_problem(), version="1", recommendations=items)


def test_the_next_is_told_apart_by_what_really_differs() -> None:
    first, second = item("a", 1.3, bottleneck="wait"), item("b", 1.2, bottleneck="wait", conflicts=("a",))
    told = summary(answered(first, second), first)
    assert (
        "it is expected to gain 8.3% less, but its interval reaches above this one's expectation" in told.next
    )
    assert "it fixes the same bottleneck, so the two do not add up" in told.next
    assert "the two exclude each other" in told.next
    assert "measured below 1.20x here, the next would lead" in told.change
    assert summary(answered(first, second), second).next == ("it is the last of the list",)


def test_alike_is_called_alike() -> None:
    told = summary(answered(item("a", 1.2), item("b", 1.2)), item("a", 1.2))
    assert "same expected gain: the order between the two means nothing" in told.next
    assert not any("would lead" in line for line in told.change)


def test_a_screen_is_never_overfull() -> None:
    long = item("a", 1.2, conditions=tuple(f"needs {n} " + "very " * 60 for n in range(20)))
    for _, lines in summary(answered(long), long).sections:
        assert len(lines) <= MOST_LINES
        assert all(len(line) <= MOST_LETTERS for line in lines)


def test_it_prints_the_same_words(explanation: ChangeExplanation) -> None:
    shown = str(explanation)
    assert shown.splitlines()[0] == explanation.headline
    for section in explanation.sections:
        assert section.title in shown


def test_a_start_is_explained_by_its_numbers_settings_and_alternatives(
    explanation: ChangeExplanation,
) -> None:
    answer = explanation.answer
    first = answer.starts[0]
    found = explain(answer, first.id)
    assert isinstance(found, StartExplanation)
    assert found.headline == f"{first.layout} [{first.id}]: the start"
    assert found.to_json()["explained"] == first.id
    [why] = [section.lines for section in found.sections if section.title == "Why this"]
    assert set(first.because) <= set(why)
    assert len(found.summary.why) <= MOST_LINES
    assert len(found.summary.next) == len(answer.starts) - 1
    assert any("assumed: " in line for line in found.summary.change)


def test_work_that_sets_nothing_is_not_taken_for_other_work() -> None:
    answer = answered(item("a", 1.2), Change(id="b", title="Other work"))
    with pytest.raises(KeyError):
        explain(answer, "0" * 12, Settings())


def test_what_sets_the_same_is_found_when_the_knowledge_has_changed(explanation: ChangeExplanation) -> None:
    old = "0" * 12
    for one in (explanation.item, explanation.answer.starts[0]):
        found = explain(explanation.answer, old, one.configuration)
        assert found.explained == one.id
        assert f"(was {old}: the knowledge has changed since)" in found.headline
    with pytest.raises(KeyError):
        explain(explanation.answer, old, Settings({"nothing": 1}))
