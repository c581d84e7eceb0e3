"""Choices: the fastest within what the model tells apart, others of another kind, single steps."""

import numpy as np

from recommender.ranking.kernels.choice import RESOLUTION, WORTH, best_row, choose_rows
from recommender.ranking.kernels.domain import generated_domain
from recommender.ranking.kernels.score import tile_times
from tests.unit.recommender.ranking.kernel_questions import question


def test_ties_go_to_where_people_start() -> None:
    asked = question()
    domain = generated_domain(asked)
    flat = np.ones(len(domain))
    one = domain.configuration(best_row(asked, domain, flat))
    assert (one["num_warps"], one["num_stages"], one["GROUP_SIZE_M"]) == (4, 3, 8)
    faster = flat.copy()
    faster[7] = 1 - 2 * RESOLUTION
    assert best_row(asked, domain, faster) == 7


def test_others_are_of_another_kind_and_steps_differ_in_one_parameter() -> None:
    asked = question(npu=True, language="ascend-c")
    domain = generated_domain(asked)
    times = tile_times(asked, domain.columns)
    choice = choose_rows(asked, domain, times)
    assert choice is not None
    tiles = [
        frozenset((domain.configuration(row)["baseM"], domain.configuration(row)["baseN"]))
        for row in (choice.start, *choice.others)
    ]
    assert len(set(tiles)) == len(tiles) == 3
    start = domain.configuration(choice.start)
    assert choice.steps
    for row, name in choice.steps:
        changed = domain.configuration(row)
        assert {key for key in start if start[key] != changed[key]} == {name}
        assert times.total_s[row] <= times.total_s[choice.start] * WORTH


def test_fixed_values_hold_and_what_has_none_is_no_choice() -> None:
    asked = question()
    domain = generated_domain(asked)
    times = tile_times(asked, domain.columns)
    choice = choose_rows(asked, domain, times, {"BLOCK_SIZE_M": 32, "num_warps": 8})
    assert choice is not None
    assert {"BLOCK_SIZE_M": 32, "num_warps": 8}.items() <= domain.configuration(choice.start).items()
    assert choose_rows(asked, domain, times, {"BLOCK_SIZE_M": 48}) is None


def test_a_group_of_rows_is_not_advised_for_a_token_an_expert() -> None:
    for tokens, group in ((8, 1), (4096, 32)):
        asked = question("fused_moe", shape={"M": tokens, "N": 1024, "E": 8})
        domain = generated_domain(asked)
        row = best_row(asked, domain, np.ones(len(domain)))
        assert domain.configuration(row)["GROUP_SIZE_M"] == group
