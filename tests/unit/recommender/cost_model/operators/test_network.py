"""Collectives by the formula of a ring: bytes that a device sends over its bandwidth, and a start for each."""

import numpy as np
import pytest

from kg.errors import MissingFactError
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.operators.network import Network, collective_us, point_us

LINK, PORT, MIB = 28e9, 12.5e9, 2.0**20
SWITCHED = Network(
    id="toy", facts={"link_bandwidth_bytes_per_s": LINK, "network_bandwidth_bytes_per_s": PORT}, per_node=8
)
MESH = Network(
    id="mesh", facts={"link_topology": "full mesh", "link_bandwidth_bytes_per_s": LINK}, per_node=8
)


def us(network: Network, name: str, size: float, ranks: int, stride: int = 1) -> float:
    """Time without the start of one node's collective."""
    found = collective_us(network, shipped(), name, np.array([size]), np.array([ranks]), np.array([stride]))
    return float(found[0])


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("all_gather", 7 * MIB),  # every other rank's share
        ("reduce_scatter", 7 * MIB),
        ("all_reduce", 2 * 7 / 8 * MIB),  # scattered, then gathered
        ("all_to_all", 7 / 8 * MIB),  # a piece for every other rank
    ],
)
def test_a_ring_sends_what_the_operation_needs(name: str, sent: float) -> None:
    assert us(SWITCHED, name, MIB, 8) == pytest.approx(
        PHYSICS["collective_start_us"] + sent / (0.8 * LINK) * 1e6
    )


def test_a_mesh_has_a_link_to_every_other_device() -> None:
    assert us(MESH, "all_gather", MIB, 2) == us(MESH, "all_gather", MIB, 8)
    assert us(SWITCHED, "all_gather", MIB, 8) - PHYSICS["collective_start_us"] == pytest.approx(
        7 * (us(SWITCHED, "all_gather", MIB, 2) - PHYSICS["collective_start_us"])
    )


def test_across_nodes_the_port_of_each_device_counts() -> None:
    alone = us(SWITCHED, "all_reduce", 8 * MIB, 2, stride=8)  # one rank a node
    assert alone == pytest.approx(PHYSICS["network_start_us"] + 2 * 8 * MIB / 2 / PORT * 1e6)
    both = us(SWITCHED, "all_reduce", 8 * MIB, 16)
    inside = PHYSICS["collective_start_us"] + 2 * (8 * MIB / 16 * 2) * 7 / (0.8 * LINK) * 1e6
    assert both == pytest.approx(inside + PHYSICS["network_start_us"] + 2 * 8 * MIB / 16 / PORT * 1e6)


@pytest.mark.parametrize(
    ("ranks", "elements", "measured_us"),
    [(2, 2**20, 12.4), (4, 2**19, 12.6), (8, 2**15, 6.4), (8, 2**18, 11.9), (8, 2**20, 19.4)],
)
def test_a_small_all_reduce_of_gpus_is_one_pass_and_a_larger_one_two_starts(
    ranks: int, elements: int, measured_us: float
) -> None:
    """H100 in a captured graph, vLLM 0.19: github.com/ai-dynamo/aiconfigurator@095f58a51c, data/h100_sxm/comm."""
    h100 = Network(
        id="h100", facts={"link_type": "NVLink", "link_bandwidth_total_bytes_per_s": 900e9}, per_node=8
    )
    size, one = np.array([2.0 * elements]), np.array([1.0])
    found = collective_us(h100, shipped(), "all_reduce", size, np.array([float(ranks)]), one, captured=True)
    assert float(found[0]) == pytest.approx(measured_us, rel=0.16)


def test_a_total_counts_both_directions() -> None:
    total = Network(id="total", facts={"link_bandwidth_total_bytes_per_s": 2 * LINK}, per_node=8)
    assert us(total, "all_gather", MIB, 8) == us(SWITCHED, "all_gather", MIB, 8)


def test_one_rank_and_no_bytes_take_no_time() -> None:
    assert us(SWITCHED, "all_reduce", MIB, 1) == 0
    assert us(SWITCHED, "all_reduce", 0, 8) == 0


def test_a_message_to_one_device_goes_over_one_link() -> None:
    near, far = point_us(SWITCHED, np.array([MIB, MIB]), np.array([False, True])).tolist()
    assert near == pytest.approx(PHYSICS["collective_start_us"] + MIB / (0.8 * LINK) * 1e6)
    assert far == pytest.approx(PHYSICS["network_start_us"] + MIB / PORT * 1e6)


def test_a_bandwidth_that_nobody_knows_is_named() -> None:
    with pytest.raises(MissingFactError, match="bandwidth_bytes_per_s is not known"):
        us(Network(id="toy", facts={}, per_node=8), "all_reduce", MIB, 8)


def test_a_plane_wider_than_was_measured_moves_as_many_bytes_of_a_rank() -> None:
    facts: dict[str, float | str] = {"link_type": "UB (HCCS)", "network_bandwidth_bytes_per_s": PORT}
    plane, node = (Network(id="plane", facts=facts, per_node=many) for many in (768, 16))
    for name, size in (("all_to_all", 64 * MIB), ("all_reduce", 64 * MIB), ("all_gather", 2 * MIB)):
        narrow, wide = (
            us(plane, name, size * (32 / ranks if name == "all_gather" else 1), ranks) for ranks in (32, 320)
        )
        assert wide == pytest.approx(narrow, rel=0.05)
        assert us(node, name, size, 32) > us(plane, name, size, 32)  # the port between nodes


@pytest.mark.parametrize(
    ("elements", "ranks", "measured_us"),
    [(128, 2, 4.3), (128, 8, 23.6), (2**25, 4, 3556.5), (2**25, 8, 5067.5)],
)
def test_cards_on_pcie_take_what_was_measured(elements: int, ranks: int, measured_us: float) -> None:
    """RTX PRO 6000 Server, vLLM 0.24 in a graph (aiconfigurator@095f58a51c); elements of two bytes."""
    cards = Network(
        id="cards", facts={"link_type": "PCIe 5.0 x16", "pcie_bandwidth_bytes_per_s": 64e9}, per_node=8
    )
    size, members = np.array([2.0 * elements]), np.array([ranks])
    found = collective_us(cards, shipped(), "all_reduce", size, members, np.array([1]), captured=True)
    assert float(found[0]) == pytest.approx(measured_us, rel=0.15)
