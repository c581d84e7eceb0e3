"""What candidates are expected to cost: tables and the response model, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.scoring import Scores, score
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
