"""Devices for a rate of requests."""

from typing import Any

import pytest

from kg.errors import InfeasibleError, InputError
from kg.nouns.situation import assumption_line
from recommender.answers.capacity import FAR_MORE, Capacity, CapacityRequest
from recommender.workspace.workspace import Workspace
from tests.samples.asked_once import asked_once

QUESTION: dict[str, Any] = {
    "model": "qwen3-8b", "phase": "serving", "hardware": "ascend-910b3", "count": 8,
    "shape": {"input_len": 1024, "output_len": 256}, "objective": "throughput",
}  # fmt: skip


@asked_once
def asked(shipped: Workspace, request: CapacityRequest, *limits: str, **more: object) -> Capacity:
    problem, notes = shipped.problem({**QUESTION, "limits": list(limits), **more})
    return shipped.ask.capacity(problem, request, notes=notes)


def test_more_requests_never_need_fewer_devices(shipped: Workspace) -> None:
    devices = [
        asked(shipped, CapacityRequest(rate_per_s=rate), "tpot<=80ms").options[0].devices
        for rate in (1, 40, 1000)
    ]
    assert devices == sorted(devices)
    assert devices[-1] > devices[0]


def test_the_rate_is_served_and_the_price_is_that_of_all_instances(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=40, price_per_hour=2.0), "tpot<=80ms")
    for item in found.options:
        assert item.rated.requests_per_s * item.fleet.instances >= 40
        tokens_per_hour = 40 * 256 * 3600
        assert item.price_per_million == pytest.approx(2.0 * item.devices / tokens_per_hour * 1e6)
        assert item.even_devices <= item.devices
    order = [(not item.is_likely, item.devices) for item in found.options]
    assert order == sorted(order)


def test_the_devices_for_a_rate_are_likely_to_serve_it(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=40))
    for item in found.options:
        assert 0.9 <= item.chance < 1
        assert item.even_devices <= item.devices <= FAR_MORE * found.options[0].devices
    many = asked(shipped, CapacityRequest(rate_per_s=400)).options[0]
    assert many.even_devices < many.devices
    fewer = asked(shipped, CapacityRequest(rate_per_s=40), software={"vllm-ascend": "nightly"})
    assert fewer.options[0].even_devices <= found.options[0].even_devices


def test_a_format_that_the_device_lacks_is_said(shipped: Workspace) -> None:
    assert any("in fp8" in note for note in asked(shipped, CapacityRequest(), precision="fp8").notes)
    plain = asked(shipped, CapacityRequest(), hardware="tesla-v100-sxm2-32gb", count=4)
    assert "weights in fp16" in assumption_line(plain.assumed)
    assert plain.options


def test_a_limit_on_late_first_tokens_counts_where_nothing_keeps_it(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=2), "ttft_p99<=1ms")
    assert not found.options
    assert found.nearest is not None
    assert found.nearest.chance < 0.5
    assert [item.metric for item in asked(shipped, CapacityRequest(), "ttft_p99<=1s").unchecked] == [
        "ttft_p99"
    ]


def test_deployments_without_a_rate_beat_none_of_each_other(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(), "tpot<=80ms").options
    assert len(found) > 2
    merits = [(item.rated.throughput / item.devices, -item.rated.tpot_s, -item.devices) for item in found]
    for one in merits:
        assert not any(
            other != one and all(a >= b for a, b in zip(other, one, strict=True)) for other in merits
        )
    assert len(set(merits)) == len(merits)
    assert found[0].to_json()["ttft_p99_s"] is None


def test_limits_that_nothing_keeps_name_what_comes_nearest(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=5), "tpot<=10us", "accuracy_loss<=1%")
    assert not found.options
    assert found.nearest is not None
    assert found.nearest.chance < 0.5
    assert [item.metric for item in found.unchecked] == ["accuracy_loss"]


def test_what_cannot_be_sized_is_refused(shipped: Workspace) -> None:
    with pytest.raises(InputError, match="serving a model"):
        asked(shipped, CapacityRequest(rate_per_s=1), phase="training")
    with pytest.raises(InputError, match="token by token, bge-m3 answers in one pass"):
        asked(shipped, CapacityRequest(rate_per_s=1), model="bge-m3")
    with pytest.raises(InfeasibleError, match="does not fit on 1 x") as fault:
        asked(shipped, CapacityRequest(rate_per_s=1), model="deepseek-r1", count=1)
    assert "devices; --count" in (fault.value.hint or "")


