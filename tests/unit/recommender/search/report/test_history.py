"""Figures of a search and what each parameter contributed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from kg.errors import InputError, NoEvidenceError
from kg.nouns.entities import Better, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.search.report.contribution import ablation
from recommender.search.report.history import History
from recommender.search.report.point_cloud import course_points
from recommender.search.report.result import Estimates
from recommender.space.space_file import read_space

TIME = Objective(metric="kernel_time", better=Better.LOWER, unit="s")
RATE = Objective(metric="throughput", better=Better.HIGHER, unit="tokens/s")


def evaluated(*values: float | None, spread: float | None = None) -> tuple[Evaluation, ...]:
    """Evaluations of different configurations; None failed for want of memory."""
    return tuple(
        Evaluation(
            configuration=Settings({"n": place}),
            values=(value,),
            status=Status.OK if value is not None else Status.FAILED,
            reason="" if value is not None else "out of memory",
            stdev=None if spread is None or value is None else (spread * value,),
        )
        for place, value in enumerate(values)
    )


def test_figures_of_a_short_search() -> None:
    history = History(objective=TIME, evaluations=evaluated(None, 8.0, 4.0, 4.1, 2.09, 2.0, 3.0, spread=0.02))
    figures = history.figures()
    assert figures["evaluations"] == 7
    assert (figures["failed"], figures["out_of_memory"]) == (1, 1)
    assert figures["best"] == pytest.approx(2.0)
    assert figures["evaluations_to_95_percent"] == 5
    assert figures["since_gain"] == 1
    assert figures["regret"] == pytest.approx((3 + 1 + 1 + 0.045 + 0 + 0) / 6)
    assert figures["noise"] == pytest.approx(0.02)


def test_a_lucky_reading_is_not_the_best_once_it_was_measured_again() -> None:
    seen = evaluated(8.0, 2.0, 1.0, 1.1, 3.0)
    again = (
        *seen,
        replace(seen[2], values=(2.0,)),
        replace(seen[1], values=(1.8,)),
        replace(seen[2], values=(1.8,)),
    )
    history = History(objective=TIME, evaluations=again)
    figures = history.figures()
    assert figures["best"] == pytest.approx(1.6)  # the mean of 1.0, 2.0 and 1.8; 1.1 was read once
    assert math.exp(history.best_so_far[-1]) == pytest.approx(1.6)
    assert figures["since_gain"] == 2  # of new configurations, as the search itself counts
    assert figures["noise"] is not None
    assert course_points(history)["best"][-1] == [3, 1.6]


def test_time_to_near_the_best_is_known_only_where_each_was_timed() -> None:
    timed = [replace(item, cost_s=2.0) for item in evaluated(8.0, 4.0, 2.0, 3.0)]
    assert History(objective=TIME, evaluations=tuple(timed)).figures()["time_to_95_percent_s"] == 6.0
    timed[1] = replace(timed[1], cost_s=None)
    assert History(objective=TIME, evaluations=tuple(timed)).figures()["time_to_95_percent_s"] is None


def test_more_is_better_where_it_is() -> None:
    figures = History(objective=RATE, evaluations=evaluated(10.0, 96.0, 100.0)).figures()
    assert figures["evaluations_to_95_percent"] == 2
    assert figures["best"] == pytest.approx(100.0)


def test_what_breaks_a_limit_is_not_the_best() -> None:
    limit = Limit(metric="peak_memory", maximum=10.0, unit="B")
    evaluations = tuple(
        Evaluation(configuration=Settings({"n": n}), values=values)
        for n, values in enumerate([(5.0, 9.0), (1.0, 11.0), (2.0, None), (4.0, 10.0)])
    )
    figures = History(objective=TIME, evaluations=evaluations, limits=(limit,)).figures()
    assert figures["best"] == pytest.approx(4.0)
    assert figures["over_limits"] == 2


def test_a_search_without_a_success_has_no_figures() -> None:
    with pytest.raises(NoEvidenceError, match="none of 2 evaluations"):
        History(objective=TIME, evaluations=evaluated(None, None)).figures()


SPACE = read_space(
    {
        "parameters": {
            "a": [1, 2],
            "b": [1, 2],
            "c": {"values": [1, 2], "when": "b == 2"},
            "d": [1, 2, 3],
            "e": [1, 2, 3],
        },
        "constraints": ["d == e"],
    }
)


def cost(settings: Settings) -> tuple[float, bool]:
    """Known everywhere: changing a gains 3, b loses 1 alone and gains 2 with c, d and e go together."""
    numbers = dict(settings.numbers())
    total = 10.0 - 3 * (numbers["a"] - 1) - 0.5 * (numbers["d"] - 1)
    if numbers["b"] == 2:
        total += 1.0 if numbers["c"] == 1 else -2.0
    return total, True


def test_contributions_add_up_to_the_gain_and_respect_the_space() -> None:
    default = Settings({"a": 1, "b": 1, "d": 1, "e": 1})
    best = Settings({"a": 2, "b": 2, "c": 2, "d": 3, "e": 3})
    found = ablation(SPACE, default, best, cost)
    assert sum(item.log_gain for item in found) == pytest.approx(cost(default)[0] - cost(best)[0])
    assert [item.names for item in found] == [("a",), ("b", "c"), ("d", "e")]
    assert [item.log_gain for item in found] == pytest.approx([3.0, 2.0, 1.0])
    assert found[1].title == "b 1 -> 2, c absent -> 2"


def test_a_step_that_does_not_run_is_not_taken_alone() -> None:
    space = read_space({"parameters": {"a": [1, 2], "b": [1, 2]}})

    def broken(settings: Settings) -> tuple[float, bool]:
        table = {(1, 1): 5.0, (2, 1): math.inf, (1, 2): 6.0, (2, 2): 1.0}
        return table[int(settings["a"] or 0), int(settings["b"] or 0)], True  # type: ignore[arg-type]  # numbers

    found = ablation(space, Settings({"a": 1, "b": 1}), Settings({"a": 2, "b": 2}), broken)
    assert [(item.names, item.log_gain) for item in found] == [(("b",), -1.0), (("a",), 5.0)]


def test_contributions_need_a_default_that_runs() -> None:
    with pytest.raises(InputError, match="the default does not run"):
        ablation(SPACE, Settings({"a": 1}), Settings({"a": 2}), lambda _: (math.inf, True))


def test_estimates_know_what_was_evaluated_and_predict_the_rest() -> None:
    """A smooth function of two parameters on a grid of which every third point is kept back."""
    space = read_space({"parameters": {"x": list(range(8)), "y": list(range(8))}})
    points = [Settings({"x": x, "y": y}) for x in range(8) for y in range(8)]
    truth = np.array([0.3 * x + 0.02 * (y - 4) ** 2 for x in range(8) for y in range(8)])
    kept = [place for place in range(64) if place % 3]
    estimates = Estimates(space=space, configurations=[points[k] for k in kept], costs=truth[kept])
    assert estimates(points[1]) == (truth[1], True)
    errors = [abs(estimates(points[k])[0] - truth[k]) for k in range(0, 64, 3)]
    assert max(errors) < 0.1 * float(np.ptp(truth))
    few = Estimates(space=space, configurations=points[:3], costs=truth[:3])
    assert few(points[9]) == (math.inf, False)
