"""Candidates in the order in which to try them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Kind, Problem, Trust
from kg.nouns.values import Settings
from kg.rows.copies import LEAST_EQUAL, mark_copied_devices
from kg.rows.trial_rows import Trial
from kg.triples.hardware_tree import Distance
from recommender.calibration.mixture import EvidenceClass, ExpertMixture
from recommender.ranking.cases import experts
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.experts import program
from recommender.ranking.cases.ranker import Ranker, Ranking, Scores, score
from tests.unit.recommender.known_cases import neighbour, problem, store, tree, trial

A, B = {"x": 1}, {"x": 2}


def gathered(folder: Path, asked: Problem, known: Mapping[str, Sequence[Trial]]) -> CandidateEvidence:
    rows = {problem(name): trials for name, trials in known.items()}
    with store(folder, rows) as trials:
        near = [neighbour(trials, about, asked) for about in rows]
        return gather(near, CaseQuestion(), trials, ConfigurationReader(trials))


def scored(asked: Problem, evidence: CandidateEvidence) -> Scores:
    return score(asked, evidence, None, tree().facts)


def test_what_a_table_lacks_is_expected_as_the_others_have_it(tmp_path: Path) -> None:
    asked = problem("near")
    rows = {"same": [trial(A, 1.0), trial(B, 2.0)], "near": [trial(A, 1.0), trial({"x": 4}, 3.0)]}
    evidence = gathered(tmp_path, asked, rows)
    found = scored(asked, evidence)
    expected = {
        evidence.candidates[at]: v for at, v in zip(found.chosen.tolist(), found.expected, strict=True)
    }
    assert expected[Settings(A)] == pytest.approx(0.0)
    assert expected[Settings(B)] == pytest.approx(np.log(2.0))
    assert expected[Settings({"x": 4})] == pytest.approx(np.log(3.0))


def test_the_nearer_table_weighs_twice_a_step_of_the_tree(tmp_path: Path) -> None:
    asked = problem("same")
    rows = [trial(A, 1.0), trial(B, 2.0)]
    other = [trial(A, 1.0), trial(B, 4.0)]
    evidence = gathered(tmp_path, asked, {"near": rows, "far": other, "foreign": other})
    steps = {item.problem.hardware: int(item.device) for item in evidence.sources}
    weights = dict(zip(steps, scored(asked, evidence).weights.tolist(), strict=True))
    for name in ("far", "foreign"):
        assert weights["near"] / weights[name] == pytest.approx(2.0 ** (steps[name] - steps["near"]))


def test_tables_that_differ_leave_a_spread(tmp_path: Path) -> None:
    asked = problem("same")
    evidence = gathered(
        tmp_path, asked, {"near": [trial(A, 1.0), trial(B, 1.5)], "far": [trial(A, 1.5), trial(B, 1.0)]}
    )
    found = scored(asked, evidence)
    assert (found.spread > 0.1).all()
    assert np.isfinite(found.opinions).all()


def rank(
    folder: Path,
    known: dict[Problem, list[Trial]],
    asked: Problem | None = None,
    k: int = 3,
    trusts: dict[str, Trust] | None = None,
) -> Ranking:
    asked = asked or problem()
    folder.mkdir(exist_ok=True)
    with store(folder, known) as trials:
        mark_copied_devices(trials, trials.operators())
        for source, trust in (trusts or {}).items():
            trials.set_trust(1, source, trust)
        ranker = Ranker(trials, tree(), None)
        neighbours = [neighbour(trials, about, asked) for about in known]
        return ranker.rank(asked, neighbours, CaseQuestion(), k)


def table(*costs: float | None) -> list[Trial]:
    return [trial({"x": 2**place}, cost) for place, cost in enumerate(costs)]


def xs(ranking: Ranking) -> list[object]:
    return [item["x"] for item in ranking.configurations]


def by(source: str, rows: list[Trial]) -> list[Trial]:
    return [replace(row, source_id=source) for row in rows]


def weights(ranking: Ranking) -> dict[str, float]:
    """Weights of the tables, by device."""
    sources = (source.problem.hardware for source in ranking.evidence.sources)
    return dict(zip(sources, ranking.scores.weights.tolist(), strict=True))


@pytest.mark.parametrize("trust", list(Trust))
def test_a_table_weighs_as_its_source_is_trusted(trust: Trust, tmp_path: Path) -> None:
    known = {problem("near"): by("a", table(1.0, 2.0)), problem("far"): by("b", table(2.0, 1.0))}
    usual = weights(rank(tmp_path / "usual", known))
    told = weights(rank(tmp_path / "told", known, trusts={"a": trust}))
    assert told == pytest.approx({"near": usual["near"] * trust.weight, "far": usual["far"]})


def test_a_source_of_low_trust_does_not_lead_past_a_trusted_one(tmp_path: Path) -> None:
    known = {problem("same"): by("a", table(2.0, 1.0)), problem("near"): by("b", table(1.0, 2.0))}
    assert xs(rank(tmp_path / "usual", known, k=1)) == [2]
    assert xs(rank(tmp_path / "told", known, k=1, trusts={"a": Trust.LOW})) == [1]


@pytest.mark.long
def test_low_trust_moves_fewer_answers(tmp_path: Path) -> None:
    """A contrary table of low trust turns fewer of 24 fixed honest tables than one of medium trust."""
    honest = [table(1.0, 1.0 + place / 10) for place in range(24)]
    turned = dict.fromkeys((Trust.LOW, Trust.MEDIUM), 0)
    for trust in turned:
        for place, rows in enumerate(honest):
            known = {
                problem("same"): by("contrary", table(1.3, 1.0)),
                problem("near"): by("honest", rows),
                problem("far"): by("honest", rows),
            }
            told = rank(tmp_path / f"{trust}-{place}", known, k=1, trusts={"contrary": trust})
            turned[trust] += xs(told) != [1]
    assert turned[Trust.LOW] < turned[Trust.MEDIUM]


def test_a_copied_table_does_not_count_twice(tmp_path: Path) -> None:
    original = {problem("near"): table(1.0, 2.0, 3.5, 4.0), problem("foreign"): table(2.0, 1.0, 3.0, 4.1)}
    copied = original | {problem("far"): original[problem("near")]}
    other = original | {problem("far"): table(1.01, 2.02, 3.53, 4.04)}
    assert len(original[problem("near")]) >= LEAST_EQUAL
    alone = rank(tmp_path / "alone", original)
    twice = rank(tmp_path / "twice", copied)
    apart = rank(tmp_path / "apart", other)
    assert sum(weights(twice).values()) == pytest.approx(sum(weights(alone).values()))
    assert sum(weights(apart).values()) > sum(weights(alone).values())


def test_a_copied_choice_has_one_vote(tmp_path: Path) -> None:
    known = {
        problem(device, size=2**place): [trial({"x": place % 6}, None, Kind.WINNER)]
        for device in ("near", "far")
        for place in range(1, 12)
    }
    asked = problem(size=2)
    with store(tmp_path, known) as trials:
        voices = []
        for mark in (False, True):
            if mark:
                mark_copied_devices(trials, trials.operators())
            near, far = (neighbour(trials, problem(device, size=2), asked) for device in ("near", "far"))
            for neighbours in ([near], [near, far]):
                ranking = Ranker(trials, tree(), None).rank(asked, neighbours, CaseQuestion(), 1)
                voices.append(float(experts.voices(ranking.evidence).sum()))
    one, two, marked_one, marked_two = voices
    assert two > one
    assert marked_two == pytest.approx(marked_one)


def test_the_weights_of_its_situation_order_the_list_and_those_without_its_device_a_backtest(
    tmp_path: Path,
) -> None:
    """The nearest case prefers 1; all others are best at 2, and only they have tried 4."""
    known = {
        problem("near"): table(1.0, 1.02),
        problem("far"): table(2.0, 1.0, 1.1),
        problem("foreign"): table(2.0, 1.0, 1.1),
    }
    asked = problem()
    popular = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    here = EvidenceClass(Distance.SAME_ARCHITECTURE, dense=True)
    mixture = ExpertMixture(
        weights={here: popular}, without={asked.hardware.name: {}}, opinions=program(), origin="a test"
    )
    with store(tmp_path, known) as trials:
        ranker = Ranker(trials, tree(), None, mixture)
        neighbours = [neighbour(trials, about, asked) for about in known]
        told = ranker.rank(asked, neighbours, CaseQuestion(), 3)
        backtest = ranker.rank(asked, neighbours, CaseQuestion(), 3, unseen=True)
    assert told.situation == here
    assert xs(told) == [2, 1, 4]
    assert xs(backtest) == [1, 2, 4]


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


def test_what_cannot_run_is_left_out(tmp_path: Path) -> None:
    asked = problem()
    with store(tmp_path, {problem("near"): table(1.0, 2.0, 3.0)}) as trials:
        ranker = Ranker(trials, tree(), None)
        neighbours = [neighbour(trials, problem("near"), asked)]
        ranking = ranker.rank(asked, neighbours, CaseQuestion(), 3, lambda _, item: item["x"] != 1)
    assert xs(ranking) == [2, 4]
