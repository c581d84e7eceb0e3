"""Weights are learned from what copying between problems cost."""

from dataclasses import replace

import numpy as np

from benchmarks.worlds.cost_tables import CostTable
from benchmarks.worlds.transfer_regret import draw, fit_without
from embeddings.encoder import ProblemEncoder
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.calibration.similarity import pair_row
from tests.unit.recommender.known_cases import problem, tree
from tools.fitting.fit_block_weights import fit_similarity

DEVICES = ("same", "near", "far", "foreign")


def with_size(device: str, size: int, noise: int) -> Problem:
    made = problem(device)
    shape = Settings({"size": size})
    return replace(
        made, workload=replace(made.workload, shape=shape, traits=Settings({"colour": f"c{noise}"}))
    )


def tables() -> list[CostTable]:
    """Tables whose best value depends on the size alone; devices and colours mean nothing."""
    rng = np.random.default_rng(0)
    made = []
    for at in range(120):
        size = 2 ** int(rng.integers(0, 8))
        costs = {
            Settings({"tile": 2**tile}): abs(np.log2(size) - tile) * 0.5 + float(rng.normal(0, 0.01))
            for tile in range(8)
        }
        made.append(CostTable("op", with_size(DEVICES[at % 4], size, at), costs))
    return made


def test_weights_go_to_what_decides() -> None:
    fit = fit_similarity(tables(), ProblemEncoder(tree(), None, BlockWeights()), tree().distance, "a test")
    assert fit is not None
    weights = fit.similarity.weights.as_dict()
    assert weights["shape"] > 1.5 * weights["traits"]
    assert all(fold["fitted"] <= fold["words"] + 1e-9 for fold in fit.folds)
    assert all(fold["least"] <= fold["fitted"] + 1e-9 for fold in fit.folds)
    near, far = (
        float(fit.similarity.cost.expect(pair_row(d, Distance.SIBLING, same_task=False))) for d in (0.1, 2.0)
    )
    assert far > near


def test_what_is_left_out_teaches_nothing() -> None:
    encoder = ProblemEncoder(tree(), None, BlockWeights())
    rng = np.random.default_rng(1)
    nonsense = [
        replace(table, group="other", costs=dict(zip(table.costs, rng.normal(0, 1, 8).tolist(), strict=True)))
        for table in tables()
    ]
    made = []
    for others in (
        nonsense,
        [replace(table, costs={k: -v for k, v in table.costs.items()}) for table in nonsense],
    ):
        sample = draw([*tables(), *others], encoder, np.random.default_rng(0))
        made.append(
            fit_without(
                [sample], lambda item: item.groups != "other", lambda item: item.source_groups != "other"
            )
        )
    assert made[0] == made[1]
    assert made[0].shape > 1.5 * made[0].traits


def test_too_little_teaches_nothing() -> None:
    encoder = ProblemEncoder(tree(), None, BlockWeights())
    assert fit_similarity(tables()[:20], encoder, tree().distance, "a test") is None
