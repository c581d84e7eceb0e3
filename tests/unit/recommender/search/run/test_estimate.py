"""The estimate of a search file orders the candidates before anything is measured."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.worlds.sweep_spaces import ESTIMATES
from kg.errors import InputError
from kg.nouns.entities import Better, Objective
from kg.nouns.values import Settings
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation, SourceTable
from recommender.search.run.estimate import SIMILARITY, CostEstimate, with_estimate
from recommender.search.run.source_tables import MOST_ROWS
from recommender.search.run.task_file import TaskFile, read_task_file
from recommender.search.run.task_reader import read_task
from recommender.space.space_file import read_space
from recommender.workspace.workspace import Workspace

PARAMETERS = {"tile": [16, 32, 64, 128, 256], "flags": ["-O2", "-O3"], "depth": [1, 2, 3, 4]}
SPACE = read_space({"parameters": PARAMETERS})
TIME = Objective(metric="kernel_time", better=Better.LOWER, unit="s")


def source_of(text: str, **sizes: float) -> dict[Settings, float]:
    table = CostEstimate.parse(text, SPACE, sizes).source(SPACE, np.random.default_rng(0))
    return dict(zip(table.configurations, table.costs.tolist(), strict=True))


def seconds(configuration: Settings) -> float:
    """Least at tile 64, depth 2 and -O3."""
    tile, depth = int(str(configuration["tile"])), int(str(configuration["depth"]))
    return (
        (1 + abs(math.log2(tile / 64)))
        * (1 + abs(depth - 2))
        * (2.0 if configuration["flags"] == "-O2" else 1.0)
    )


def needed(search: Search) -> int:
    """Evaluations until the least is found."""
    for count in range(1, 41):
        [asked] = search.ask()
        cost = seconds(asked.configuration)
        search.tell(Evaluation(configuration=asked.configuration, values=(cost,)), asked.number)
        if cost == 1.0:
            return count
    return 41


def file(**more: Any) -> dict[str, Any]:
    problem = {"op": "toy", "phase": "kernel", "shape": {"M": 64}, "hardware": "this processor"}
    return {
        "parameters": PARAMETERS,
        "problem": problem,
        "objectives": [{"metric": "kernel_time", "unit": "s", "better": "lower"}],
        **more,
    }


def test_costs_are_the_expression_over_parameters_and_sizes_best_first() -> None:
    found = source_of("M / min(tile, M) * (2 if flags == '-O2' else 1)", M=64)
    assert len(found) == 40
    assert list(found.values()) == sorted(found.values())
    for configuration, cost in found.items():
        tile = min(int(str(configuration["tile"])), 64)
        assert cost == 64 / tile * (2 if configuration["flags"] == "-O2" else 1)


def test_what_is_no_positive_number_says_nothing() -> None:
    assert {int(str(item["depth"])) for item in source_of("1 / (depth - 2)")} == {3, 4}
    with pytest.raises(InputError, match="nowhere a positive number"):
        source_of("0 * tile")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tile * width", "width"),
        ("open('x')", "not allowed"),
        ("tile +", "not an expression"),
        ("flags * tile", "no arithmetic with text"),
    ],
)
def test_a_wrong_estimate_is_said(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"estimate: .*{message}"):
        source_of(text)


def test_of_a_large_space_the_best_and_some_others_are_taken() -> None:
    space = read_space({"parameters": {"x": list(range(1, 5001))}})
    table = CostEstimate.parse("x", space, {}).source(space, np.random.default_rng(0))
    assert len(table.costs) == MOST_ROWS
    assert table.costs[:3].tolist() == [1, 2, 3]
    assert table.costs[-1] == 5000


def test_a_search_needs_fewer_evaluations_with_a_true_estimate_and_gets_over_a_false_one() -> None:
    def found(text: str | None, seed: int) -> int:
        tables = [CostEstimate.parse(text, SPACE, {}).source(SPACE, np.random.default_rng(0))] if text else []
        return needed(Search(space=SPACE, objectives=(TIME,), sources=tables, seed=seed))

    rough = "max(tile / 64, 64 / tile) * max(depth / 2, 2 / depth) * (1.5 if flags == '-O2' else 1)"
    cold = [found(None, seed) for seed in range(5)]
    assert max(found(rough, seed) for seed in range(5)) <= 3 < np.median(cold)
    assert max(found(f"1 / ({rough})", seed) for seed in range(5)) <= 40


def test_a_search_file_may_have_one_over_the_sizes_of_its_problem() -> None:
    task = read_task(TaskFile(file(estimate="M / tile"), name="toy"))
    assert task.estimate is not None
    assert dict(task.estimate.sizes) == {"M": 64.0}
    assert read_task(TaskFile(file(), name="toy")).estimate is None
    for wrong in (3, ["tile"], "N / tile"):
        with pytest.raises(InputError, match="estimate: "):
            read_task(TaskFile(file(estimate=wrong), name="toy"))


def test_a_prepared_search_starts_from_it_unless_it_is_cold(shipped: Workspace, tmp_path: Path) -> None:
    def names(*, cold: bool) -> list[str]:
        raw = file(estimate="M / tile")
        return [
            item.name
            for item in shipped.searches.prepare(TaskFile(raw, folder=tmp_path), base={}, cold=cold).sources
        ]

    assert "the file's estimate" in names(cold=False)
    assert names(cold=True) == []


def test_tables_that_are_trusted_more_take_its_place_and_others_give_way() -> None:
    def table(name: str, similarity: float) -> SourceTable:
        return SourceTable(name=name, similarity=similarity, configurations=[], costs=np.zeros(0))

    near, far, estimate = table("near", 0.7), table("far", 0.4), table("estimate", SIMILARITY)
    assert with_estimate([near, far], estimate) == [near]
    assert with_estimate([far], estimate) == [estimate]
    assert with_estimate([], estimate) == [estimate]


def test_the_shipped_search_of_the_matrix_product_has_the_estimate_of_its_sweep() -> None:
    content = read_task_file("matmul")
    task = read_task(content)
    assert content.raw["estimate"] == ESTIMATES["blocked_matmul"]
    assert task.estimate is not None
    assert dict(task.estimate.sizes) == {"M": 512.0, "N": 512.0, "K": 1024.0}
    best = task.estimate.source(task.space, np.random.default_rng(0)).configurations[0]
    assert best["flags"] == "-O3 -march=native"
    assert best["threads"] == 2
