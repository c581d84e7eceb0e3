"""Weights of the experts, and the file that they ship in."""

import copy
from typing import Any

import numpy as np
import pytest

from kg.errors import WorkspaceError
from kg.triples.hardware_tree import Distance
from recommender.calibration.mixture import COPYING, EXPERTS, EvidenceClass, ExpertMixture, listed
from recommender.ranking.cases.experts import program

HERE = EvidenceClass(Distance.SAME_VENDOR, dense=True)
POPULAR = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.5, 0.0))


def mixture() -> ExpertMixture:
    return ExpertMixture(weights={HERE: POPULAR}, without={"a100": {}}, opinions="now", origin="a test")


def test_a_file_says_the_same_weights_again() -> None:
    again = ExpertMixture.from_json(mixture().to_json(), "now")
    assert again == mixture()
    assert again.hash == mixture().hash


def test_a_device_that_was_left_out_has_weights_of_its_own() -> None:
    assert mixture().left_out("a100") == {}
    assert mixture().left_out("h100") == mixture().weights


def test_weights_for_other_opinions_are_refused() -> None:
    with pytest.raises(ValueError, match="of opinions now, the program's are later"):
        ExpertMixture.from_json(mixture().to_json(), "later")


def test_a_changed_weight_does_not_fit_its_hash() -> None:
    content: dict[str, Any] = copy.deepcopy(mixture().to_json())
    content["weights"][str(HERE)][0][0] = 0.5
    with pytest.raises(ValueError, match="says hash"):
        ExpertMixture.from_json(content, "now")


@pytest.mark.parametrize(
    "weights", [{"nowhere": [[0, 0, 0]] * 3}, {str(HERE): [[0, 0]] * 3}, {str(HERE): [[0, -1, 0]] * 3}, [1]]
)
def test_what_is_no_weight_is_refused(weights: object) -> None:
    with pytest.raises(TypeError, match="weights"):
        ExpertMixture.from_json({**mixture().to_json(), "weights": weights}, "now")


def test_what_ships_fits_the_program_and_no_other() -> None:
    assert ExpertMixture.shipped(program()).weights
    with pytest.raises(WorkspaceError, match="the program's are other") as caught:
        ExpertMixture.shipped("other")
    assert "fit_ranking" in caught.value.hint


def test_without_weights_the_nearest_case_is_copied_and_equals_keep_their_order() -> None:
    costs = np.array([[0.2, 0.0, 0.1, 0.1], *([[1.0, 1.0, 0.0, 0.0]] * len(EXPERTS))])
    assert listed(costs, COPYING, 4) == [1, 2, 3, 0]
    assert listed(costs, COPYING, 9) == [1, 2, 3, 0]


def test_each_place_has_its_own_weights() -> None:
    costs = np.array([[0.0, 0.1, 0.2], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert listed(costs, POPULAR, 3) == [2, 0, 1]
