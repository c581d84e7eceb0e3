"""Candidates in the order in which to try them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg.entities import Kind, Problem
from kg.hardware_tree import Distance
from kg.trials import Trial
from recommender.calibration.reliability import Reliability
from recommender.ranking.evidence import Question
from recommender.ranking.ranker import Ranker, Ranking
from tests.unit.recommender.known_cases import neighbour, problem, store, tree, trial


def rank(
    folder: Path, known: dict[Problem, list[Trial]], asked: Problem | None = None, k: int = 3
) -> Ranking:
    asked = asked or problem()
    with store(folder, known) as trials:
        ranker = Ranker(trials, tree(), None, Reliability.shipped())
        neighbours = [neighbour(trials, about, asked) for about in known]
        return ranker.rank(asked, neighbours, Question(), k)


def table(*costs: float | None) -> list[Trial]:
    return [trial({"x": 2**place}, cost) for place, cost in enumerate(costs)]


def xs(ranking: Ranking) -> list[object]:
    return [item["x"] for item in ranking.configurations]


def test_a_single_source_is_copied_in_its_order(tmp_path: Path) -> None:
    ranking = rank(tmp_path, {problem("near"): table(3.0, 1.0, 2.0)})
    assert xs(ranking) == [2, 4, 1]
    assert ranking.distance is Distance.SAME_ARCHITECTURE


def test_the_nearer_device_outweighs_the_farther(tmp_path: Path) -> None:
    ranking = rank(tmp_path, {problem("near"): table(1.0, 2.0), problem("foreign"): table(2.0, 1.0)}, k=1)
    assert xs(ranking) == [1]


def test_winners_alone_are_a_list_without_a_gain(tmp_path: Path) -> None:
    known = {
        problem("near"): [trial({"x": 4}, None, Kind.WINNER)],
        problem("far"): [trial({"x": 4}, None, Kind.WINNER)],
        problem("foreign"): [trial({"x": 8}, None, Kind.WINNER)],
    }
    ranking = rank(tmp_path, known)
    assert xs(ranking)[0] == 4
    assert ranking.distance is None


def test_what_failed_stands_behind_what_ran(tmp_path: Path) -> None:
    ranking = rank(tmp_path, {problem("near"): table(1.0, None, 1.2)})
    assert xs(ranking)[:2] == [1, 4]


def test_nobody_known_is_an_empty_list(tmp_path: Path) -> None:
    assert rank(tmp_path, {}).order == ()


def test_what_cannot_run_is_left_out(tmp_path: Path) -> None:
    asked = problem()
    with store(tmp_path, {problem("near"): table(1.0, 2.0, 3.0)}) as trials:
        ranker = Ranker(trials, tree(), None, Reliability.shipped())
        neighbours = [neighbour(trials, problem("near"), asked)]
        ranking = ranker.rank(asked, neighbours, Question(), 3, lambda _, item: item["x"] != 1)
    assert xs(ranking) == [2, 4]


@pytest.mark.parametrize("claim", [1e-6, 1e-30])
def test_a_poisoned_source_moves_the_expectation_by_its_trust_at_most(tmp_path: Path, claim: float) -> None:
    honest = {problem("near"): table(1.0, 1.1, 3.0), problem("far"): table(1.0, 1.1, 3.0)}
    poisoned = honest | {problem("foreign"): table(1.0, 1.0, claim)}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    before, after = rank(tmp_path / "a", honest), rank(tmp_path / "b", poisoned)
    assert xs(before)[0] == xs(after)[0] == 1
    moved = dict(zip(xs(after), after.scores.expected[list(after.order)], strict=True))
    stood = dict(zip(xs(before), before.scores.expected[list(before.order)], strict=True))
    for x, expected in stood.items():
        assert abs(moved[x] - expected) < 0.1
