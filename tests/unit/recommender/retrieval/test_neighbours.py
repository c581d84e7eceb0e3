"""Sources of a question, the most telling first."""

from collections import Counter
from pathlib import Path

import numpy as np

from embeddings.encoder import ProblemEncoder
from embeddings.index import ProblemIndex
from kg.nouns.entities import Problem
from kg.rows.copies import mark_copied_devices
from kg.triples.hardware_tree import Distance
from recommender.retrieval.neighbours import Neighbour, Retriever, _Candidate, _spread
from tests.unit.recommender.known_cases import neighbour, problem, store, tree, trial

ROWS = [trial({"x": 1}, 1.0), trial({"x": 2}, 2.0)]


def found(folder: Path, known: list[Problem], asked: Problem, **options: object) -> list[Neighbour]:
    hardware = tree()
    encoder = ProblemEncoder(hardware, None)
    with store(folder, dict.fromkeys(known, ROWS)) as trials:
        index = ProblemIndex(trials.file, folder, encoder.dimension, encoder.hash)
        keys = np.array([trials.problem_key(item.id) for item in known], np.int64)
        index.table.append(keys, 1, encoder.encode(known))
        return Retriever(trials, index, encoder, hardware).find(asked, **options)  # type: ignore[arg-type]


def test_the_same_task_comes_first_and_nearer_hardware_before_farther(tmp_path: Path) -> None:
    known = [problem("foreign"), problem("far"), problem("near"), problem("near", size=4096)]
    result = found(tmp_path, known, problem())
    assert [(item.problem.hardware, item.same_task) for item in result] == [
        ("near", True),
        ("far", True),
        ("foreign", True),
        ("near", False),
    ]
    assert [item.device for item in result][:3] == [
        Distance.SAME_ARCHITECTURE,
        Distance.SAME_VENDOR,
        Distance.OTHER_VENDOR,
    ]


def test_a_problem_that_must_not_answer_does_not(tmp_path: Path) -> None:
    known = [problem("near"), problem("far")]
    result = found(tmp_path, known, problem(), exclude=lambda row: row.hardware == "near")
    assert [item.problem.hardware for item in result] == ["far"]


def test_one_device_does_not_crowd_out_the_others(tmp_path: Path) -> None:
    known = [problem("near", size=2**place) for place in range(1, 30)] + [problem("far", size=2**40)]
    result = found(tmp_path, known, problem(size=2**9 + 1), most=20)
    assert len(result) == 20
    assert "far" in {item.problem.hardware for item in result}
    assert len({item.problem.id for item in result}) == 20


def test_copies_of_a_device_crowd_out_no_more_than_it_does(tmp_path: Path) -> None:
    """Two devices have every table alike to the last digit: together they take the places of one."""
    known = {problem(device, size=2**place): ROWS for device in ("near", "same") for place in range(1, 12)}
    known |= {problem("far", size=2**place): ROWS[:1] for place in range(20, 32)}
    with store(tmp_path, known) as trials:
        mark_copied_devices(trials, trials.operators())
        asked = problem("near", size=3)
        items = [neighbour(trials, about, asked, apart=1.0 + place) for place, about in enumerate(known)]
    taken = _spread(
        [_Candidate(one.problem, one.apart, one.same_task, one.same_count, one.device) for one in items], 16
    )
    devices = Counter(item.problem.measured_on for item in taken)
    assert devices["far"] == 4
    assert sum(devices.values()) == 16


def test_the_very_same_problem_is_at_no_distance(tmp_path: Path) -> None:
    first = found(tmp_path, [problem("same"), problem("near")], problem())[0]
    assert (first.device, first.apart, first.same_task) == (Distance.SAME_DEVICE, 0.0, True)
