"""Past cases of a bottleneck, those most like the present one first."""

from dataclasses import replace
from typing import Any

from kg.nouns.entities import Kind
from kg.rows.gains import RowGain
from kg.triples.hardware_tree import Distance
from recommender.retrieval.past_cases import Present, past_cases

GAIN = RowGain(
    problem="p", hardware="ascend-910b", model="llama-2-7b", metric="throughput", configuration="c",
    strategy="cpu-binding", bottleneck="host-bound", kind=Kind.PUBLISHED, unats=100_000,
)  # fmt: skip
FAMILIES = {"llama-2-7b": "llama", "llama-2-70b": "llama", "bert-large": "bert"}


class Tree:
    def distance(self, one: str, other: str) -> Distance:
        return Distance.SAME_DEVICE if one == other else Distance.OTHER_VENDOR


def present(**told: str) -> Present:
    tree: Any = Tree()
    return Present(tree=tree, family_of=lambda name: FAMILIES.get(name, ""), **told)


def test_the_cause_comes_before_what_it_brings_on_and_other_bottlenecks_not_at_all() -> None:
    deeper = replace(GAIN, bottleneck="kernel-launch-overhead", unats=1)
    other = replace(GAIN, bottleneck="cast-traffic")
    found = past_cases([GAIN, other, deeper], ("kernel-launch-overhead", "host-bound"), present())
    assert [item.gain for item in found] == [deeper, GAIN]


def test_the_same_model_then_its_family_then_the_nearest_hardware() -> None:
    strangers = [
        replace(GAIN, model="bert-large", hardware=h, unats=900_000) for h in ("h100", "ascend-910b")
    ]
    kin = replace(GAIN, model="llama-2-70b", hardware="h100")
    found = past_cases(
        [*strangers, kin, GAIN], ("host-bound",), present(hardware="ascend-910b", model="llama-2-7b"), most=4
    )
    assert [item.gain for item in found] == [GAIN, kin, strangers[1], strangers[0]]
    assert [item.same_family for item in found] == [True, True, False, False]


def test_what_is_not_told_is_not_guessed() -> None:
    [item] = past_cases([replace(GAIN, model="")], ("host-bound",), present())
    assert item.device is None
    assert not item.same_model
    assert not item.same_family
    assert item.to_json()["distance_class"] is None


def test_order_does_not_hang_on_how_they_came() -> None:
    several = [replace(GAIN, problem=name) for name in "abc"]
    forth, back = (past_cases(items, ("host-bound",), present()) for items in (several, several[::-1]))
    assert forth == back
