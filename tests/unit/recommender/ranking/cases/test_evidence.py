"""Neighbours' rows side by side."""

from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Kind
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from tests.unit.recommender.known_cases import neighbour, problem, store, trial

A, B, C = {"x": 1, "fw": "p"}, {"x": 2, "fw": "p"}, {"x": 4, "fw": "q"}


def read(folder: Path, rows: list[Trial], question: CaseQuestion | None = None) -> CandidateEvidence:
    known = {problem("near"): rows}
    with store(folder, known) as trials:
        asked = problem()
        return gather(
            [neighbour(trials, about, asked) for about in known],
            question or CaseQuestion(),
            trials,
            ConfigurationReader(trials),
        )


def column(evidence: CandidateEvidence, configuration: dict[str, object]) -> int:
    return evidence.candidates.index(Settings(configuration))


def test_costs_become_log_ratios_to_the_best_of_the_source(tmp_path: Path) -> None:
    evidence = read(tmp_path, [trial(A, 2.0), trial(B, 1.0)])
    assert evidence.ratios[0, column(evidence, A)] == pytest.approx(np.log(2))
    assert evidence.ratios[0, column(evidence, B)] == 0


def test_a_failure_is_known_and_has_no_time(tmp_path: Path) -> None:
    evidence = read(tmp_path, [trial(A, 2.0), trial(B, None)])
    place = column(evidence, B)
    assert evidence.failed[0, place]
    assert np.isnan(evidence.ratios[0, place])


def test_a_winner_without_a_time_is_a_vote_and_no_gain(tmp_path: Path) -> None:
    evidence = read(tmp_path, [trial(A, None, Kind.WINNER)])
    assert evidence.votes[0, column(evidence, A)]
    assert not np.isfinite(evidence.ratios).any()
    assert not evidence.timed.any()


def test_a_claimed_number_is_no_evidence(tmp_path: Path) -> None:
    evidence = read(tmp_path, [trial(A, 1.0, Kind.CLAIMED), trial(B, 2.0)])
    assert np.isnan(evidence.ratios[0, column(evidence, A)])


def test_only_what_is_to_be_decided_is_told_apart(tmp_path: Path) -> None:
    rows = [trial({"x": 1, "y": 1}, 3.0), trial({"x": 1, "y": 2}, 2.0), trial({"x": 2, "y": 1}, 4.0)]
    evidence = read(tmp_path, rows, CaseQuestion(decide=("x",)))
    assert set(evidence.candidates) == {Settings({"x": 1}), Settings({"x": 2})}
    assert evidence.ratios[0, column(evidence, {"x": 2})] == pytest.approx(np.log(2))


def test_what_is_fixed_is_kept_and_others_answer_only_where_nobody_has_it(tmp_path: Path) -> None:
    question = CaseQuestion(fixed=Settings({"fw": "p"}), decide=("x",))
    evidence = read(tmp_path, [trial(A, 2.0), trial(B, 1.0), trial(C, 0.1)], question)
    assert not evidence.relaxed.any()
    assert np.isnan(evidence.ratios[0, column(evidence, {"x": 4, "fw": "p"})])
    (tmp_path / "2").mkdir()
    relaxed = read(tmp_path / "2", [trial(C, 1.0), trial({"x": 8, "fw": "q"}, 2.0)], question)
    assert relaxed.relaxed.all()
    assert {item["x"] for item in relaxed.candidates} == {4, 8}
    assert all(item["fw"] == "p" for item in relaxed.candidates)


def test_a_best_far_from_all_others_counts_once_it_is_measured_again(tmp_path: Path) -> None:
    rows = [trial({"x": size}, 1.0 + size / 100) for size in range(8)]
    lone: dict[str, object] = {"x": 9}
    for name in ("once", "twice", "near"):
        (tmp_path / name).mkdir()
    once = read(tmp_path / "once", [*rows, trial(lone, 0.01)])
    assert np.isnan(once.ratios[0, column(once, lone)])
    assert once.ratios[0, column(once, {"x": 0})] == 0
    twice = read(tmp_path / "twice", [*rows, trial(lone, 0.01), trial(lone, 0.011)])
    assert twice.ratios[0, column(twice, lone)] == 0
    near = read(tmp_path / "near", [*rows, trial(lone, 0.5)])
    assert near.ratios[0, column(near, lone)] == 0


def test_of_repeats_the_geometric_mean_counts(tmp_path: Path) -> None:
    """In the table of the question itself; in others the best of each."""
    rows = [trial(A, 0.5), trial(A, 0.6), trial(B, 3.0), trial(B, 4.0)]
    for at, (name, ratio) in enumerate((("same", np.log(12 / 0.3) / 2), ("near", np.log(3 / 0.5)))):
        (tmp_path / str(at)).mkdir()
        asked = problem()
        with store(tmp_path / str(at), {problem(name): rows}) as trials:
            near = neighbour(trials, problem(name), asked)
            evidence = gather([near], CaseQuestion(), trials, ConfigurationReader(trials))
        assert evidence.ratios[0, column(evidence, B)] == pytest.approx(ratio)
