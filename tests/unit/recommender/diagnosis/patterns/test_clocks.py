"""Clock rates from cycles, and kernels whose cycles show none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.diagnosis import diagnose
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
