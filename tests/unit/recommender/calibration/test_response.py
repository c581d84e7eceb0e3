"""A learned response answers for tasks and devices that were never measured."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from kg.rows.trial_rows import Trial
from recommender.calibration.response import ResponseModels, fit
from tests.unit.recommender.known_cases import problem, store, tree, trial

pytestmark = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn comes with the extra learn"
)

TILES = (1, 2, 4, 8, 16, 32, 64, 128)


def best_tile(size: int) -> float:
    return float(np.sqrt(size))


def rows(size: int) -> list[Trial]:
    """The best tile grows with the square root of the size; backend b is half as fast."""
    return [
        trial({"tile": tile, "backend": backend}, cost * (2 if backend == "b" else 1))
        for tile in TILES
        for backend in ("a", "b")
        for cost in [float(np.exp(abs(np.log2(tile / best_tile(size)))))]
    ]


def trained(folder: Path) -> ResponseModels:
    known = {
        problem(device, size): rows(size) for device in ("near", "far") for size in (16, 256, 1024, 4096)
    }
    with store(folder, known) as trials:
        keyed: dict[int, Problem] = {}
        for item in known:
            key = trials.problem_key(item.id)
            assert key is not None
            keyed[key] = item
        return ResponseModels.train(keyed, trials, tree().facts)


def test_it_answers_for_a_size_between_those_it_knows(tmp_path: Path) -> None:
    models = trained(tmp_path)
    asked = problem("same", 256)
    model = models.of(asked)
    assert model is not None
    candidates = [Settings({"tile": tile, "backend": "a"}) for tile in TILES]
    answer = model.predict(asked, candidates, ["same", "near"], tree().facts)
    assert answer.shape == (2, len(TILES))
    assert {TILES[place] for place in answer.argmin(axis=1)} == {16}
    given = model.predict(asked, candidates, ["same"], tree().facts, words_given=True)
    assert TILES[int(given[0].argmin())] == 16


def test_a_word_costs_what_it_cost(tmp_path: Path) -> None:
    model = trained(tmp_path).of(problem())
    assert model is not None
    pair = [Settings({"tile": 32, "backend": name}) for name in ("a", "b")]
    a, b = model.predict(problem(), pair, ["near"], tree().facts)[0]
    assert b - a == pytest.approx(np.log(2), abs=0.15)


def test_models_survive_the_file(tmp_path: Path) -> None:
    models = trained(tmp_path)
    models.save(tmp_path / "learned")
    again = ResponseModels.load(tmp_path / "learned").of(problem())
    model = models.of(problem())
    assert model is not None
    assert again is not None
    assert again.devices == ("far", "near")
    candidates = [Settings({"tile": tile, "backend": "b"}) for tile in TILES]
    np.testing.assert_array_equal(
        again.predict(problem(), candidates, ["same"], tree().facts),
        model.predict(problem(), candidates, ["same"], tree().facts),
    )


def test_too_little_is_not_learned_from_and_no_file_is_no_model(tmp_path: Path) -> None:
    with store(tmp_path, {problem("near"): rows(16)[:4]}) as trials:
        assert ResponseModels.train({1: problem("near")}, trials, tree().facts).of(problem()) is None
    assert ResponseModels.load(tmp_path / "nothing").of(problem()) is None


def test_no_more_problems_are_read_than_are_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recommender.calibration.response.MOST_ROWS", 100)
    known = {problem("near", 2**place): rows(2**place) for place in range(20)}
    read = 0
    with store(tmp_path, known) as trials:

        def counted() -> Iterator[tuple[Problem, int]]:
            nonlocal read
            for item in known:
                read += 1
                yield item, trials.problem_key(item.id) or 0

        model = fit(counted(), trials, tree().facts)
    assert model is not None
    assert read == 7  # of 16 rows each