def test_lengths_that_are_not_stated_are_assumed_and_said(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=1), shape={"input_len": 10})
    assert "answers of 128 tokens" in assumption_line(found.assumed)
    stated = asked(shipped, CapacityRequest(rate_per_s=1), shape={"input_len": 10, "output_len": 128})
    assert stated.options == found.options


def test_an_instance_grows_to_what_holds_the_model_in_the_format_of_its_weights(shipped: Workspace) -> None:
    """Lengths may be traits; sixteen devices hold what eight do not, and only in eight bit."""
    large: dict[str, Any] = {"model": "deepseek-r1", "hardware": "h100-sxm", "shape": {}, "count": None}
    large["traits"] = {"input_len": 1024, "output_len": 256}
    found = asked(shipped, CapacityRequest(rate_per_s=1.0), **large)
    assert found.options[0].rated.deployment.layout.devices == 16
    assert "weights in fp8" in assumption_line(found.assumed)
    with pytest.raises(InfeasibleError, match="does not fit on 8 x h100-sxm"):
        asked(shipped, CapacityRequest(rate_per_s=1.0), **{**large, "count": 8})


@pytest.mark.long
def test_prefill_and_decode_apart_each_have_the_instances_that_the_rate_needs(shipped: Workspace) -> None:
    """No prefill stalls a token: tokens come faster than from instances that do both."""
    traits = {"traits": {"disaggregated": True}}
    request = CapacityRequest(rate_per_s=40, price_per_hour=2.0)
    found = asked(shipped, request, "tpot<=60ms", "ttft<=2s", **traits)
    assert found.options
    for item in found.options:
        ahead = item.prefill
        assert ahead is not None
        assert (ahead.rated.deployment.role, item.rated.deployment.role) == ("prefill", "decode")
        assert ahead.rated.requests_per_s * ahead.instances >= 40
        assert item.rated.requests_per_s * item.fleet.instances >= 40
        assert item.devices == ahead.devices + item.fleet.devices
        assert item.times["tpot"] <= 0.06
        assert item.times["ttft"] == pytest.approx(ahead.times()["ttft"] + item.fleet.times()["ttft"])
        assert item.to_json()["prefill"]["instances"] == ahead.instances
        price = 2.0 * item.devices / (40 * 256 * 3600) * 1e6
        assert item.price_per_million == pytest.approx(price)
    both = asked(shipped, request, "tpot<=60ms", "ttft<=2s")
    alike = {item.rated.deployment.layout: item.rated.tpot_s for item in both.options}
    layouts = [item.rated for item in found.options if item.rated.deployment.layout in alike]
    assert all(one.tpot_s < 0.06 for one in layouts)
    assert asked(shipped, request, "tpot<=1us", **traits).options == ()


def test_a_service_that_only_prefills_has_no_instances_that_decode(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=10), phase="prefill", shape={"input_len": 1024})
    for item in found.options:
        assert item.prefill is None
        assert item.rated.deployment.role == "prefill"
        assert item.rated.tpot_s == 0
        assert item.rated.throughput == pytest.approx(1024 * item.rated.requests_per_s)


def test_a_limit_on_the_first_token_is_kept_by_those_that_prefill(shipped: Workspace) -> None:
    traits = {"traits": {"disaggregated": True}}
    request = CapacityRequest(rate_per_s=40)
    loose, tight = (asked(shipped, request, f"ttft<={limit}", **traits) for limit in ("5s", "300ms"))
    first, second = (found.options[0].prefill for found in (loose, tight))
    assert first is not None
    assert second is not None
    assert second.devices >= first.devices


def test_a_printed_answer_has_a_row_for_each_deployment(shipped: Workspace) -> None:
    found = asked(shipped, CapacityRequest(rate_per_s=40), "tpot<=60ms")
    shown = str(found)
    assert len(shown.splitlines()) == len(found.options)
    first = found.options[0]
    assert f"{first.fleet.instances} x {first.rated.deployment.framework}" in shown
    assert f"{1e3 * first.rated.tpot_s:.3g} ms" in shown


def test_links_that_hosts_differ_in_are_told_of_where_an_instance_has_them(shipped: Workspace) -> None:
    cards = {"model": "llama-3.1-70b", "hardware": "a100-pcie-80gb", "count": 4}
    assert any("PCIe alone" in note for note in asked(shipped, CapacityRequest(), **cards).notes)
    assert not any("PCIe alone" in note for note in asked(shipped, CapacityRequest()).notes)
