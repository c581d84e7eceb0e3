"""Kinds of attention by what a position sees."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.model import ModelSizes, blocks_of
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.operators.network import Target
from recommender.cost_model.workloads.attention_kinds import AttentionWork, attention_us, gather_us, seen_rows
from recommender.cost_model.workloads.serving_memory import cached_rows
from tests.unit.recommender.cost_model.machines import machine_of, model

LENGTHS = np.array([4096.0, 32768.0])


def target(device: str, count: int, server: str) -> Target:
    where = machine_of(device, count, server)
    return Target(shipped(), where.device, where.network)


def times(sizes: ModelSizes, phase: str) -> NDArray[np.float64]:
    on = target("ascend-910b1", 8, "atlas-800t-a2")
    work = AttentionWork(sequences=np.full(2, 4.0), length=LENGTHS, split=np.full(2, 4.0), phase=phase)
    each = [count * attention_us(on, one, work)[0] for count, one in blocks_of(sizes)]
    return np.asarray(sum(each) / sizes.layers)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_a_window_and_a_state_do_not_grow_with_the_length_as_full_attention_does(phase: str) -> None:
    full = model("qwen3-32b")
    growth = {
        name: np.divide(*times(sizes, phase)[::-1])
        for name, sizes in (
            ("full", full),
            ("window", replace(full, window=1024.0, window_layers=full.layers)),
            ("linear", replace(full, linear_layers=full.layers, linear_state=128.0)),
        )
    }
    order = 8 if phase == "prefill" else 1  # of the growth: linear, or none
    assert growth["window"] == pytest.approx(order, rel=0.25)
    assert growth["linear"] == pytest.approx(order, rel=0.25)
    assert growth["full"] > 2 * order


def test_every_query_of_sparse_attention_reads_what_it_chose_and_rows_of_full_attention_share() -> None:
    sparse, full = model("deepseek-v3-2"), model("deepseek-v3")
    on = target("ascend-910c", 16, "atlas-800t-a3")
    work = AttentionWork(
        sequences=np.full(1, 32.0), length=np.full(1, 65536.0), split=np.full(1, 16.0), phase="decode"
    )

    def chosen_us(work: AttentionWork) -> float:
        whole, looked = attention_us(on, sparse, work)
        return float(whole[0] - looked[0])

    drafted = replace(work, queries=np.full(1, 4.0))
    assert chosen_us(drafted) == pytest.approx(chosen_us(replace(work, sequences=np.full(1, 128.0))))
    assert chosen_us(drafted) > 2 * chosen_us(work)
    one, four = (attention_us(on, full, each)[0][0] for each in (work, drafted))
    assert one == four


def test_latent_attention_needs_no_format_that_the_device_lacks() -> None:
    sizes = model("deepseek-v2-lite")
    steps = estimate(
        model=sizes,
        machine=machine_of("tesla-v100-sxm2-16gb", 4),
        phase="serving",
        settings=[{"precision": "fp16", "batch": 4}],
    )
    assert steps.time_s[0] > 0


def test_a_choice_saves_long_prefills_where_devices_share_its_queries() -> None:
    full = model("deepseek-v3")
    sparse = replace(full, attended=2048.0, index_width=64 * 128.0)
    on = target("ascend-910b1", 8, "atlas-800t-a2")
    work = AttentionWork(sequences=np.full(2, 4.0), length=LENGTHS, split=np.full(2, 4.0), phase="prefill")
    dense, alone, shared = (
        attention_us(on, sizes, each)[0]
        for sizes, each in (
            (full, work),
            (sparse, work),
            (sparse, replace(work, index_split=np.full(2, 4.0))),
        )
    )
    assert shared[1] < dense[1]
    assert shared == pytest.approx(alone / 4, rel=0.01)
    assert np.all(alone > dense)  # every device scores and gathers for all queries, whatever heads it has


# 910B, vllm-ascend 0.18, GLM-5 (github:hudingyi688/aiconfigurator-npu@11bc0ae,
# docs/profiler_alignment/groundtruth/summary.csv; 90 and 392 ms of glm5_slo_search_20260604.md)
@pytest.mark.parametrize(
    ("rows", "split", "measured_us"), [(3, 4, 88.4), (24, 4, 93.6), (27, 4, 155.1), (256, 1, 815)]
)
def test_a_row_is_gathered_by_one_core_whatever_heads_it_has(
    rows: float, split: float, measured_us: float
) -> None:
    device = machine_of("ascend-910b1", 8, "atlas-800t-a2").device
    one = np.ones(1)
    times = gather_us(device, model("glm-5"), rows * one, 2048 * one, split * one, 2.0, 1.0)
    assert times[0] == pytest.approx(measured_us, rel=0.08)


def test_the_attention_of_a_long_prefill_takes_what_a_profile_says() -> None:
    on, length, chunk = target("ascend-910b1", 8, "atlas-800t-a2"), 20480, 4096
    whole = 0.0
    for first in range(0, length, chunk):
        span = (np.full(1, float(first)), np.full(1, float(first + chunk)))
        work = AttentionWork(
            sequences=np.ones(1), length=np.full(1, float(chunk)), split=np.full(1, 16.0), phase="prefill",
            index_split=np.full(1, 16.0), span=span,
        )  # fmt: skip
        times, growing = attention_us(on, model("glm-5"), work)
        whole += times[0] + growing[0] * 2 * first / chunk  # what came before, over half of the chunk itself
    assert 78 * whole / 1e3 == pytest.approx(392.3, rel=0.1)


def test_rows_that_queries_choose_are_all_until_there_are_too_many() -> None:
    seen = seen_rows(2048.0, np.array([0.0, 0.0, 4096.0]), np.array([1024.0, 4096.0, 8192.0]))
    assert seen == pytest.approx([512, 1536, 2048])


def test_latent_attention_has_the_sizes_of_its_own_heads() -> None:
    sizes = model("deepseek-v3")
    assert (sizes.query_size, sizes.value_size) == (192, 128)
    # 671 billion parameters: arXiv:2412.19437
    assert sizes.parameters == pytest.approx(671e9, rel=0.01)


def test_the_cache_keeps_a_window_and_a_state_at_most() -> None:
    full = model("qwen3-32b")
    mixed = replace(full, window=1024.0, window_layers=full.layers / 2)
    assert cached_rows(mixed, LENGTHS) == pytest.approx(full.layers / 2 * (LENGTHS + 1024))


def test_blocks_that_share_an_index_do_not_score_again() -> None:
    own = model("deepseek-v3-2")
    few = replace(own, index_layers=own.layers / 4)
    for phase in ("prefill", "decode"):
        assert np.all(times(few, phase) < times(own, phase))
