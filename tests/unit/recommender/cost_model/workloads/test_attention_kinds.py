"""Kinds of attention by what a position sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recommender.cost_model.estimate import estimate
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.workloads.attention_kinds import AttentionWork, attention_us
from recommender.cost_model.workloads.serving_memory import cached_rows

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recommender.cost_model.facts.model import ModelSizes

LENGTHS = np.array([4096.0, 32768.0])


def times(sizes: ModelSizes, phase: str) -> NDArray[np.float64]:
    return attention_us(
        shipped(),
        machine_of("ascend-910b1", 8, "atlas-800t-a2").device,
        sizes,
        AttentionWork(sequences=np.full(2, 4.0), length=LENGTHS, split=np.full(2, 4.0), phase=phase),
    )[0]


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
    device = machine_of("ascend-910c", 16, "atlas-800t-a3").device
    work = AttentionWork(
        sequences=np.full(1, 32.0), length=np.full(1, 65536.0), split=np.full(1, 16.0), phase="decode"
    )

    def chosen_us(work: AttentionWork) -> float:
        whole, looked = attention_us(shipped(), device, sparse, work)
        return float(whole[0] - looked[0])

    drafted = replace(work, queries=np.full(1, 4.0))
    assert chosen_us(drafted) == pytest.approx(chosen_us(replace(work, sequences=np.full(1, 128.0))))
    assert chosen_us(drafted) > 2 * chosen_us(work)
    one, four = (attention_us(shipped(), device, full, each)[0][0] for each in (work, drafted))
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


def test_a_choice_of_positions_costs_its_index_and_saves_the_rest() -> None:
    full = model("deepseek-v3")
    sparse = replace(full, attended=2048.0, index_width=64 * 128.0)
    assert np.all(times(sparse, "prefill")[1] < times(full, "prefill")[1])


def test_latent_attention_has_the_sizes_of_its_own_heads() -> None:
    sizes = model("deepseek-v3")
    assert (sizes.query_size, sizes.value_size) == (192, 128)
    # 671 billion parameters: arXiv:2412.19437
    assert sizes.parameters == pytest.approx(671e9, rel=0.01)


def test_the_cache_keeps_a_window_and_a_state_at_most() -> None:
    full = model("qwen3-32b")
    mixed = replace(full, window=1024.0, window_layers=full.layers / 2)
    assert cached_rows(mixed, LENGTHS) == pytest.approx(full.layers / 2 * (LENGTHS + 1024))
