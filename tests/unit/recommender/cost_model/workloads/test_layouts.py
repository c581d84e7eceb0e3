"""Layouts of training."""

import pytest

from kg.errors import InputError
from tests.unit.recommender.cost_model.machines import train

REFUSED = [
    ({"tp": 3}, "divide the number of devices"),
    ({"tp": 2, "dp": 8}, "must be the number of devices"),
    ({"pp": 8, "virtual_stages": 8}, "more than the layers"),
    ({"gbs": 7}, "divide the global batch"),
    ({"virtual_stages": 2}, "interleaving"),
    ({"zero": 4}, "stages 0 to 3"),
    ({"zero": 3, "pp": 2}, "pipeline of 1"),
    ({"ep": 2}, "needs a model with experts"),
    ({"seq_len": 0}, "sequence length"),
    ({"cp": 8, "seq_len": 4100}, "divide the sequence"),
    ({"micro_batch": 0}, "micro_batch"),
    ({"micro_batch": -1}, "micro_batch"),
    ({"tp": 1.5}, "whole number"),
    ({"precision": "fp8"}, "fp8"),
    ({"precision": "int3"}, "int3"),
    ({"recompute": "some"}, "none of"),
    ({"nosuch": 1}, "nosuch"),
    ({"seq_len": "long"}, "not a number"),
]


@pytest.mark.parametrize(("setting", "rule"), REFUSED)
def test_impossible_layouts_are_refused_by_the_rule(setting: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule) as told:
        train(setting)
    assert told.value.exit_code == 2


def test_the_longest_of_uneven_stages_sets_the_pace() -> None:
    even, uneven = (train({"pp": 4, "micro_batch": 1, **more}) for more in ({}, {"virtual_stages": 3}))
    # 32 blocks in 4 stages of 3 chunks: 3 blocks a chunk, so 9 a stage where 8 are even
    assert float(uneven.split_s["compute"][0] / even.split_s["compute"][0]) == pytest.approx(9 / 8, rel=0.05)
    for part in ("weights", "optimizer"):
        assert uneven.memory_bytes[part][0] == pytest.approx(even.memory_bytes[part][0] * 9 / 8, rel=0.01)
