"""Configuration and start chosen together: each option with its own duration, energy and hour."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from kg.errors import InfeasibleError, MissingFactError
from recommender.answers.answer import Answer
from recommender.answers.carbon_choice import MOST_COST, CarbonChoice, choose_for_carbon
from recommender.green.outlook import GridOutlook
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.green.grids import START

DIRTY_THEN_CLEAN = GridOutlook(
    g_per_kwh=np.concatenate([np.full(24, 500.0), np.full(100, 100.0)]), variation=0.3, basis="own history"
)


def answered(workspace: Workspace, device: str) -> Answer:
    problem, _ = workspace.problem(
        {"model": "llama2-7b", "hardware": device, "count": 8, "phase": "training", "objective": "carbon"}
    )
    return workspace.recommend(problem, 3)


def choice(
    workspace: Workspace, answer: Answer, seen: GridOutlook = DIRTY_THEN_CLEAN, **more: Any
) -> CarbonChoice:
    hours = more.pop("hours", 48.0)
    return choose_for_carbon(
        answer,
        workspace.hardware,
        seen,
        now=START,
        deadline=START + timedelta(hours=hours),
        duration_s=8 * 3600,
        region="XX",
        **more,
    )


@pytest.fixture(scope="module")
def gpu(shipped: Workspace) -> Answer:
    return answered(shipped, "a100-sxm4-80gb")


def test_the_clean_hours_and_a_lower_clock_together(gpu: Answer, shipped: Workspace) -> None:
    found = choice(shipped, gpu)
    best = found.options[0]
    assert best.clock < 1
    assert best.plan.start >= START + timedelta(hours=11)
    assert best.carbon_g == min(item.carbon_g for item in found.options)
    assert best.effects.log_carbon == pytest.approx(best.effects.log_energy + best.effects.log_intensity)
    assert best.effects.log_energy < 0
    assert best.effects.log_intensity < 0
    assert all(item.cost <= MOST_COST for item in found.options)
    assert str(best.tier) == "modelled"
    assert best.to_json()["configuration"] == best.name


def test_a_limit_on_power_refuses_and_says_so(gpu: Answer, shipped: Workspace) -> None:
    free = choice(shipped, gpu)
    limit = min(item.power_w for item in free.options) + 1
    tight = choice(shipped, gpu, power_limit_w=limit)
    assert all(item.power_w <= limit for item in tight.options)
    assert any("draws" in why for _, why in tight.refused)
    capped = [item for item in choice(shipped, gpu, power_limit_w=320.0).options if item.cap_w == 320.0]
    assert capped
    assert all(item.clock < 1 and item.power_w < 320 and item.effects.log_energy < 0 for item in capped)
    with pytest.raises(InfeasibleError, match="no configuration meets"):
        choice(shipped, gpu, power_limit_w=1.0)


def test_a_deadline_refuses_what_takes_too_long(gpu: Answer, shipped: Workspace) -> None:
    found = choice(shipped, gpu, hours=8.1)
    slow = [item.name for item in found.options if item.clock < 0.97]
    assert not any(
        name.startswith("start, ") for name in slow
    )  # a faster layout leaves room for a lower clock
    assert any("does not fit" in why for _, why in found.refused)


def test_without_a_forecast_there_is_no_choice(gpu: Answer, shipped: Workspace) -> None:
    nothing = GridOutlook(
        g_per_kwh=np.empty(0), variation=0.0, basis="no series of this region has been imported"
    )
    with pytest.raises(MissingFactError, match="no series"):
        choice(shipped, gpu, nothing)


def test_users_of_ascend_devices_cannot_set_the_clock(shipped: Workspace) -> None:
    found = choice(shipped, answered(shipped, "ascend-910b1"))
    assert {item.clock for item in found.options} == {1.0}
    assert any("no curve of energy over the clock" in note for note in found.notes)
    assert str(found.options[0].tier) == "modelled"
