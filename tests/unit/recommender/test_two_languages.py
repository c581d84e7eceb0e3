"""A question in Chinese is the same question as in English, and has the same answer."""

from typing import Any

import pytest

from kg.errors import AmbiguousEntityError
from kg.nouns.knowledge import Bottleneck, Concept, HardwareProfile, Model
from kg.triples.serialisation import all_of
from recommender.workspace.workspace import Workspace


def bilingual(shipped: Workspace, kind: type[Concept]) -> list[Any]:
    return [item for item in all_of(shipped.graph, kind) if "zh" in item.labels]


def meant(find: Any, text: str) -> object:
    """The entity that a name is resolved to, or the choice it leaves."""
    try:
        return find(text).id
    except AmbiguousEntityError as asked_back:
        return asked_back.choices


@pytest.mark.parametrize(
    ("kind", "resolver", "least"),
    [
        (Bottleneck, "bottleneck", 100),
        (HardwareProfile, "hardware", 50),
        (Model, "model", 1),
    ],
)
def test_every_bilingual_label_means_the_same_in_both_languages(
    shipped: Workspace, kind: type[Concept], resolver: str, least: int
) -> None:
    find = getattr(shipped.names, resolver)
    known = bilingual(shipped, kind)
    assert len(known) >= least
    differing = [
        item.id for item in known if meant(find, item.labels["zh"]) != meant(find, item.labels["en"])
    ]
    assert differing == []


def test_every_bottleneck_asked_in_chinese_is_the_same_problem(shipped: Workspace) -> None:
    def asked(language: str, item: Any) -> str:
        phase = {"zh": "训练", "en": "training"}[language]
        objective = {"zh": "吞吐量", "en": "throughput"}[language]
        limit = {"zh": "峰值内存<=32GB", "en": "peak_memory<=32GB"}[language]
        device = {"zh": "昇腾910B3", "en": "Ascend 910B3"}[language]
        problem, _ = shipped.problem(
            {
                "model": "bert-large",
                "phase": phase,
                "hardware": device,
                "objective": objective,
                "limits": [limit],
                "bottlenecks": {item.labels[language]: 0.2},
            }
        )
        return problem.id

    for item in bilingual(shipped, Bottleneck):
        assert asked("zh", item) == asked("en", item), item.id


@pytest.mark.parametrize(
    ("chinese", "english"),
    [
        (
            {
                "model": "bert-large",
                "phase": "训练",
                "hardware": "昇腾910B3",
                "bottlenecks": {"通信瓶颈": 0.3},
            },
            {
                "model": "bert-large",
                "phase": "training",
                "hardware": "910B3",
                "bottlenecks": {"Communication bound": 0.3},
            },
        ),
        (
            {"model": "qwen3-32b", "phase": "解码", "hardware": "昇腾910B3", "objective": "时延"},
            {"model": "qwen3-32b", "phase": "decode", "hardware": "Ascend 910B3", "objective": "latency"},
        ),
    ],
)
def test_the_answer_is_the_same(shipped: Workspace, chinese: dict[str, Any], english: dict[str, Any]) -> None:
    answers = [shipped.recommend(shipped.problem(raw)[0], 5) for raw in (chinese, english)]
    one, two = ([item.to_json() for item in answer] for answer in answers)
    assert one == two
    assert one
