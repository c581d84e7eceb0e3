"""Loads and their requests."""

from itertools import islice

import pytest

from tests.unit.tools.oracle.loads import BASE, load_of
from tools.oracle.load_draws import draw_loads
from tools.oracle.serving_load import KINDS, ServingLoad, StepWork, requests_of


def test_a_load_is_the_same_after_it_was_written_as_a_row() -> None:
    drafted = load_of(drafts=2, acceptance=(0.8, 0.55), rate=3.25, users=0)
    assert ServingLoad.from_row(drafted.to_row()) == drafted
    for load in draw_loads(3, 2):
        assert ServingLoad.from_row(load.to_row()) == load


def test_requests_follow_from_the_seed_and_keep_the_rate_and_the_range_of_lengths() -> None:
    load = load_of(users=0, rate=4.0, spread=0.5, requests=50)
    first, again = (list(islice(requests_of(load), 200)) for _ in range(2))
    assert first == again
    measured = first[load.warm + 1 : load.warm + 1 + load.requests]
    assert sum(one.gap for one in measured) == pytest.approx(50 / 4.0)
    assert {one.output_len for one in first} <= set(range(10, 31))
    assert len({one.input_len for one in first}) > 50
    other = next(requests_of(load_of(users=0, rate=4.0, spread=0.5, seed=2)))
    assert other != first[0]


def test_the_time_of_a_step_counts_tokens_context_and_pairs() -> None:
    load = ServingLoad(**BASE | {"step_s": 1.0, "token_s": 0.1, "context_s": 0.01, "pair_s": 0.001})
    assert load.step_time(StepWork(tokens=2, context=3, pairs=4)) == pytest.approx(1.234)


def test_draws_have_all_kinds_and_stay_when_more_are_asked() -> None:
    few, many = draw_loads(1, 2), draw_loads(1, 5)
    assert [load.kind for load in few] == [kind for kind in KINDS for _ in range(2)]
    assert set(few) <= set(many)
    assert not set(draw_loads(2, 2)) & set(many)
    for load in many:
        longest = (load.input_len + load.output_len) * (1 + load.spread) / 16
        assert load.blocks > longest  # the longest request fits alone
        assert bool(load.users) != bool(load.rate)
        assert len(load.acceptance) == load.drafts
