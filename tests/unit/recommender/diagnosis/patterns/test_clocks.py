"""Clock rates from cycles, and kernels whose cycles show none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import clocks
from recommender.diagnosis.patterns.clocks import highest_mhz, kernel_clocks_mhz
from recommender.diagnosis.rank.view import KernelView, view_of

MHZ, CORES = 1800, 24


def seen(*kernels: tuple[str, float, float]) -> KernelView:
    """A rank of kernels of 100 us, each as core type, blocks, and cores that were busy."""
    builder = KernelBuilder("kernel_details.csv")
    for row, (core, blocks, busy) in enumerate(kernels, 2):
        part = "aiv" if core.endswith(("VECTOR_CORE", "AIV")) else "aic"
        time = "aiv_time(us)" if part == "aiv" else "aicore_time(us)"
        builder.add(
            row, row * 200_000, duration_us=100.0, blocks=blocks, name="k", kind="K", core=core, state="static",
            stream="2", pipes={time: 100.0, f"{part}_total_cycles": 100.0 * MHZ * busy},
        )  # fmt: skip
    view = view_of(Rank(rank=0, folder="", layout="test", kernels=builder.build()))
    assert isinstance(view, KernelView)
    return view


@pytest.mark.parametrize(
    ("core", "blocks", "busy"),
    [("AI_CORE", 24, 24), ("AI_CORE", 8, 8), ("MIX_AIC", 20, 20), ("AI_VECTOR_CORE", 48, 48)],
)
def test_cycles_by_time_and_blocks_are_the_clock(core: str, blocks: float, busy: float) -> None:
    view = seen(("AI_CORE", CORES, CORES), (core, blocks, busy))
    assert kernel_clocks_mhz(view)[1] == pytest.approx(MHZ)


@pytest.mark.parametrize(("core", "blocks"), [("MIX_AIC", 256), ("AI_CORE", 48), ("MIX_AIV", 20)])
def test_blocks_in_several_rounds_or_of_unsaid_width_tell_nothing(core: str, blocks: float) -> None:
    view = seen(("AI_CORE", CORES, CORES), (core, blocks, CORES))
    assert np.isnan(kernel_clocks_mhz(view)[1])
    assert highest_mhz(view) == pytest.approx(MHZ)


def test_without_a_number_of_cores_no_clock_is_known() -> None:
    view = seen(("MIX_AIC", 256, CORES), ("MIX_AIC", 128, 20))
    assert np.isnan(kernel_clocks_mhz(view)).all()
    assert highest_mhz(view) == 0


@pytest.mark.parametrize(
    ("device_before", "is_seen"), [("", True), ("Ascend910B1", True), ("Ascend910B4", False)]
)
def test_a_clock_that_is_low_all_the_time_shows_beside_an_earlier_run(
    make: Any, network: Any, thresholds: Any, device_before: str, is_seen: bool
) -> None:
    def on(device: str, slower: float) -> Any:
        run = make(slower=slower)
        [rank] = run.ranks
        kernels = rank.kernels
        pipes = {
            name: column / slower if name.endswith("cycles") else column
            for name, column in kernels.pipes.items()
        }
        return replace(run, ranks=(replace(rank, device=device, kernels=replace(kernels, pipes=pipes)),))

    hot, cool = on("Ascend910B1", 1.3), on(device_before, 1.0)
    named = [item.cause.node for item in diagnose(hot, network, thresholds, before=cool).findings]
    assert ("frequency-drop" in named) == is_seen
    assert "frequency-drop" not in [item.cause.node for item in diagnose(hot, network, thresholds).findings]


def test_a_clock_that_is_low_all_the_time_shows_beside_the_nominal_one(
    make: Any, network: Any, thresholds: Any
) -> None:
    run = make()
    assert diagnose(run, network, thresholds).findings == ()
    [found] = diagnose(run, network, thresholds, device={"clock_hz": 2.4e9}).findings
    assert found.cause.node == "frequency-drop"
    assert found.cause.share == pytest.approx(0.25 * 7500 / 7550, rel=0.1)
    assert "25% below its nominal (2400 MHz)" in found.cause.evidence[-1].says


KINDS = ("Gemm", "LayerNorm", "Softmax", "Gelu", "Add")


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


def test_stretches_in_which_all_kernels_take_longer_are_of_the_device(thresholds: Any) -> None:
    time = np.full((6, 100), 50.0)
    time.reshape(-1)[140:230] *= 1.5
    time.reshape(-1)[370:460] *= 1.5
    [found] = clocks.find(lasting(time), thresholds)
    assert found.node == "frequency-drop"
    # Half of what stands at either end of a stretch has no slow neighbours to tell it by.
    assert 0.75 * 180 * 25 <= found.lost_us <= 180 * 25


@pytest.mark.parametrize("case", ["larger batches", "one kind", "noise"])
def test_work_that_differs_and_noise_are_no_slow_device(thresholds: Any, case: str) -> None:
    time = np.full((6, 100), 50.0)
    if case == "larger batches":  # two steps have more to do, but for their optimiser
        time[1, :80], time[4, :80] = 75.0, 90.0
    elif case == "one kind":
        time.reshape(-1)[140:230:5] *= 3
    else:
        time *= np.random.default_rng(7).normal(1.0, 0.03, time.shape)
    assert list(clocks.find(lasting(time), thresholds)) == []
