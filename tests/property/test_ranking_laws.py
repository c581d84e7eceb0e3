"""Laws of ranking: order of input, weight of evidence, bounded harm."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.rows.trial_rows import Trial
from recommender.ranking.cases.evidence import CaseQuestion
from recommender.ranking.cases.experts import WORST
from recommender.ranking.cases.ranker import Ranker, Ranking
from tests.unit.recommender.known_cases import neighbour, problem, store, tree, trial

DEVICES = ("near", "far", "foreign")
COSTS = st.lists(st.floats(1e-6, 1e3), min_size=4, max_size=4)


def table(costs: list[float]) -> list[Trial]:
    return [trial({"x": 2**place}, cost) for place, cost in enumerate(costs)]


def rank(tables: dict[str, list[float]], order: list[str]) -> Ranking:
    asked = problem()
    with tempfile.TemporaryDirectory() as place:
        known = {problem(name): table(tables[name]) for name in order}
        with store(Path(place), known) as trials:
            neighbours = [neighbour(trials, about, asked) for about in known]
            ranker = Ranker(trials, tree(), None)
            return ranker.rank(asked, neighbours, CaseQuestion(), 4)


@settings(max_examples=15, deadline=None)
@given(costs=st.lists(COSTS, min_size=3, max_size=3), order=st.permutations(DEVICES))
def test_ranking_ignores_the_order_in_which_cases_came(costs: list[list[float]], order: list[str]) -> None:
    # Equal distances apart, so that only device and content can order the sources.
    tables = dict(zip(DEVICES, costs, strict=True))
    one, other = rank(tables, list(DEVICES)), rank(tables, order)
    by = {
        item.digest: v
        for item, v in zip(
            one.evidence.candidates, one.scores.expected[np.argsort(one.scores.chosen)], strict=True
        )
    }
    for item, value in zip(
        other.evidence.candidates, other.scores.expected[np.argsort(other.scores.chosen)], strict=True
    ):
        assert abs(by[item.digest] - value) < 1e-9


@settings(max_examples=15, deadline=None)
@given(costs=COSTS, factor=st.floats(1e-3, 1e3))
def test_only_ratios_count(costs: list[float], factor: float) -> None:
    one = rank({"near": costs}, ["near"])
    other = rank({"near": [cost * factor for cost in costs]}, ["near"])
    np.testing.assert_allclose(one.scores.expected, other.scores.expected, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(honest=COSTS, poison=COSTS)
def test_no_source_moves_an_expectation_by_more_than_its_share(
    honest: list[float], poison: list[float]
) -> None:
    before = rank({"near": honest}, ["near"])
    after = rank({"near": honest, "foreign": poison}, ["near", "foreign"])
    share = after.scores.weights.min() / after.scores.weights.sum()
    stood = before.scores.expected[np.argsort(before.scores.chosen)]
    moved = after.scores.expected[np.argsort(after.scores.chosen)]
    assert (np.abs(moved - stood) <= share * WORST + 1e-9).all()


@settings(max_examples=15, deadline=None)
@given(costs=COSTS)
def test_sources_that_agree_leave_less_doubt_than_one_that_does_not(costs: list[float]) -> None:
    agreed = rank({"near": costs, "far": costs}, ["near", "far"])
    turned = rank({"near": costs, "far": costs[::-1]}, ["near", "far"])
    assert agreed.scores.spread.max() <= turned.scores.spread.max() + 1e-12
