"""Groups left out, choices made without them, and standard errors over them."""

import math

import numpy as np
import pytest

from benchmarks.protocols.groups import nested, standard_error


def test_a_choice_that_only_one_group_likes_is_not_made_for_it() -> None:
    losses = {
        "odd": {"one": [0.0, 0.0, 0.0], "two": [0.3, 0.3, 0.3]},
        "even": {"one": [0.2], "two": [0.1]},
        "plain": {"one": [0.2], "two": [0.1]},
    }
    result = nested(losses)
    assert result.chosen == "one"
    choice, loss = result.by_group["odd"]
    assert (choice, round(loss, 9)) == ("two", 0.3)
    assert result.inside == pytest.approx(0.4 / 5)
    assert result.outside == pytest.approx((0.9 + 0.2 + 0.2) / 5)


def test_without_another_group_nothing_is_chosen() -> None:
    with pytest.raises(ValueError, match="without the asked group"):
        nested({"alone": {1: [0.0]}})


def test_values_that_repeat_within_a_group_tell_no_more_than_one() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=50)
    once = standard_error(means.tolist(), [str(at) for at in range(50)])
    many = standard_error(np.repeat(means, 20).tolist(), [str(at) for at in range(50) for _ in range(20)])
    assert once == pytest.approx(means.std(ddof=1) / math.sqrt(50))
    assert many == pytest.approx(once)
    assert standard_error([1.0, 2.0], ["a", "a"]) is None
