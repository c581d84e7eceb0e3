"""Kernels that take longer than in an earlier run: what tells the reasons apart."""

from typing import Any

import pytest

from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.analysis import views
from recommender.diagnosis.patterns import growth
from recommender.diagnosis.rank.view import KernelView

TIMES = {
    "Gemm": 200.0,
    "FlashAttention": 150.0,
    "LayerNorm": 60.0,
    "Gelu": 50.0,
    "Add": 40.0,
    "RmsNorm": 30.0,
}


def run(factors: dict[str, float]) -> Profile:
    """Ten layers without counters; ``all`` is the factor of kinds that are not named."""
    builder = KernelBuilder("trace.json")
    at = 0.0
    for row, kind in enumerate([*TIMES] * 10, 2):
        lasted = TIMES[kind] * factors.get(kind, factors.get("all", 1.0)) * (1 + 0.01 * (row % 3))
        builder.add(row, round(at * 1e3), duration_us=lasted, name=kind, kind=kind, core="", stream="7")
        at += lasted
    return Profile(
        path="run", ranks=(Rank(rank=0, folder="", layout="Kineto trace", kernels=builder.build()),)
    )


@pytest.mark.parametrize(
    ("factors", "node"),
    [
        ({"all": 1.4}, "frequency-drop"),
        ({"all": 1.8, "Gemm": 1.05, "FlashAttention": 1.1}, "memory-bandwidth"),
        ({"FlashAttention": 2.0}, "attention-kernel"),
        ({"Gemm": 1.9}, "compute"),
        ({"LayerNorm": 3.0}, "normalisation-traffic"),  # one kind that moves data is no slow memory
        ({"Gemm": 1.01}, None),
    ],
)
def test_what_takes_longer_tells_the_reason(
    thresholds: Any, factors: dict[str, float], node: str | None
) -> None:
    now, before = run(factors), run({})
    [view] = views(now, before)[0]
    assert isinstance(view, KernelView)
    found = list(growth.find(view, thresholds))
    assert [item.node for item in found] == ([] if node is None else [node])
    if found:
        grew = sum(float(rank.kernels.duration_us.sum()) for rank in now.ranks if rank.kernels)
        grew -= sum(float(rank.kernels.duration_us.sum()) for rank in before.ranks if rank.kernels)
        assert found[0].lost_us == pytest.approx(grew, rel=0.15)
