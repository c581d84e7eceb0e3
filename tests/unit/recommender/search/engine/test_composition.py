"""A model of parts: searched by parts it needs fewer evaluations than as a whole."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation, SourceTable
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.parts import SearchPart, subspace
from recommender.space.space import SearchSpace

TIME = Objective(metric="time", better=Better.LOWER, unit="s")
SPACE = SearchSpace(
    parameters=tuple(
        Parameter(name=name, kind=ParameterKind.ORDINAL, values=tuple(range(10)))
        for name in ("a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2", "c3")
    ),
    constraints=(Constraint(expression="a1 + a2 <= 15"), Constraint(expression="a1 + b1 <= 16")),
)
BEST = {"a": (7, 3, 6), "b": (2, 8, 4), "c": (5, 5, 9)}
OWN = {letter: {f"{letter}{k}" for k in (1, 2, 3)} for letter in "abc"}
PARTS = tuple(
    SearchPart(name=n, space=subspace(SPACE, own), metrics=(f"{n}_time",)) for n, own in OWN.items()
)


def best_settings() -> dict[str, int]:
    return {f"{n}{k}": at for n, place in BEST.items() for k, at in enumerate(place, 1)}


def times(settings: Settings, best: Mapping[str, tuple[int, ...]] = BEST) -> tuple[float, ...]:
    return tuple(
        math.exp(0.03 * sum((float(str(settings[f"{n}{k}"])) - at) ** 2 for k, at in enumerate(place, 1)))
        for n, place in best.items()
    )


def told(settings: Settings, *, fails: bool = False) -> Evaluation:
    if fails:
        return Evaluation(configuration=settings, values=(None,), status=Status.FAILED, reason="no")
    parts = times(settings)
    return Evaluation(configuration=settings, values=(sum(parts),), parts=parts)


def course(seed: int, *, parts: bool, count: int = 40) -> list[float]:
    search = Search(space=SPACE, objectives=(TIME,), seed=seed, parts=PARTS if parts else ())
    found = []
    for _ in range(count):
        [asked] = search.ask()
        assert SPACE.violated(asked.configuration) is None
        result = told(asked.configuration)
        search.tell(result, asked.number)
        found.append(result.values[0] or math.inf)
    assert len({item.configuration for item in search.evaluations}) == count
    return found


@pytest.mark.long
def test_parts_reach_further_than_the_whole_at_once() -> None:
    by_parts = [min(course(seed, parts=True)) for seed in range(3)]
    at_once = [min(course(seed, parts=False)) for seed in range(3)]
    assert np.mean(by_parts) < np.mean(at_once)
    assert np.mean(by_parts) < 1.1 * sum(times(Settings(best_settings())))


def test_the_best_of_the_parts_are_tried_together() -> None:
    search = Search(space=SPACE, objectives=(TIME,), seed=0, parts=PARTS)
    best, middle = best_settings(), dict.fromkeys(best_settings(), 0)
    for good in "abc":
        search.tell(told(Settings({k: best[k] if k[0] == good else v for k, v in middle.items()})))
    search.tell(told(Settings({**middle, "a1": 1})))
    [asked] = search.ask()
    assert asked.origin == "parts"
    assert asked.configuration == Settings(best)


def test_a_failure_is_not_laid_to_parts_that_ran() -> None:
    search = Search(space=SPACE, objectives=(TIME,), seed=0, parts=PARTS)
    good = dict.fromkeys(best_settings(), 3)
    for k in range(4):
        search.tell(told(Settings({**good, "a3": k, "b3": k, "c3": k})))
    for k in range(4, 8):  # part a is new and fails, b and c have run before
        search.tell(told(Settings({**good, "a3": k, "b3": 1, "c3": 1}), fails=True))
    assert search._parts is not None
    failed = [
        sum(not item.ok for item in cast("Search", side.search).evaluations) for side in search._parts._sides
    ]
    assert failed == [4, 0, 0]


def test_settings_that_break_a_limit_are_left_behind() -> None:
    limit = Limit(metric="peak_memory", maximum=5.0, unit="B")
    search = Search(space=SPACE, objectives=(TIME,), limits=(limit,), seed=0, parts=PARTS)
    broken = []
    for _ in range(40):
        [asked] = search.ask()
        result, memory = told(asked.configuration), float(str(asked.configuration["a1"]))
        kept = replace(result, values=(*result.values, memory))
        search.tell(kept, asked.number)
        broken.append(memory > limit.maximum)  # the best of part a, at a1 = 7, breaks it
    assert search.incumbent is not None
    assert search.incumbent.configuration["a1"] == 5
    assert sum(broken[20:]) <= 7


def test_a_batch_asks_for_different_settings_of_each_part() -> None:
    search = Search(space=SPACE, objectives=(TIME,), seed=1, parts=PARTS)
    for _ in range(6):
        [asked] = search.ask()
        search.tell(told(asked.configuration), asked.number)
    batch = search.ask(3)
    assert len({item.configuration for item in batch}) == 3
    for item in batch:  # what was taken for granted while they were asked is gone
        search.tell(told(item.configuration), item.number)
    assert search.ask()


def test_telling_a_new_search_continues_the_old_one() -> None:
    old = Search(space=SPACE, objectives=(TIME,), seed=4, parts=PARTS)
    for _ in range(12):
        [asked] = old.ask()
        old.tell(told(asked.configuration), asked.number)
    new = Search(space=SPACE, objectives=(TIME,), seed=4, parts=PARTS)
    for item in old.evaluations:
        new.tell(item)
    assert new.ask()[0].configuration == old.ask()[0].configuration


def test_shared_parameters_are_chosen_for_all_parts() -> None:
    space = SearchSpace(
        parameters=(
            *SPACE.parameters[:6],
            Parameter(name="mode", kind=ParameterKind.CATEGORICAL, values=("x", "y", "z")),
        )
    )
    parts = tuple(
        SearchPart(name=n, space=subspace(space, {*OWN[n], "mode"}), metrics=(n,)) for n in ("a", "b")
    )
    penalty = {"x": (2.0, 1.0), "y": (1.1, 1.1), "z": (1.0, 2.0)}

    def result(settings: Settings) -> Evaluation:
        both = times(settings, {n: BEST[n] for n in "ab"})
        costs = tuple(t * p for t, p in zip(both, penalty[str(settings["mode"])], strict=True))
        return Evaluation(configuration=settings, values=(sum(costs),), parts=costs)

    search = Search(space=space, objectives=(TIME,), seed=2, parts=parts)
    for _ in range(40):
        [asked] = search.ask()
        search.tell(result(asked.configuration), asked.number)
    assert search.incumbent is not None
    assert search.incumbent.configuration["mode"] == "y"
    assert (search.incumbent.values[0] or 0) < 2.5


def test_without_times_of_the_parts_the_whole_is_searched() -> None:
    search = Search(space=SPACE, objectives=(TIME,), seed=0, parts=PARTS)
    for _ in range(8):
        [asked] = search.ask()
        assert asked.origin != "parts"
        search.tell(Evaluation(configuration=asked.configuration, values=(1.0,)), asked.number)


def test_parts_are_of_one_objective() -> None:
    both = (TIME, Objective(metric="energy", better=Better.LOWER))
    with pytest.raises(InputError, match="one objective"):
        Search(space=SPACE, objectives=both, parts=PARTS)


def test_where_a_similar_problem_is_known_the_whole_goes_first() -> None:
    rng = np.random.default_rng(0)
    rows = SPACE.sample(rng, 60)
    source = SourceTable(
        name="other",
        similarity=0.9,
        configurations=rows,
        costs=np.array([sum(times(row)) for row in rows]),
    )
    search = Search(space=SPACE, objectives=(TIME,), seed=0, parts=PARTS, sources=[source])
    origins = []
    for _ in range(20):
        [asked] = search.ask()
        origins.append(asked.origin)
        search.tell(told(asked.configuration), asked.number)
    assert origins[0] == "source"
    assert "parts" not in origins[:6]
    assert "parts" in origins
