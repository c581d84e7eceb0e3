"""Laws of the physics in the cost model.

The learned residual follows measurements and keeps no such law: measured times jump where the
library changes its tiling, where a weight stops fitting the cache, where sizes are powers of two.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recommender.cost_model.facts.device import Device
from recommender.cost_model.operators.kinds import KINDS, CalibratedOperator, reference_device, shipped
from recommender.cost_model.operators.network import Target
from recommender.cost_model.settings.plans import SERVING, TRAINING, columns
from recommender.cost_model.workloads.serving import serving_step
from recommender.cost_model.workloads.steps import Steps
from recommender.cost_model.workloads.training import training_step
from tests.unit.recommender.cost_model.machines import machine_of, model

BASE = reference_device()
STEMS = [stem for stem in KINDS if stem != "collective"]
POWERS = st.integers(0, 7)


def row(stem: str, a: int, b: int, c: int) -> np.ndarray:
    """An aligned shape of a kind; ``a`` doubles its work."""
    match stem.split("_", maxsplit=1)[0]:
        case "matmul":
            return np.array([[128.0 * 2**a, 256.0 * 2**b, 256.0 * 2**c]])
        case "attention":
            return np.array([[2.0**a, 128.0 * 2 ** (b % 6), 8.0 * 2 ** (c % 4), 8.0, 128.0]])
        case _:
            return np.array([[2.0**a, 1024.0 * 2 ** (b % 4), 512.0 * 2 ** (c % 5), 64.0, 8.0, 1.0, 64.0]])


def with_fact(name: str, factor: float) -> Device:
    return Device(BASE.id, {**BASE.facts, name: float(BASE.facts[name]) * factor})


def physics_us(kind: CalibratedOperator, device: Device, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Analytic times alone, without the learned residual."""
    return kind.kind.analytic(device, x, kind.constants)[0]


@pytest.mark.parametrize("stem", STEMS)
@settings(deadline=None)
@given(a=POWERS, b=POWERS, c=POWERS, factor=st.floats(1.0, 8.0))
def test_more_bandwidth_is_never_slower(stem: str, a: int, b: int, c: int, factor: float) -> None:
    faster = with_fact("memory_bandwidth_bytes_per_s", factor)
    kind = shipped()[stem]
    assert physics_us(kind, faster, row(stem, a, b, c)) <= physics_us(kind, BASE, row(stem, a, b, c)) * (
        1 + 1e-9
    )


@pytest.mark.parametrize("stem", STEMS)
@settings(deadline=None)
@given(a=POWERS, b=POWERS, c=POWERS, factor=st.floats(1.0, 8.0))
def test_a_higher_peak_is_never_slower(stem: str, a: int, b: int, c: int, factor: float) -> None:
    peaks = {n: float(BASE.facts[n]) * factor for n in ("peak_bf16_flops", "peak_int8_ops")}
    faster = Device(BASE.id, {**BASE.facts, **peaks})
    kind = shipped()[stem]
    assert physics_us(kind, faster, row(stem, a, b, c)) <= physics_us(kind, BASE, row(stem, a, b, c)) * (
        1 + 1e-9
    )


@pytest.mark.parametrize("stem", STEMS)
@settings(deadline=None)
@given(a=st.integers(0, 6), b=POWERS, c=POWERS)
def test_twice_the_work_between_aligned_shapes_is_never_cheaper(stem: str, a: int, b: int, c: int) -> None:
    kind = shipped()[stem]
    assert physics_us(kind, BASE, row(stem, a + 1, b, c)) >= physics_us(kind, BASE, row(stem, a, b, c)) * (
        1 - 1e-9
    )


@settings(deadline=None)
@given(
    code=st.integers(0, 3),
    ranks=st.sampled_from([2, 4, 8, 16, 32]),
    size=st.floats(128, 5e8),
    factor=st.floats(1, 4),
)
def test_a_collective_with_faster_links_is_never_slower(
    code: int, ranks: int, size: float, factor: float
) -> None:
    kind = KINDS["collective"]
    constants = dict(shipped()["collective"].constants)
    faster = {**constants, **{n: constants[n] * factor for n in ("slow_bytes_per_us", "fast_bytes_per_us")}}
    x = np.array([[float(code), ranks, size]])
    assert kind.analytic(BASE, x, faster)[0] <= kind.analytic(BASE, x, constants)[0] * (1 + 1e-9)


