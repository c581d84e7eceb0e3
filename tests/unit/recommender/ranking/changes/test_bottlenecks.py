"""Nearness of a strategy to the observed bottlenecks, and the ceiling of all gains."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.entities import Better, Hardware, Objective, Problem, Source, Workload, WorkloadKind
from kg.nouns.knowledge import Bottleneck, Cause, CauseEdge, Confidence
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from recommender.ranking.changes.bottlenecks import MOST_STEPS, Match, ObservedBottlenecks
from tests.samples.graphs import store_of

SOURCE = Source(title="Manual")


def graph() -> GraphStore:
    """communication > wait <- skew <- stragglers <- throttling <- heat; communication > bandwidth."""

    def caused(*names: str) -> tuple[CauseEdge, ...]:
        return tuple(CauseEdge(cause=name, confidence=Confidence.HIGH, source=SOURCE) for name in names)

    def bottleneck(name: str, broader: str | None = None, *causes: str) -> Bottleneck:
        return Bottleneck(id=name, labels={"en": name}, broader=broader, caused_by=caused(*causes))

    return store_of(
        bottleneck("communication"),
        bottleneck("memory"),
        bottleneck("wait", "communication", "skew"),
        bottleneck("bandwidth", "communication"),
        bottleneck("skew", None, "stragglers"),
        bottleneck("stragglers", None, "throttling"),
        bottleneck("throttling", None, "heat"),
        Cause(id="heat", labels={"en": "heat"}, source=SOURCE),
    )


def observed(**shares: float | None) -> ObservedBottlenecks:
    problem = Problem(
        workload=Workload(kind=WorkloadKind.TRAINING, operator="train"),
        hardware=Hardware(name="h100"),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        bottlenecks=Settings(shares),
    )
    return ObservedBottlenecks(graph(), problem)


@pytest.mark.parametrize(
    ("mitigates", "steps"),
    [("wait", 0), ("skew", 1), ("communication", 1), ("stragglers", 2), ("throttling", MOST_STEPS)],
)
def test_each_edge_between_makes_it_less_near(mitigates: str, steps: int) -> None:
    match = observed(wait=0.3).match({mitigates})
    assert (match.bottleneck, match.through, match.steps) == ("wait", mitigates, steps)
    assert match.closeness == 1 / (1 + steps)


@pytest.mark.parametrize("mitigates", ["heat", "bandwidth", "memory", "nowhere"])
def test_what_is_too_far_or_merely_a_sister_is_not_for_it(mitigates: str) -> None:
    match = observed(wait=0.3).match({mitigates})
    assert match.bottleneck == ""
    assert match.share == pytest.approx(0.7)


def test_a_kind_of_the_observed_is_near() -> None:
    match = observed(communication=0.4).match({"bandwidth"})
    assert (match.bottleneck, match.steps) == ("communication", 1)


def test_the_nearest_wins_and_among_equals_the_larger_share() -> None:
    both = observed(wait=0.1, bandwidth=0.2, skew=0.3)
    assert both.match({"skew", "communication"}).bottleneck == "skew"
    assert both.match({"wait", "bandwidth"}).bottleneck == "bandwidth"
    assert observed(bandwidth=None, wait=0.5).match({"wait", "bandwidth"}).bottleneck == "wait"


@given(st.floats(0, 0.999))
def test_the_ceiling_is_amdahls(share: float) -> None:
    assert Match(share=share).ceiling == pytest.approx(math.log(1 / (1 - share)), abs=1e-12)


def test_an_unknown_or_whole_share_sets_no_ceiling() -> None:
    assert Match(share=None).ceiling == math.inf
    assert Match(share=1.0).ceiling == math.inf


def test_what_the_observed_leave_is_the_rest() -> None:
    assert observed(wait=0.3, memory=0.2).rest == pytest.approx(0.5)
    assert observed(wait=0.3, memory=None).rest is None
    assert observed(wait=0.7, memory=0.7).rest == 0
    assert observed().rest is None


def test_all_of_them_together_have_a_ceiling_too() -> None:
    assert observed(wait=0.3, memory=0.2).ceiling == pytest.approx(math.log(2))
    assert observed(wait=0.6, memory=0.6).ceiling is None
    assert observed(wait=None).ceiling is None
    assert not observed()
    assert observed(wait=None)
