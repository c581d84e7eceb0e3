"""The points of a search as a page draws them."""

import numpy as np
import pytest

from kg.nouns.entities import Better, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.search.report.history import History
from recommender.search.report.point_cloud import (
    BEST_KEPT,
    MOST_POINTS,
    FrontRow,
    course_points,
    front_points,
)

TIME = Objective(metric="kernel_time", unit="s", better=Better.LOWER)
RATE = Objective(metric="throughput", unit=None, better=Better.HIGHER)


def history(values: list[float | None]) -> History:
    return History(
        objective=TIME,
        evaluations=tuple(
            Evaluation(
                configuration=Settings({"at": at}),
                values=(value,),
                status=Status.FAILED if value is None else Status.OK,
                reason="" if value is not None else "no",
            )
            for at, value in enumerate(values)
        ),
    )


def test_a_short_search_is_drawn_point_by_point() -> None:
    course = course_points(history([5.0, None, 2.0, 3.0]))
    assert course["points"] == [[1, pytest.approx(5)], [3, pytest.approx(2)], [4, pytest.approx(3)]]
    assert course["best"] == [[1, pytest.approx(5)], [3, pytest.approx(2)]]
    assert course["failed"] == [2]


def test_of_a_long_search_the_best_and_every_nth_are_kept() -> None:
    rng = np.random.default_rng(0)
    values = rng.lognormal(0, 1, 2 * MOST_POINTS).tolist()
    course = course_points(history(values))
    drawn = sorted(v for _, v in course["points"])
    assert drawn[:BEST_KEPT] == pytest.approx(sorted(values)[:BEST_KEPT], rel=1e-5)
    assert MOST_POINTS < len(drawn) < MOST_POINTS + BEST_KEPT


def rows(values: list[tuple[float, float]]) -> list[FrontRow]:
    return [
        FrontRow(values=pair, configuration=Settings({"at": at}), trials=(at,))
        for at, pair in enumerate(values)
    ]


def test_of_many_failures_a_few_hundred_are_drawn_and_all_are_counted() -> None:
    count = 4 * MOST_POINTS
    course = course_points(history([1.0, *[None] * count]))
    assert course["failed_count"] == count
    assert 50 <= len(course["failed"]) <= MOST_POINTS
    assert course["failed"][0] == 2
    few = course_points(history([1.0, *[None] * 60]))
    assert few["failed"] == list(range(2, 62))


def test_of_many_that_break_a_limit_a_few_hundred_are_drawn() -> None:
    count = 4 * MOST_POINTS
    limit = Limit(metric="peak_memory", maximum=1.0, unit="B")
    evaluations = tuple(
        Evaluation(configuration=Settings({"at": at}), values=(1.0 + at, 2.0 if at else 0.5))
        for at in range(count)
    )
    course = course_points(History(objective=TIME, evaluations=evaluations, limits=(limit,)))
    assert course["failed"] == []
    assert 50 <= len(course["over_limits"]) <= MOST_POINTS
    assert course["over_limits"][0] == 2


def test_the_front_is_what_no_other_beats() -> None:
    found = front_points(rows([(1, 10), (2, 30), (3, 20), (4, 40)]), (TIME, RATE))
    assert found["front"] == [0, 1, 3]
    assert found["configurations"]["1"] == {"set": "at=1", "trials": [1]}


def test_of_a_large_front_search_the_front_is_kept() -> None:
    rng = np.random.default_rng(1)
    values = list(
        zip(
            rng.lognormal(0, 1, 3 * MOST_POINTS).tolist(),
            rng.lognormal(0, 1, 3 * MOST_POINTS).tolist(),
            strict=True,
        )
    )
    found = front_points(rows(values), (TIME, RATE))
    assert len(found["points"]) < MOST_POINTS + BEST_KEPT + len(found["front"]) + 1
    beaten = [
        any(a <= x and b >= y and (a, b) != (x, y) for a, b in values) for x, y in (values[0], values[1])
    ]
    kept = {tuple(point) for point in found["points"]}
    for value, is_beaten in zip(values[:2], beaten, strict=True):
        assert is_beaten or tuple(float(f"{v:.6g}") for v in value) in kept