LLAMA = model("llama-2-7b")
QWEN = model("qwen3-32b")
EIGHT = machine_of("ascend-910b1", 8, "atlas-800t-a2")
SIXTEEN = machine_of("ascend-910c", 16, "atlas-800t-a3")


def train(*given_settings: dict[str, object]) -> Steps:
    held = columns(given_settings, TRAINING)
    devices = np.full(len(given_settings), 8.0)
    return training_step(Target(shipped(), EIGHT.device, EIGHT.network), LLAMA, held, devices)


def serve(*given_settings: dict[str, object]) -> Steps:
    held = columns(given_settings, SERVING)
    devices = np.full(len(given_settings), 16.0)
    return serving_step(Target(shipped(), SIXTEEN.device, SIXTEEN.network), QWEN, held, devices)


@settings(deadline=None, max_examples=40)
@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    mbs=st.sampled_from([1, 2, 4]),
    length=st.sampled_from([1024, 2048, 4096]),
    recompute=st.sampled_from(["none", "selective", "full"]),
    flash=st.booleans(),
)
def test_memory_grows_with_micro_batch_and_length(
    tp: int, mbs: int, length: int, recompute: str, flash: bool
) -> None:
    base: dict[str, object] = {
        "tp": tp, "seq_len": length, "mbs": mbs, "recompute": recompute, "flash_attention": flash, "gbs": 64,
    }  # fmt: skip
    steps = train(base, {**base, "mbs": 2 * mbs}, {**base, "seq_len": 2 * length})
    assert steps.memory_total[1] > steps.memory_total[0]
    assert steps.memory_total[2] > steps.memory_total[0]


@settings(deadline=None, max_examples=40)
@given(
    tp=st.sampled_from([2, 4, 8]), batch=st.sampled_from([1, 4, 16]), length=st.sampled_from([512, 4096]),
    kind=st.sampled_from(["bf16", "int8"]),
)  # fmt: skip
def test_the_cache_grows_with_batch_and_length(tp: int, batch: int, length: int, kind: str) -> None:
    base: dict[str, object] = {
        "tp": tp, "dp": 16 // tp, "batch": batch, "input_len": length, "precision": kind,
    }  # fmt: skip
    more = [{**base, "batch": factor * batch} for factor in (2, 3)]
    steps = serve(base, *more, {**base, "input_len": 2 * length})
    cache = steps.memory_bytes["kv_cache"]
    assert cache[2] - cache[1] == pytest.approx(cache[1] - cache[0])
    assert 1.8 * cache[0] < cache[1] <= 2 * cache[0]  # one sequence is full, the others half answered
    assert cache[3] > cache[0]


def test_measured_violations_are_kept_not_smoothed() -> None:
    """A weight of 16384 rows costs more than twice one of 8192 for few rows of output; so does the model."""
    kind = shipped()["matmul_bf16"]
    x = np.array([[1.0, 256, 12288], [1.0, 256, 16384]])
    short, long = kind.times_us(BASE, x)
    assert long > 2 * short
    bare_short, bare_long = physics_us(kind, BASE, x)
    assert bare_long < 1.5 * bare_short


@pytest.mark.parametrize("recompute", ["none", "full"])
@pytest.mark.parametrize("micro", [1, 8])
def test_more_in_the_hosts_memory_is_never_faster(micro: int, recompute: str) -> None:
    said: dict[str, object] = {"seq_len": 4096, "gbs": 64, "mbs": micro, "zero": 3, "recompute": recompute}
    times = train(*({**said, "offload": kind} for kind in ("none", "optimizer", "parameters"))).time_s
    assert times[0] < times[1] <= times[2]
