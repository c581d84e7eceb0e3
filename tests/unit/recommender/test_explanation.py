"""An explanation is made of the answer's own numbers: every section says something real."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from recommender.explanation.explanation import SHOWN, explain
from recommender.ranking.recommendation import factor_text

if TYPE_CHECKING:
    from recommender.explanation.explanation import Explanation
    from recommender.workspace import Workspace

RAW: dict[str, Any] = {
    "model": "bert-large",
    "phase": "training",
    "hardware": "Ascend 910",
    "count": 8,
    "precision": "bf16",
    "bottlenecks": {"allreduce-wait": 0.28, "host-bound": None},
    "limits": ["accuracy_loss<=0.5%"],
    "current": {"enable_cpu_binding": True},
    "software": {"torch-npu": "5.0"},
}


@pytest.fixture
def explanation(shipped: Workspace) -> Explanation:
    problem, notes = shipped.problem(RAW)
    answer = shipped.recommend(problem, 5, notes=notes)
    return explain(answer, answer.recommendations[0].id)


def lines(explanation: Explanation, title: str) -> tuple[str, ...]:
    [section] = [section for section in explanation.sections if section.title == title]
    return section.lines


def test_the_headline_names_place_and_gain(explanation: Explanation) -> None:
    item = explanation.item
    assert explanation.headline == (
        f"{item.title} [{item.id}]: number 1 of 5, expected gain {factor_text(item.gain)}"
    )


def test_what_was_asked_is_all_there(explanation: Explanation) -> None:
    said = lines(explanation, "What was asked")
    assert said[0] == "training train bert-large bfloat16 on 8 x ascend-910a (as told: Ascend 910)"
    assert "decided by throughput, higher is better" in said
    assert "observed bottleneck collective-wait, 28% of the time" in said
    assert "observed bottleneck host-bound" in said
    assert "set now, and not advised again: enable_cpu_binding=true" in said
    assert "Ascend 910 is taken as Ascend 910A" in said


def test_where_it_looked_are_the_neighbours(explanation: Explanation) -> None:
    said = lines(explanation, "Where it looked")
    assert len(said) == min(SHOWN, len(explanation.answer.neighbours))
    assert all(
        f"[{item['problem']}]" in line
        for item, line in zip(explanation.answer.neighbours, said, strict=False)
    )


def test_what_was_left_out_has_rule_reason_and_source(explanation: Explanation) -> None:
    said = lines(explanation, "What was left out")
    first = explanation.answer.refused[0]
    assert said[0] == f"{first.rule}: {first.reason} <{first.source}>"
    assert said[-1] == "nothing can check yet: accuracy_loss <= 0.005 1"


def test_the_numbers_are_those_of_the_rank(explanation: Explanation) -> None:
    said = lines(explanation, "The numbers")
    item = explanation.item
    assert said[0].startswith(f"gain {factor_text(item.gain)} against {item.against}")
    assert {f"{name}: {value:.4g}" for name, value in item.parts.items()} <= set(said)


def test_what_it_rests_on_has_a_source_each(explanation: Explanation) -> None:
    said = lines(explanation, "What it rests on")
    assert said[0] == explanation.item.basis
    assert len(said) == 1 + len(explanation.item.evidence)
    assert all("https://" in line for line in said[1:])


def test_the_next_is_the_next(explanation: Explanation) -> None:
    [said] = lines(explanation, "Why not the next")
    assert explanation.answer.recommendations[1].id in said


def test_the_last_has_no_next(explanation: Explanation) -> None:
    last = explain(explanation.answer, explanation.answer.recommendations[-1].id)
    assert "Why not the next" not in {section.title for section in last.sections}


def test_no_section_is_empty_for_any_of_them(explanation: Explanation) -> None:
    for item in explanation.answer:
        for section in explain(explanation.answer, item.id).sections:
            assert section.lines
            assert all(line.strip() for line in section.lines)


def test_the_json_has_the_whole_answer(explanation: Explanation) -> None:
    content = explanation.to_json()
    assert content["explained"] == explanation.item.id
    assert content["answer"] == explanation.answer.to_json()


def test_a_stranger_is_not_explained(explanation: Explanation) -> None:
    with pytest.raises(KeyError):
        explain(explanation.answer, "0" * 12)
