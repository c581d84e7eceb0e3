"""The weight of a difference between two problems, and its cost."""

from dataclasses import fields, replace

import pytest

from embeddings.weights import BlockWeights
from kg.triples.hardware_tree import Distance
from recommender.calibration.similarity import FARTHEST, PARTS, Similarity, pair_row, part_of

BLOCKS = tuple(item.name for item in fields(BlockWeights))


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
