"""Links beside their peers, and beside what is usual where all are alike."""

from dataclasses import replace
from typing import Any

import pytest

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import RankTraffic
from recommender.diagnosis.patterns.links import find, slow_links
from recommender.diagnosis.rank.view import view_of


def link(target: str, rate: float, size_mb: float = 32.0) -> RankTraffic:
    return RankTraffic(
        source="0", target=target, transport="HCCS", size_mb=size_mb, time_ms=size_mb / rate, bandwidth_gb_s=rate,
        operator="allreduce-total", place=FactPlace("communication_matrix.json"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "size_mb", "says"),
    [
        ((19.0, 18.5, 4.0), 32.0, "its peers 18.8"),
        ((4.7, 4.7, 4.6), 32.0, "as all that move 8 MB or more, and 18.0 is usual"),
        ((4.7,), 32.0, "carries 4.7 GB/s, as all that move 8 MB or more, and 18.0 is usual"),
        ((4.7, 4.7, 4.6), 2.0, ""),
        ((17.0, 17.5, 17.2), 32.0, ""),
    ],
)
def test_a_link_is_slow_beside_its_peers_or_with_them(
    make: Any, thresholds: Any, rates: tuple[float, ...], size_mb: float, says: str
) -> None:
    links = [link(str(place), rate, size_mb) for place, rate in enumerate(rates, 1)]
    [found] = slow_links(links, view_of(make().ranks[0]), thresholds)
    assert (found.shown > 0.9 and says in found.says) if says else found.shown < 0.6


@pytest.mark.parametrize(("gb_s", "world", "is_slow"), [(300.0, 4, False), (18.0, 4, True), (18.0, 16, None)])
def test_collectives_are_slow_beside_the_links_of_their_server(
    make: Any, thresholds: Any, gb_s: float, world: int, is_slow: bool | None
) -> None:
    [rank] = make(wait_ms=1.0).ranks
    size_mb = 128.0
    ms = 1.5 * size_mb / gb_s  # a ring of four sends one and a half times the data
    moved = replace(rank.collectives[0].transfers[0], transport="NCCL", size_mb=size_mb, time_ms=ms)
    item = replace(
        rank.collectives[0],
        name="allreduce",
        elapse_ms=ms,
        transit_ms=ms,
        wait_ms=0.0,
        transfers=(moved,),
        members=4,
    )
    step = replace(rank.steps[0], exposed_us=0.5 * rank.steps[0].step_us)
    view = view_of(replace(rank, steps=(step,), collectives=(item,), parallel={"world_size": world}))
    device: dict[str, float | str] = {
        "link_bandwidth_bytes_per_s": 450e9,
        "devices_per_server": 8.0,
        "link_type": "NVLink 4",
    }
    found = [e for e in find(replace(view, device=device), thresholds) if e.node == "collective-inefficiency"]
    assert [e.shown > 0.5 for e in found] == ([] if is_slow is None else [is_slow])
    if is_slow:
        assert f"move {gb_s:.1f} GB/s" in found[0].says
        assert found[0].lost_us == pytest.approx(ms * 1e3 * (1 - gb_s / 360))
