"""The circumstances of a gain, and what its baseline had on in the place of a strategy."""

import pytest

from kg.nouns.entities import Kind
from kg.nouns.values import Value
from kg.terms.circumstances import circumstances, settings_replaced, sizes_of_shape
from kg.terms.dialects import degrees_of


@pytest.mark.parametrize(
    ("configuration", "baseline", "against"),
    [
        ({"flash": True}, {"flash": False}, {}),
        ({"tp": 4, "cp": 2}, {"tp": 4, "cp": 1}, {}),
        ({"cp_algo": "ulysses"}, {"cp_algo": "ring"}, {"cp_algo": "ring"}),
        ({"cp": 2}, {"cp": 1, "recompute": "full"}, {"recompute": "full"}),
        ({"tp": 1}, {"tp": 8, "zero": 1}, {"tp": 8, "zero": 1}),
        ({"draft": "suffix"}, {"draft": "none"}, {}),
        ({}, {"VLLM_USE_V1": 1, "tp": 1}, {"VLLM_USE_V1": 1}),
    ],
)
def test_a_baseline_that_had_something_on_is_named(
    configuration: dict[str, Value], baseline: dict[str, Value], against: dict[str, Value]
) -> None:
    assert dict(settings_replaced(configuration, baseline, Kind.PUBLISHED)) == against


def test_an_own_test_is_against_the_same_without_it() -> None:
    assert not settings_replaced({"algo": "a"}, {"algo": "b"}, Kind.MEASURED)


def test_lengths_and_degrees_go_by_the_names_of_facts() -> None:
    assert sizes_of_shape({"isl": 1024, "max_concurrency": 8, "hidden": 7}) == {
        "input_len": 1024,
        "concurrency": 8,
    }
    assert degrees_of({"--tensor-parallel-size": 4, "moe_ep_size": 8, "cp": True}) == {"tp": 4, "ep": 8}


def test_what_the_change_moves_is_none_of_its_circumstances() -> None:
    after, before = {"tp": 1, "cp": 4}, {"tp": 8, "cp": 4}
    releases = {"mindspeed": "2.3.0"}
    assert circumstances(after, before, releases, Kind.PUBLISHED) == {"cp": 4, "software.mindspeed": "2.3.0"}
    assert circumstances(after, before, releases, Kind.MEASURED) == {"cp": 4}
    assert circumstances(after, {}, {}, Kind.PUBLISHED) == {"tp": 1, "cp": 4}
