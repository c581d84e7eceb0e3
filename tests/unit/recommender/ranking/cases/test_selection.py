"""Lists of configurations to try together."""

from __future__ import annotations

import numpy as np

from kg.nouns.values import Settings
from recommender.ranking.cases.selection import cover, select

GRID = [Settings({"x": x, "shared": s}) for x in (1, 2, 4, 8, 16) for s in (0, 1)]


def test_without_drift_it_is_plain_order() -> None:
    expected = np.arange(len(GRID))[::-1].astype(float)
    assert select(GRID, expected, 0.0, 3) == [9, 8, 7]


def test_ties_go_by_content_and_not_by_place() -> None:
    expected = np.zeros(len(GRID))
    first = GRID[select(GRID, expected, 0.0, 1)[0]]
    again = GRID[::-1]
    assert again[select(again, expected, 0.0, 1)[0]] == first


def test_where_effects_may_turn_around_the_list_tries_the_other_value() -> None:
    expected = np.array([item["x"] * 0.001 + item["shared"] * 0.3 for item in GRID])  # type: ignore[operator]
    assert {GRID[place]["shared"] for place in select(GRID, expected, 0.0, 4)} == {0}
    spread = select(GRID, expected, 0.5, 4)
    assert spread[0] == int(np.argmin(expected))
    assert {GRID[place]["shared"] for place in spread} == {0, 1}
    assert len(set(spread)) == 4


def test_the_same_question_gives_the_same_list() -> None:
    expected = np.linspace(0, 1, len(GRID))
    assert select(GRID, expected, 0.4, 5) == select(GRID, expected, 0.4, 5)


def test_a_cover_serves_each_source_before_it_serves_one_twice() -> None:
    best = np.array([[1.0, 0.9, 0.0], [0.0, 0.0, 1.0]])
    assert cover(best, np.array([0.6, 0.4]), np.zeros(3), 2) == [0, 2]
    assert cover(best, np.array([0.99, 0.01]), np.zeros(3), 3) == [0, 1, 2]


def test_fewer_candidates_than_asked_for_is_a_shorter_list() -> None:
    assert len(select(GRID[:2], np.zeros(2), 0.5, 5)) == 2
    assert len(cover(np.ones((1, 2)), np.ones(1), np.zeros(2), 5)) == 2
