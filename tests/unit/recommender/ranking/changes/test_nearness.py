"""Circumstances that set effects apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.values import Settings
from recommender.ranking.changes.nearness import context_distance, nearness

ASKED = Settings({"batch": 8, "input_len": 1024})


def test_the_farther_a_batch_the_less_is_shared() -> None:
    places = [Settings({"batch": size}) for size in (8, 16, 512)]
    near = nearness(ASKED, places, [""] * 3)[0, 1:]
    assert near[0] == 1
    assert near[1] == pytest.approx(np.exp(-1 / context_distance().octaves["batch"]))
    assert near[2] < near[1]


def test_another_framework_keeps_its_share() -> None:
    near = nearness(ASKED, [Settings(), Settings(), Settings()], ["", "sglang", "sglang"])
    share = context_distance().other_framework
    assert 0 < share < 1
    assert near[0, 1] == 1
    assert near[0, 2] == near[1, 3] == share
    assert near[2, 3] == 1


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["batch", "input_len", "tp"]), st.integers(1, 1 << 20)), max_size=6
    )
)
def test_it_stays_a_covariance(sizes: list[dict[str, int]]) -> None:
    near = nearness(ASKED, [Settings(item) for item in sizes], [""] * len(sizes))
    assert np.linalg.eigvalsh(near).min() > -1e-9
