"""The value of tuning before it is done: figures with interval and kind, silence where nothing is known."""

import math
from typing import Any

import pytest

from kg.errors import InputError, NoEvidenceError
from recommender.answers.benefit import Prediction, carbon_g
from recommender.workspace.workspace import Workspace

LLAMA: dict[str, Any] = {
    "model": "llama-2-7b",
    "phase": "training",
    "hardware": "ascend-910b1",
    "count": 8,
    "shape": {"seq_len": 4096},
    "current": {"tensor_model_parallel_size": 2, "use_distributed_optimizer": True},
}


def ask(workspace: Workspace, k: int = 8, *, intensity: float | None = None, **changes: Any) -> Prediction:
    problem, notes = workspace.problem({**LLAMA, **changes})
    return workspace.ask.predict(
        problem, k, server="atlas-800t-a2", intensity_g_per_kwh=intensity, notes=notes
    )


def test_every_figure_has_an_interval_and_a_kind(shipped: Workspace) -> None:
    found = ask(shipped, 30, intensity=500.0)
    assert found.now is not None
    for item in found.benefits:
        for told in (item.gain, item.memory, item.energy):
            if told is not None:
                assert 0 < told.low <= told.factor <= told.high
                assert told.kind
                assert told.reason
    modelled = [item for item in found.benefits if item.memory is not None]
    assert modelled
    assert all("modelled" in item.gain.kind for item in modelled if item.gain)


def test_carbon_is_energy_times_intensity(shipped: Workspace) -> None:
    found = ask(shipped, intensity=360.0)
    assert found.now is not None
    assert found.now.energy_per_unit_j is not None
    assert carbon_g(found.now, 360.0) == pytest.approx(found.now.energy_per_unit_j * 100)  # 1e6 / 3.6e6 * 360
    for item in found.benefits:
        if item.carbon_g is not None and item.energy is not None:
            expected, low, high = item.carbon_g
            assert low <= expected <= high
            total = found.now.energy_per_unit_j * 100
            assert expected == pytest.approx(total * (1 - item.energy.factor), abs=1e-3)


def test_without_an_intensity_there_is_no_carbon(shipped: Workspace) -> None:
    assert all(item.carbon_g is None for item in ask(shipped).benefits)
    assert ask(shipped).to_json()["now"]["carbon_g_per_million"] is None


def test_without_power_facts_energy_is_relative_and_there_is_no_carbon(shipped: Workspace) -> None:
    found = ask(shipped, hardware="ascend-910b3", intensity=500.0)
    assert found.now is not None
    assert found.now.energy_per_unit_j is None
    timed = [item for item in found.benefits if item.gain is not None]
    assert timed
    for item in found.benefits:
        assert item.carbon_g is None
        assert (item.energy is None) == (item.gain is None)
    assert {item.energy.reason for item in timed if item.energy} == {"power is taken as unchanged"}


def test_what_cannot_be_modelled_is_said_and_rests_on_what_is_known(shipped: Workspace) -> None:
    found = ask(shipped, hardware="ascend-310b4", phase="serving", count=1, current={})
    assert found.now is None
    assert any(note.startswith("not modelled: ") for note in found.notes)
    assert all(item.memory is None for item in found.benefits)
    assert all("modelled" not in item.gain.kind for item in found.benefits if item.gain)


def test_together_saves_no_more_time_than_the_parts(shipped: Workspace) -> None:
    found = ask(shipped, 20, model="qwen2.5-7b", hardware="ascend-910b3", current={})
    assert found.together is not None
    assert found.together.gain is not None
    parts = {item.title: item.gain for item in found.benefits}
    told = [parts[title] for title in found.together.rests_on]
    saved = sum(max(0.0, 1 - 1 / part.factor) for part in told if part is not None)
    assert 1 - 1 / found.together.gain.factor <= saved + 1e-9


def test_an_unknown_model_without_evidence_abstains(shipped: Workspace, empty_path: Any) -> None:
    from recommender.workspace.workspace import Workspace as Opened

    with Opened.open(empty_path, cache=empty_path.parent / "cache") as nothing:
        problem, _ = shipped.problem(LLAMA)
        with pytest.raises(NoEvidenceError):
            nothing.predict(problem)


@pytest.mark.parametrize("intensity", [-1.0, math.nan, math.inf, 1e6])
def test_an_intensity_that_no_grid_has_is_refused(shipped: Workspace, intensity: float) -> None:
    with pytest.raises(InputError, match="grid intensity"):
        ask(shipped, intensity=intensity)


def test_a_gain_in_time_per_token_is_no_throughput_and_saves_no_energy_by_itself(shipped: Workspace) -> None:
    serving: dict[str, Any] = {
        "model": "qwen3-8b", "phase": "serving", "hardware": "ascend-910b1", "count": 2,
        "objective": "tpot", "traits": {"concurrency": 1}, "shape": {"input_len": 1024}, "current": {},
    }  # fmt: skip
    found = ask(shipped, **serving)
    told = [item.to_json() for item in found.benefits if item.gain is not None]
    assert told
    assert all(item["gain_in"] == "tpot" and item["throughput"] is None for item in told)
    assert any(item["tpot"]["factor"] > 1.2 for item in told)
    for item in found.benefits:
        if item.energy is not None:
            assert item.energy.reason == "time and power of the cost model"
