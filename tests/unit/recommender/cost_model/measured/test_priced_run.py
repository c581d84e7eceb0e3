"""Measured runs as a log of a search keeps them."""

import json

import pytest

from kg.errors import InputError
from recommender.cost_model.measured.priced_run import PricedRun
from recommender.cost_model.measured.step_place import StepPlace

RUN = PricedRun(
    place=StepPlace(
        engine="vllm", device="b200", precision="fp8", lengths=(10.0, 8.0), layout=(1.0, 0.0, 0.0, 2.0), load=6.0
    ),
    group="p",
    log_ratio=-0.25,
)  # fmt: skip


def test_a_run_comes_back_from_json() -> None:
    assert PricedRun.from_json(json.loads(json.dumps(RUN.to_json()))) == RUN


@pytest.mark.parametrize("content", [{}, {**RUN.to_json(), "place": {"engine": "vllm"}}])
def test_what_is_no_run_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is missing"):
        PricedRun.from_json(content)
