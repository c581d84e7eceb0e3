"""Links beside their peers, and beside what is usual where all are alike."""

from typing import Any

import pytest

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import RankTraffic
from recommender.diagnosis.patterns.links import slow_links
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
