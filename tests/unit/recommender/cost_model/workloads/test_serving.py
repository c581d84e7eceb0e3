"""Serving steps."""

from __future__ import annotations

import numpy as np
import pytest

from kg.errors import InputError
from recommender.cost_model.estimate import as_records, estimate
from recommender.cost_model.workloads.steps import Steps

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

A3 = ("ascend-910c", 16, "atlas-800i-a3")


def serve(
    *settings: Mapping[str, object], name: str = "qwen3-32b", place: tuple[str, int, str] = A3
) -> Steps:
    return estimate(model=model(name), machine=machine_of(*place), phase="serving", settings=list(settings))


def test_decode_streams_weights_and_grows_with_the_batch() -> None:
    steps = serve(*({"tp": 8, "dp": 2, "batch": b, "input_len": 2048} for b in (1, 16, 64)))
    assert np.all(np.diff(steps.time_s) > 0)
    assert np.all(np.diff(steps.throughput) > 0)
    weights = 2 * model("qwen3-32b").parameters / 8
    assert steps.time_s[0] > weights / 1.6e12


def test_serving_options_move_what_they_should() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 16, "input_len": 8192}
    plain, quantised, speculative, prefix, host, apart = (
        serve({**base, **one})
        for one in (
            {},
            {"precision": "int8"},
            {"speculative_tokens": 3},
            {"prefix_hit": 0.5},
            {"kv_host_share": 0.5},
            {"separation": "separate"},
        )
    )
    assert quantised.memory_bytes["weights"][0] < plain.memory_bytes["weights"][0]
    assert speculative.extra["tpot_s"][0] < plain.extra["tpot_s"][0]
    assert prefix.extra["ttft_s"][0] < plain.extra["ttft_s"][0]
    assert host.memory_bytes["kv_cache"][0] < plain.memory_bytes["kv_cache"][0]
    assert host.time_s[0] > plain.time_s[0]
    assert apart.extra["kv_transfer_s"][0] > 0
    assert apart.extra["tpot_s"][0] < plain.extra["tpot_s"][0]


def test_engines_that_prefill_do_not_decode() -> None:
    base: dict[str, object] = {"dp": 4, "batch": 16, "input_len": 8192, "output_len": 64}
    mixed, elsewhere, one, two, three = serve(
        base,
        {**base, "separation": "separate"},
        *({**base, "separation": "separate", "prefill_engines": n} for n in (1, 2, 3)),
    ).throughput
    assert max(one, two, three) < elsewhere  # prefill done elsewhere is free of cost here
    assert one < two < three  # a long prompt and a short answer: prefill sets the pace
    assert mixed < elsewhere
    for wrong in ({"prefill_engines": 1}, {"separation": "separate", "prefill_engines": 4}):
        with pytest.raises(InputError, match="engine"):
            serve({**base, **wrong})


def test_load_lengthens_the_tail() -> None:
    steps = serve(*({"tp": 16, "batch": 32, "request_rate": rate} for rate in (0.1, 1.0, 1e6)))
    p99 = steps.extra["ttft_p99_s"]
    assert p99[1] >= p99[0]
    assert np.isinf(p99[2])
    assert as_records(steps, [{}, {}, {}])[2]["ttft_p99_s"] is None


def test_a_latent_cache_is_small() -> None:
    latent, grouped = model("deepseek-v3"), model("qwen3-32b")
    assert latent.kv_width < grouped.kv_width


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"tp": 3}, "number of devices"),
        ({"tp": 16, "ep": 3}, "experts"),
        ({"tp": 16, "prefix_hit": 1.0}, "prefix"),
        ({"tp": 16, "acceptance": 2}, "share between"),
        ({"tp": 16, "batch": 0}, "batch"),
    ],
)
def test_impossible_serving_is_refused(setting: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        serve(setting)
