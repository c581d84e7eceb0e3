"""Sources of searches in benchmarks: those that a protocol withholds are withheld."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from benchmarks.searches import swept_kernels
from benchmarks.searches.warm_start import chosen_sources
from benchmarks.worlds.kernel_spaces import Space
from kg.nouns.values import Settings
from kg.triples.hardware_tree import Distance, HardwareTree

COUNT = 200


class TwoVendors:
    """Devices of one architecture, and those of another vendor."""

    def distance(self, a: str, b: str) -> Distance:
        return Distance.OTHER_VENDOR if a.startswith("r") != b.startswith("r") else Distance.SAME_ARCHITECTURE


TREE = cast("HardwareTree", TwoVendors())


def space(device: str, shift: int, *, task: str = "gemm", kernel: str = "gemm") -> Space:
    """A kernel whose order of configurations is that of another with the same shift."""
    costs = {Settings({"tile": i}): 1.0 + (i * (1 + 2 * shift) + shift) % COUNT for i in range(COUNT)}
    return Space(kernel, task, device, costs=costs)


ASKED = space("r-asked", 0)
TWIN_ELSEWHERE = space("other-twin", 0)
SAME_ARCHITECTURE = space("r-sibling", 7)
OTHER_VENDOR = space("other-device", 11)
OTHER_TASK = space("other-device", 11, task="convolution")
KNOWN = [ASKED, TWIN_ELSEWHERE, SAME_ARCHITECTURE, OTHER_VENDOR, OTHER_TASK]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("all", [[TWIN_ELSEWHERE, SAME_ARCHITECTURE, OTHER_VENDOR]]),
        ("far", [[OTHER_VENDOR]]),
        ("other-vendor", [[TWIN_ELSEWHERE, OTHER_VENDOR]]),
        ("one", [[SAME_ARCHITECTURE], [OTHER_VENDOR]]),
    ],
)
def test_a_protocol_leaves_out_what_it_says(kind: str, expected: list[list[Space]]) -> None:
    found = chosen_sources(kind, ASKED, KNOWN, TREE)
    assert [[id(s) for s in group] for group in found] == [[id(s) for s in group] for group in expected]


@dataclass
class SweptSources:
    """Spaces of two kernels, two shapes and two processors."""

    here: Space = field(default_factory=lambda: space("epyc", 0, task="matmul 1", kernel="matmul"))
    shape: Space = field(default_factory=lambda: space("epyc", 1, task="matmul 2", kernel="matmul"))
    there: Space = field(default_factory=lambda: space("xeon", 2, task="matmul 1", kernel="matmul"))
    other: Space = field(default_factory=lambda: space("epyc", 3, task="attention", kernel="attention"))


@pytest.mark.parametrize(
    ("kind", "expected"), [("shapes", "shape"), ("processor", "there"), ("kernel left out", "other")]
)
def test_a_sweep_is_searched_from_one_kind_of_source(kind: str, expected: str) -> None:
    swept = SweptSources()
    spaces = [swept.here, swept.shape, swept.there, swept.other]
    found = swept_kernels.sources(kind, swept.here, spaces, frozenset())
    assert [id(s) for s in found] == [id(getattr(swept, expected))]
