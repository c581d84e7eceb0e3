"""Serving steps."""

import numpy as np
import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.priced_step import priced_steps
from tests.unit.recommender.cost_model.machines import A3, model, serve


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
    held, once = (one.memory_bytes["kv_cache"][0] for one in (plain, prefix))
    assert 0.5 * held < once < 0.6 * held  # the shared half is kept once for sixteen
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


def test_engines_that_prefill_may_have_a_tensor_split_of_their_own() -> None:
    base: dict[str, object] = {
        "dp": 4, "batch": 16, "input_len": 8192, "output_len": 64, "separation": "separate", "prefill_engines": 2,
    }  # fmt: skip
    same, stated, wide = serve(
        base, {**base, "prefill_tensor_parallel": 4}, {**base, "tp": 2, "dp": 6, "prefill_tensor_parallel": 4}
    ).extra["prefill_s"]
    assert same == stated == wide  # two engines of four devices prefill in each
    alone = serve(
        {"tp": 2, "dp": 4, "batch": 16, "input_len": 8192, "output_len": 64}, place=("ascend-910c", 8, A3[2])
    )
    apart = serve({**base, "tp": 2, "dp": 6, "prefill_tensor_parallel": 4})
    assert apart.time_s[0] == pytest.approx(alone.time_s[0])  # the decode steps of four engines of two
    with pytest.raises(InputError, match="must be the number of devices"):
        serve({**base, "tp": 4, "prefill_tensor_parallel": 8})
    with pytest.raises(InputError, match="engines that only prefill"):
        serve({"tp": 4, "dp": 4, "prefill_tensor_parallel": 4})


def test_the_index_of_sparse_attention_is_shared_only_where_that_is_asked() -> None:
    base: dict[str, object] = {"tp": 8, "dp": 2, "ep": 16, "precision": "int8", "input_len": 65536}
    plain, shared = serve(base, {**base, "index_parallel": 1}, name="deepseek-v3-2").extra["prefill_s"]
    assert shared < 0.7 * plain  # most of a long prefill scores positions
    dense = serve(base, {**base, "index_parallel": 1}, name="deepseek-v3")
    assert dense.extra["prefill_s"][0] == dense.extra["prefill_s"][1]


def test_a_prefill_holds_the_rows_of_the_engines_that_prefill() -> None:
    base: dict[str, object] = {
        "tp": 2, "dp": 8, "ep": 16, "batch": 8, "input_len": 4096, "output_len": 1024, "precision": "int8",
    }  # fmt: skip
    padded, own, together, alone = serve(
        *({**base, "engines": name} for name in ("lock-step", "unpadded", "balanced")),
        {**base, "engines": "unpadded", "output_len": 1},
        name="deepseek-r1",
    ).extra["prefill_s"]
    assert own < 0.9 * padded  # the other seven engines decode meanwhile: few of them bring rows
    assert together == padded  # all of them prefill
    assert alone == pytest.approx(padded)  # each step of each engine has a prefill


def test_load_lengthens_the_tail() -> None:
    steps = serve(*({"tp": 16, "batch": 32, "request_rate": rate} for rate in (0.1, 1.0, 1e6)))
    p99 = steps.extra["ttft_p99_s"]
    assert p99[1] >= p99[0]
    assert np.isinf(p99[2])
    for time in ("ttft", "tpot"):
        tails = [steps.extra[f"{time}_{end}_s"][:2] for end in ("p90", "p95", "p99")]
        assert np.all(np.diff(tails, axis=0) >= 0)
    assert priced_steps(steps, [{}, {}, {}])[2].result("ttft_p99_s") is None


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


def test_the_host_schedules_between_iterations_unless_it_does_so_ahead() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 16, "input_len": 2048}
    serial, ahead = serve(base, {**base, "async_scheduling": 1}).time_s
    # 2.8 to 3.8 ms an iteration (vllm-ascend 74191864b7)
    assert serial - ahead == pytest.approx(3e-3, rel=0.3)


def test_a_narrow_cache_takes_half_the_memory_and_no_more_time() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 64, "input_len": 32768}
    steps = serve(base, {**base, "precision_cache": "int8"})
    assert steps.memory_bytes["kv_cache"][1] == pytest.approx(steps.memory_bytes["kv_cache"][0] / 2)
    assert steps.time_s[1] < steps.time_s[0]


def test_drafting_costs_what_its_own_launches_take() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 1, "input_len": 1024, "acceptance": 0.0}
    none, one, three = serve(*({**base, "speculative_tokens": n} for n in (0, 1, 3))).time_s
    assert one > none + 15 * 20e-6  # at least a block's launches of 20 us each
    assert three > one


def test_no_more_is_answered_than_requests_in_flight_allow() -> None:
    base: dict[str, object] = {"tp": 4, "dp": 4, "batch": 8, "input_len": 2048, "output_len": 256}
    mixed, same, apart, few = serve(
        base, {**base, "concurrency": 32}, {**base, "separation": "separate", "prefill_engines": 2},
        {**base, "separation": "separate", "prefill_engines": 2, "concurrency": 4},
    ).throughput  # fmt: skip
    assert same == pytest.approx(mixed, rel=0.03)  # Little's law: what is in flight over how long it takes
    assert few < apart / 2


def test_uneven_stages_take_the_longest_one() -> None:
    # 61 blocks over 2 stages: 31, not 30.5
    one, two = serve({"tp": 16, "batch": 16}, {"tp": 8, "pp": 2, "batch": 16}, name="deepseek-r1").time_s
    assert two > one


def test_blocks_that_the_host_runs_wait_for_its_memory() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 2, "input_len": 2048}
    whole, stated, half, fast = serve(
        base,
        {**base, "device_layers": 64, "host_bandwidth": 1e11},
        {**base, "device_layers": 32, "host_bandwidth": 1e11},
        {**base, "device_layers": 32, "host_bandwidth": 2e11},
    ).time_s
    assert whole == stated < fast < half
    read = model("qwen3-32b").parameters * 2 / 16 / 2  # bytes of half the weights of a rank
    assert half - fast == pytest.approx(read / 1e11 - read / 2e11, rel=0.05)
    steps = serve(base, {**base, "device_layers": 32, "host_bandwidth": 1e11})
    assert steps.memory_bytes["weights"][1] == pytest.approx(steps.memory_bytes["weights"][0] / 2)
    with pytest.raises(MissingFactError, match="32 of 64 blocks run on the host"):
        serve({**base, "device_layers": 32})
