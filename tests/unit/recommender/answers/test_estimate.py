"""Estimates: one record a configuration, the same numbers for a server as for its device inside it."""

from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError
from recommender.workspace.workspace import Workspace

RAW: dict[str, object] = {"model": "qwen3-8b", "hardware": "ascend-910c", "count": 16}


def estimated(shipped: Workspace, raw: dict[str, object] = RAW, **more: Any) -> Any:
    return shipped.ask.estimate(raw, **{"phase": "serving", "server": "atlas-800i-a3", **more})


def test_every_combination_is_a_record(shipped: Workspace) -> None:
    found = estimated(
        shipped, settings={"input_len": 512}, axes={"batch": [1, 8], "precision": ["bf16", "int8"]}
    )
    told = [(item.settings["batch"], item.settings["precision"]) for item in found.steps]
    assert told == [(1, "bf16"), (1, "int8"), (8, "bf16"), (8, "int8")]
    assert {item.settings["input_len"] for item in found.steps} == {512}


def test_a_server_named_as_hardware_is_its_device_inside_it(shipped: Workspace) -> None:
    stated = estimated(shipped).to_json()
    assert stated["server"] == "atlas-800i-a3"
    assert stated == estimated(shipped, {**RAW, "hardware": "atlas-800i-a3"}, server="").to_json()
    assert estimated(shipped, {**RAW, "count": 1}, server="").to_json()["server"] is None


def test_a_setting_that_the_cost_model_lacks_is_noted(shipped: Workspace) -> None:
    found = estimated(shipped, {**RAW, "current": {"own_knob": 1}})
    assert "the cost model has no setting for own_knob" in found.notes


def test_an_unknown_phase_is_refused(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="no phase named 'dreaming'"):
        estimated(shipped, phase="dreaming")


def test_drafts_that_draft_nothing_are_refused(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="draft_method=mtp drafts tokens, speculative_tokens=0 none"):
        estimated(shipped, settings={"draft_method": "mtp", "speculative_tokens": 0})


def test_what_could_not_be_read_is_said_with_the_error(shipped: Workspace) -> None:
    with pytest.raises(InputError) as raised:
        estimated(shipped, {**RAW, "notes": ["run.sh: --nnodes is not set"]}, settings={"nosuch": 1})
    assert "run.sh: --nnodes is not set" in raised.value.__notes__


def test_an_estimate_says_what_it_rests_on_and_what_was_assumed(shipped: Workspace) -> None:
    found = estimated(shipped, {**RAW, "software": {"vllm-ascend": "0.11"}})
    rests, assumed = found.notes[-2:]
    assert rests.startswith("anchored on ")
    assert "measured steps of vllm-ascend" in rests
    assert " on ascend-910c; " in rests
    assert "; +-" in rests
    assert assumed.startswith("assumed: ")
    assert "input_len=1024 (2048: -" in assumed
    assert "traits.concurrency" in {fact.name for fact in found.assumed}
    stated = estimated(shipped, settings={"batch": 1, "input_len": 512})
    assert "input_len=" not in stated.notes[-1]
    assert {fact.name for fact in stated.assumed}.isdisjoint({"traits.concurrency", "shape.input_len"})


def test_three_runs_of_ones_own_move_the_estimate_of_their_system(shipped: Workspace, tmp_path: Path) -> None:
    raw = {**RAW, "software": {"vllm-ascend": "0.11"}, "precision": "bfloat16"}
    plain = estimated(shipped, raw, settings={"batch": 8, "tensor_parallel": 16})
    twice = 2e3 * plain.steps[0].results["tpot_s"]
    head = "model,hardware,server,count,engine,version,metric,unit,value,batch,tensor_parallel,graph"
    run = f"qwen3-8b,ascend-910c,atlas-800i-a3,16,vllm-ascend,0.11,tpot,ms,{twice},8,16,1"
    (tmp_path / "runs.csv").write_text("\n".join([head, run, run, run]) + "\n", encoding="utf-8")
    shipped.upkeep.calibrate_steps([tmp_path / "runs.csv"], tmp_path / "own")
    own = estimated(shipped, raw, settings={"batch": 8, "tensor_parallel": 16}, constants=tmp_path / "own")
    assert 1.7 < own.steps[0].results["tpot_s"] / plain.steps[0].results["tpot_s"] < 2.1
    assert "anchored on 3 measured steps of vllm-ascend on ascend-910c" in own.notes[-2]
    low, high = own.steps[0].time_interval_s
    before = plain.steps[0].time_interval_s
    assert high / low < before[1] / before[0]


def test_the_estimate_is_what_predictions_and_plans_start_from(shipped: Workspace) -> None:
    raw = {
        **RAW,
        "phase": "serving",
        "software": {"vllm-ascend": "0.11"},
        "current": {"batch": 8, "tensor_parallel": 16},
    }
    problem, _ = shipped.problem(raw)
    predicted = shipped.ask.predict(problem, server="atlas-800i-a3")
    record = estimated(shipped, raw).steps[0].to_json()
    assert predicted.now is not None
    assert predicted.now.throughput == pytest.approx(record["throughput"])
    assert (record["settings"]["batch"], record["settings"]["tensor_parallel"]) == (8, 16)


def test_a_release_that_nobody_told_widens_the_interval_around_the_newest(shipped: Workspace) -> None:
    """Engines schedule the next step ahead from some release on: before it the host is waited for."""
    asked: dict[str, object] = {"model": "qwen3-8b", "hardware": "a100-sxm4-80gb", "count": 1}

    def priced(software: dict[str, object]) -> Any:
        return shipped.ask.estimate(
            {**asked, "software": software}, phase="serving", settings={"concurrency": 1}
        )

    untold, newest = priced({"vllm": ""}), priced({"vllm": "0.33.0"})
    before = priced({"vllm": "0.7.2"}).steps[0].throughput
    assert untold.steps[0].throughput == newest.steps[0].throughput > before
    assert untold.steps[0].spread > newest.steps[0].spread
    assert "(<0.6: -" in untold.notes[-1]
    assert "<0.6" not in newest.notes[-1]
