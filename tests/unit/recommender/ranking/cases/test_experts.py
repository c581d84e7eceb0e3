"""Opinions of the experts on candidates."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from kg.triples.hardware_tree import Distance
from recommender.calibration.mixture import EXPERTS, EvidenceClass
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.experts import WORST, opinions, situation_of, voices
from tests.unit.recommender.known_cases import neighbour, problem, store, trial


def gathered(folder: Path, known: Mapping[str, Sequence[Trial]]) -> CandidateEvidence:
    asked = problem()
    rows = {problem(name): trials for name, trials in known.items()}
    with store(folder, rows) as trials:
        near = [neighbour(trials, about, asked) for about in rows]
        return gather(near, CaseQuestion(), trials, ConfigurationReader(trials))


def said(evidence: CandidateEvidence) -> dict[int, dict[str, float]]:
    """By ``x`` of the candidate and expert."""
    table = opinions(evidence, np.arange(len(evidence.candidates)), voices(evidence), None)
    names = ("nearest", *EXPERTS)
    return {
        int(str(item["x"])): dict(zip(names, table[:, place].tolist(), strict=True))
        for place, item in enumerate(evidence.candidates)
    }


def rows(**costs: float) -> list[Trial]:
    return [trial({"x": int(name[1:])}, cost) for name, cost in costs.items()]


def test_the_nearest_case_takes_what_it_lacks_for_the_worst(tmp_path: Path) -> None:
    told = said(gathered(tmp_path, {"near": rows(x1=1.0, x2=2.0), "foreign": rows(x1=2.0, x4=1.0)}))
    assert told[1]["nearest"] == 0.0
    assert told[2]["nearest"] == pytest.approx(math.log(2.0))
    assert told[4]["nearest"] == WORST
    assert told[4]["modelled"] == WORST, "the nearest case stands in for a model"


def test_what_failed_in_the_nearest_case_is_the_worst(tmp_path: Path) -> None:
    known = {"near": [*rows(x1=1.0, x2=2.0), trial({"x": 4}, None)], "far": rows(x1=2.0, x4=1.0)}
    assert said(gathered(tmp_path, known))[4]["nearest"] == WORST


def test_popular_is_what_is_best_for_most_and_untried_what_few_have(tmp_path: Path) -> None:
    known = {"near": rows(x1=1.0, x2=1.5), "far": rows(x1=1.5, x2=1.0, x4=3.0)}
    told = said(gathered(tmp_path, known))
    shares = {"near": 2 / 3, "far": 1 / 3}  # one step of the tree lies between them
    assert told[1]["popular"] == pytest.approx(
        1 - shares["near"] - shares["far"] * math.exp(-math.log(1.5) / 0.1)
    )
    assert told[1]["untried"] == pytest.approx(0.0)
    assert told[4]["untried"] == pytest.approx(shares["near"])


def test_a_published_choice_is_popular_without_a_time(tmp_path: Path) -> None:
    evidence = gathered(tmp_path, {"near": [trial({"x": 8}, None, Kind.WINNER)]})
    told = said(evidence)
    assert told[8]["popular"] == pytest.approx(0.0)
    assert situation_of(evidence) is None


def test_a_situation_is_dense_where_sources_timed_the_same(tmp_path: Path) -> None:
    for name, far, dense in (
        ("a", rows(x1=1.0, x2=1.0), True),
        ("b", rows(x4=1.0, x8=1.0, x16=2.0, x32=1.0, x64=3.0), False),
    ):
        (tmp_path / name).mkdir()
        known = {"near": rows(x1=1.0, x2=2.0), "far": far, "foreign": rows(x1=1.0, x2=2.0)}
        evidence = gathered(tmp_path / name, known)
        assert situation_of(evidence) == EvidenceClass(Distance.SAME_ARCHITECTURE, dense)
    assert Settings({"x": 1}) in evidence.candidates
