"""Support counted from what a workspace knows."""

import pytest

from recommender.store.lists.support import ProgramSupport, SupportLevel, phases_of
from recommender.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("known", "level"),
    [
        ({"cases": 1, "recipes": 1, "is_modelled": True}, SupportLevel.MEASURED),
        ({"recipes": 1, "is_modelled": True, "is_read": True}, SupportLevel.RECIPE),
        ({"is_modelled": True, "is_read": True}, SupportLevel.MODELLED),
        ({"is_read": True}, SupportLevel.READ_ONLY),
        ({"settings": "1.0"}, SupportLevel.READ_ONLY),
        ({}, SupportLevel.UNKNOWN),
    ],
)
def test_the_best_that_is_known_is_the_level(known: dict[str, object], level: SupportLevel) -> None:
    row = ProgramSupport(program="p", phase="training", chip="c", **known)  # type: ignore[arg-type]
    assert row.level is level
    assert row.to_json()["level"] == str(level)


def test_phases_are_those_that_a_program_is_for() -> None:
    assert phases_of("deepspeed", {}) == ["training"]
    assert phases_of("lmdeploy", {}) == ["serving"]
    assert phases_of("torchrec", {}) == ["training"]
    assert phases_of("diffusers", {}) == ["training", "serving"]


def test_evidence_of_a_vendor_is_none_of_its_chips(shipped: Workspace) -> None:
    on_chip = {row.phase: row for row in shipped.knowledge.support("vllm-ascend", "ascend-310p3")}
    on_all = {row.phase: row for row in shipped.knowledge.support("vllm-ascend", "huawei")}
    assert on_chip["serving"].cases < on_all["serving"].cases
    assert on_chip["serving"].recipes <= on_all["serving"].recipes
