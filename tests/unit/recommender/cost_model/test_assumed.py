"""What is assumed is said in words, with the option that says otherwise."""

import pytest

from kg.nouns.situation import FactOrigin, StatedFact
from recommender.cost_model.assumed import (
    _load,
    assumed_count,
    assumed_release,
    fitting_lengths,
    own_lengths,
    task_lengths,
)

ROLE, STATED = [*task_lengths("", (), "prefill")], [*task_lengths("embedding", ("output_len",))]


@pytest.mark.parametrize(
    ("fact", "value", "words", "otherwise"),
    [
        (assumed_count(1), 1, "1 device, the fewest that hold it", "--count N"),
        (assumed_count(2048), 2048, "2,048 devices, the fewest that hold it", "--count N"),
        (assumed_release("vllm", "1.0"), "1.0", "vllm 1.0", "--software NAME=VERSION"),
        (assumed_release("a", "", "b"), "", "a in the place of b", "--software NAME=VERSION"),
        (next(iter(task_lengths("embedding", ()))), 1, "answers of 1 token (embedding)", "--shape output_len=N"),
        (_load(600.0, 2.0, None, "best"), 1200, "1,200 requests at once (600 an engine), best", "--trait concurrency=N"),
    ],
)  # fmt: skip
def test_an_assumption_names_its_value_and_what_says_another(
    fact: StatedFact, value: object, words: str, otherwise: str
) -> None:
    assert (fact.value, fact.words, fact.otherwise) == (value, words, otherwise)
    assert fact.origin is FactOrigin.ASSUMED


def test_a_stated_length_wins_but_not_over_a_role() -> None:
    assert STATED == [*own_lengths({"input_len": 9.0}, ("input_len",))] == []
    assert [item.name for item in task_lengths("", ("output_len",), "prefill")] == ["shape.output_len"]
    [own] = own_lengths({"input_len": 2000.0}, ())
    assert (own.value, own.words) == (2000, "prompts of 2,000 tokens (as your own runs had)")


@pytest.mark.parametrize("most", [1, 8, 512, 1024, 1151])
def test_usual_lengths_are_no_longer_than_the_context(most: int) -> None:
    lengths = [int(str(fact.value)) for fact in fitting_lengths(most, ())]
    assert sum(lengths) == max(most, 2)
    assert lengths[1] <= max(most / 8, 1)
    assert [*fitting_lengths(1152, ())] == [*fitting_lengths(most, ("output_len",))] == []
