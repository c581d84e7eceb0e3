"""Optuna's own suite for samplers, run on ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("optuna")
suite = pytest.importorskip(
    "optuna.testing.pytest_samplers", reason="this Optuna ships no suite for samplers"
)

from recommender.search.bridges.optuna_sampler import SearchSampler  # noqa: E402

CASES: tuple[Any, ...] = (
    suite.BasicSamplerTestCase,
    suite.RelativeSamplerTestCase,
    suite.MultiObjectiveSamplerTestCase,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.long
class TestSearchSampler(*CASES):  # type: ignore[misc]
    """Every case that Optuna has for a sampler of relative spaces and several objectives."""

    @pytest.fixture
    def sampler(self) -> Callable[[], Any]:
        return SearchSampler
