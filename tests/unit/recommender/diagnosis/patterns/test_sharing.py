"""Kernels that another program on the device holds up, in turns or for a while."""

from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.patterns import sharing
from recommender.diagnosis.rank.view import KernelView, view_of

KINDS = ("Gemm", "LayerNorm", "Softmax", "Gelu", "Add")
SLICE_US = 1800.0


def lasting(time_us: np.ndarray) -> KernelView:
    """A rank without counters whose kernels last so long, shape (steps, kernels): five kinds in turn."""
    builder = KernelBuilder("trace.json")
    at = 0
    for row, (step, place) in enumerate(np.ndindex(time_us.shape), 2):
        lasted = float(time_us[step, place])
        kind = KINDS[place % len(KINDS)]
        builder.add(
            row, at, duration_us=lasted, name=kind, kind=kind, core="", state="", stream="7", step=str(step)
        )
        at += round(lasted * 1e3)
    view = view_of(Rank(rank=0, folder="", layout="Kineto trace", kernels=builder.build()))
    assert isinstance(view, KernelView)
    return view


@pytest.mark.parametrize(("streams", "node"), [(1.5, "shared-device"), (1.08, "frequency-drop")])
def test_a_stretch_that_is_slow_is_a_neighbours_where_memory_is_slow_too(
    thresholds: Any, streams: float, node: str
) -> None:
    factor = np.where(np.arange(600) % 5 == 0, 1.5, streams)
    held = np.zeros(600, np.bool_)
    held[140:230] = held[370:460] = True
    [found] = sharing.find(lasting(np.where(held, 50.0 * factor, 50.0).reshape(6, 100)), thresholds)
    assert found.node == node
    # Half of what stands at either end of a stretch has no slow neighbours to tell it by.
    lost = 50.0 * (factor - 1)[held].sum()
    assert 0.75 * lost <= found.lost_us <= lost


@pytest.mark.parametrize("steps", [6, 1])
def test_slices_of_another_program_fall_into_whatever_runs(thresholds: Any, steps: int) -> None:
    random = np.random.default_rng(3)
    usual = np.tile([400.0, 60.0, 90.0, 120.0, 80.0], 40 * 6 // steps)
    time = np.tile(usual, (steps, 1)) * random.normal(1.0, 0.01, (steps, len(usual)))
    ends = np.cumsum(time.reshape(-1)) / 2000.0
    lost = SLICE_US * (np.diff(np.floor(ends), prepend=0) > 0).reshape(time.shape)
    lost *= random.normal(1.0, 0.05, lost.shape)
    [found] = sharing.find(lasting(time + lost), thresholds)
    assert found.node == "shared-device"
    assert found.lost_us == pytest.approx(lost.sum(), rel=0.1)


@pytest.mark.parametrize("case", ["larger batches", "one kind", "noise", "two lengths", "same place"])
def test_work_that_differs_and_noise_are_no_shared_device(thresholds: Any, case: str) -> None:
    time = np.full((6, 100), 50.0)
    if case == "larger batches":  # two steps have more to do, but for their optimiser
        time[1, :80], time[4, :80] = 75.0, 90.0
    elif case == "one kind":
        time.reshape(-1)[140:230:5] *= 3
    elif case == "two lengths":  # one sequence of twelve is ten times as long, anywhere
        time.reshape(-1)[np.repeat(np.random.default_rng(5).random(120) < 1 / 12, 5)] *= 10
    elif case == "same place":  # the last layer does more, in each step
        time[:, 95:] += SLICE_US
    else:
        time *= np.random.default_rng(7).normal(1.0, 0.03, time.shape)
    assert list(sharing.find(lasting(time), thresholds)) == []


@pytest.mark.parametrize(("beside", "lost"), [(160.0, 10 * 60.0), (100.0, 0.0), (90.0, 0.0)])
def test_kernels_that_take_longer_beside_collectives_compete_with_them(
    thresholds: Any, beside: float, lost: float
) -> None:
    builder = KernelBuilder("trace.json")
    at = 0.0
    for row in range(2, 22):
        is_beside = row % 2 == 0
        time = beside if is_beside else 100.0
        if is_beside:
            builder.add(
                100 + row, round(at * 1e3), duration_us=time, name="ncclDevKernel_AllReduce", kind="",
                core="COMMUNICATION", stream="20", step="1",
            )  # fmt: skip
        builder.add(
            row, round(at * 1e3), duration_us=time, name="gemm", kind="Gemm", core="", stream="7", step="1",
            input_shapes="64,64;64,64",
        )  # fmt: skip
        at += time
    view = view_of(Rank(rank=0, folder="", layout="Kineto trace", kernels=builder.build()))
    assert isinstance(view, KernelView)
    found = {item.node: item for item in sharing.find(view, thresholds)}
    assert found["bandwidth-contention"].lost_us == pytest.approx(lost)
