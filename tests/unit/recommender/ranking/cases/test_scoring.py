"""What candidates are expected to cost: likeness of devices, and a charge for what few have tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kg.nouns.values import Settings
from recommender.calibration.reliability import Reliability
from recommender.ranking.cases.evidence import CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.scoring import UNTRIED, Scores, score, source_weights
from tests.unit.recommender.known_cases import neighbour, problem, store, tree, trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kg.nouns.entities import Problem
    from kg.rows.trial_rows import Trial
    from recommender.ranking.cases.evidence import CandidateEvidence

A, B = {"x": 1}, {"x": 2}


def gathered(folder: Path, asked: Problem, known: Mapping[str, Sequence[Trial]]) -> CandidateEvidence:
    rows = {problem(name): trials for name, trials in known.items()}
    with store(folder, rows) as trials:
        near = [neighbour(trials, about, asked) for about in rows]
        return gather(near, CaseQuestion(), trials, ConfigurationReader(trials))


def scored(asked: Problem, evidence: CandidateEvidence) -> Scores:
    return score(asked, evidence, None, tree().facts, Reliability.shipped())


def test_among_devices_as_far_away_the_one_that_is_more_alike_weighs_more(tmp_path: Path) -> None:
    """``same`` has the 100 compute units of the device asked for, ``far`` has 40; both are of the other vendor."""
    asked, rows = problem("foreign"), [trial(A, 1.0), trial(B, 2.0)]
    evidence = gathered(tmp_path, asked, {"same": rows, "far": rows})
    names = [source.problem.hardware for source in evidence.sources]
    found = source_weights(asked, evidence, tree().facts, Reliability.shipped())
    weights = dict(zip(names, found.tolist(), strict=True))
    assert weights["same"] > 1.2 * weights["far"] > 0


def test_a_candidate_is_charged_for_the_sources_that_have_not_tried_it(tmp_path: Path) -> None:
    """Two devices of one architecture; only one has tried B, which is as good as A there."""
    asked = problem("near")
    evidence = gathered(
        tmp_path,
        asked,
        {"same": [trial(A, 1.0), trial(B, 1.0)], "near": [trial(A, 1.0), trial({"x": 4}, 3.0)]},
    )
    found = scored(asked, evidence)
    place = {evidence.candidates[at]: k for k, at in enumerate(found.chosen.tolist())}
    a, b = place[Settings(A)], place[Settings(B)]
    charge = found.charged - found.expected
    votes = (1 - found.fate @ found.best) * 0.3  # of small spaces, for what was seldom among the best
    assert (charge - votes)[a] == pytest.approx(0.0, abs=1e-9)
    assert 0.2 * UNTRIED < (charge - votes)[b] < 0.8 * UNTRIED
