"""Standard errors over groups."""

import math

import numpy as np
import pytest

from benchmarks.protocols.folds import standard_error


def test_values_that_repeat_within_a_group_tell_no_more_than_one() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=50)
    once = standard_error(means.tolist(), [str(at) for at in range(50)])
    many = standard_error(np.repeat(means, 20).tolist(), [str(at) for at in range(50) for _ in range(20)])
    assert once == pytest.approx(means.std(ddof=1) / math.sqrt(50))
    assert many == pytest.approx(once)
    assert standard_error([1.0, 2.0], ["a", "a"]) is None
