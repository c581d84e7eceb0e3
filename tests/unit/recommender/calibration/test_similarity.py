"""What a difference between two problems is worth, and what it cost."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from embeddings.encoder import ProblemEncoder
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance
from recommender.calibration.similarity import FARTHEST, PARTS, Similarity, pair_row, part_of
from recommender.calibration.similarity_fit import BLOCKS, CostTable, draw, fit_similarity, fit_without
from tests.unit.recommender.known_cases import problem, tree

DEVICES = ("same", "near", "far", "foreign")


def with_size(device: str, size: int, noise: int) -> Problem:
    made = problem(device)
    shape = Settings({"size": size})
    return replace(
        made, workload=replace(made.workload, shape=shape, traits=Settings({"colour": f"c{noise}"}))
    )


def tables() -> list[CostTable]:
    """What is best depends on the size alone; devices and colours mean nothing."""
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
    assert fit.helps
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


def test_weights_without_a_group_come_back_from_a_file_and_others_are_the_usual() -> None:
    own = replace(Similarity.shipped(), without={"devices 3": BlockWeights(shape=2.0)})
    back = Similarity.from_json(own.to_json())
    assert back.left_out("devices 3") == BlockWeights(shape=2.0)
    assert back.left_out("devices 4") == back.weights


def test_what_ships_was_learned_without_each_part_of_the_devices() -> None:
    shipped = Similarity.shipped()
    parts = {part_of(f"device {number}") for number in range(100)}
    assert len(parts) == PARTS
    assert all(shipped.left_out(name) != shipped.weights for name in parts)


def test_too_little_teaches_nothing() -> None:
    encoder = ProblemEncoder(tree(), None, BlockWeights())
    assert fit_similarity(tables()[:20], encoder, tree().distance, "a test") is None


def test_what_ships_has_a_weight_for_each_block_and_costs_more_farther() -> None:
    shipped = Similarity.shipped()
    assert set(shipped.weights.as_dict()) == set(BLOCKS)
    costs = [
        float(shipped.cost.expect(pair_row(d, Distance.OTHER_VENDOR, same_task=False)))
        for d in (0.0, 1.0, 2.0, 9.0)
    ]
    assert costs == sorted(costs)
    assert costs[-1] == float(shipped.cost.expect(pair_row(FARTHEST, Distance.OTHER_VENDOR, same_task=False)))
    by_device = [float(shipped.cost.expect(pair_row(0.5, d, same_task=True))) for d in Distance]
    assert by_device == sorted(by_device)


def test_scales_turn_distances_of_one_weighting_into_those_of_another() -> None:
    own = replace(Similarity.shipped(), weights=BlockWeights(shape=3.0))
    scales = own.scales(BlockWeights(shape=1.5))
    assert scales[BLOCKS.index("shape")] == pytest.approx(4.0)
    assert scales[BLOCKS.index("tree")] == pytest.approx(1.0)


def test_it_comes_back_from_a_file_and_a_damaged_one_gives_the_shipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "similarity.json"
    own = replace(Similarity.shipped(), weights=BlockWeights(shape=3.0), origin="own")
    path.write_text(json.dumps(own.to_json()))
    assert Similarity.load(path).weights == own.weights
    path.write_text("[1")
    assert Similarity.load(path).origin == Similarity.shipped().origin
    assert "calibrate --retrieval" in caplog.text
