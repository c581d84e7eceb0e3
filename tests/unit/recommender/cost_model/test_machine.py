"""Machines: what joins devices, and the server that a device usually sits in."""

import pytest

from kg.errors import InputError
from kg.nouns.knowledge import Level
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.machine import device_and_server, link_note, machine, told_facts, usual_server
from recommender.workspace.workspace import Workspace
from tests.samples.hardware_nodes import facts, node, tree_of


def tree(*nodes: tuple[str, str, str, dict[str, float]]) -> HardwareTree:
    """Nodes by id, the one above, the device that a server holds, and facts."""
    return tree_of(
        *(
            node(
                name,
                Level.SERVER if held else Level.DEVICE if above else Level.VENDOR,
                above or None,
                device=held,
                device_count=int(stated["device_count"]) if held else None,
                facts=facts(**stated),
            )
            for name, above, held, stated in nodes
        )
    )


LINK = {"link_bandwidth_bytes_per_s": 1e11}
MAKER: tuple[str, str, str, dict[str, float]] = ("maker", "", "", {})


def server(
    name: str, count: float, held: str = "chip", links: dict[str, float] | None = None
) -> tuple[str, str, str, dict[str, float]]:
    return name, "maker", held, {"device_count": count, **(links or {})}


def test_a_device_usually_sits_in_the_smallest_server_from_eight_on_whose_links_are_stated() -> None:
    chip = ("chip", "maker", "", {"memory_bytes": 1e9})
    others = [
        server("card", 2, links=LINK),
        server("bare", 8),
        server("foreign", 8, held="other", links=LINK),
    ]
    small, large = server("small", 8, links=LINK), server("large", 16, links=LINK)
    assert usual_server(tree(MAKER, chip, *others, large, small), "chip") == "small"
    assert usual_server(tree(MAKER, chip, *others, large), "chip") == "large"
    pair = server("pair", 4, links=LINK)
    assert usual_server(tree(MAKER, chip, *others, pair), "chip") == "pair"  # the largest of the small ones
    assert usual_server(tree(MAKER, chip, *others), "chip") == "card"


def test_a_device_that_states_its_links_needs_no_server() -> None:
    linked = ("chip", "maker", "", LINK)
    assert usual_server(tree(MAKER, linked, server("small", 8, links=LINK)), "chip") == ""
    assert usual_server(tree(MAKER, linked), "of nobody") == ""


def test_a_device_whose_way_out_only_a_server_states_sits_in_it() -> None:
    linked, network = ("chip", "maker", "", LINK), {"network_bandwidth_bytes_per_s": 5e10}
    joined = server("small", 8, links={**LINK, **network})
    assert usual_server(tree(MAKER, linked, joined), "chip") == "small"
    assert usual_server(tree(MAKER, ("chip", "maker", "", {**LINK, **network}), joined), "chip") == ""


def test_gpus_without_a_server_end_at_eight() -> None:
    facts: dict[str, float | str] = {"link_type": "NVLink 4", "link_bandwidth_bytes_per_s": 4.5e11}
    assert machine("chip", facts, count=64).network.per_node == 8
    assert machine("chip", {**facts, "devices_per_server": 4}, count=64).network.per_node == 4
    assert machine("pod", {"link_bandwidth_bytes_per_s": 2e11}, count=64).network.per_node == 64


def test_cards_are_told_of_and_what_an_island_links_is_not(shipped: Workspace) -> None:
    cards = shipped.hardware.facts("l40s")
    assert "six times slower" in link_note(machine("l40s", cards, count=4))
    assert link_note(machine("l40s", cards, count=1)) == ""
    assert link_note(machine("h100-sxm", shipped.hardware.facts("h100-sxm"), count=8)) == ""


def test_many_gpus_exchange_over_the_network_of_their_servers(shipped: Workspace) -> None:
    assert device_and_server(shipped.hardware, "h100-sxm") == ("h100-sxm", "dgx-h100")
    assert device_and_server(shipped.hardware, "a100-pcie-80gb") == ("a100-pcie-80gb", "")


def test_a_stated_server_wins_over_the_usual_one(shipped: Workspace) -> None:
    usual = usual_server(shipped.hardware, "ascend-910b3")
    assert usual
    assert device_and_server(shipped.hardware, "ascend-910b3") == ("ascend-910b3", usual)
    stated = device_and_server(shipped.hardware, "ascend-910b3", "atlas-800i-a2")
    assert stated == ("ascend-910b3", "atlas-800i-a2")


def test_links_that_a_question_tells_go_before_what_is_known(shipped: Workspace) -> None:
    asked = {"model": "qwen3-32b", "phase": "training", "hardware": "h100-sxm", "count": 16}
    slow, usual = (
        shipped.recommend(shipped.problem({**asked, "traits": told})[0], 1).plan
        for told in ({"network_bandwidth_bytes_per_s": 1e9}, {})
    )
    assert slow
    assert usual
    assert slow.start.expected[0].value < usual.start.expected[0].value
    for wrong in (0, -1.0, "fast", float("inf")):
        with pytest.raises(InputError, match="bytes a second of one device"):
            told_facts({"network_bandwidth_bytes_per_s": wrong})
