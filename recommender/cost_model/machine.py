"""The machine of a question: devices, how they are joined, and the server that a device usually sits in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.network import Network, joined_by_pcie

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.triples.hardware_tree import HardwareTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices and what joins them.

    Attributes:
        device: One device.
        network: Links of a node and between nodes.
        count: Devices of the job.
    """

    device: Device
    network: Network
    count: int


def link_note(place: Machine) -> str:
    """A warning about the links that a price rests on; empty where they are those of the device."""
    if place.count < 2 or not place.network.cards:
        return ""
    return "cards that PCIe alone joins are priced as on a measured server; another was six times slower"


def machine(
    device: str,
    facts: Mapping[str, float | str],
    *,
    count: int,
    server: str = "",
    server_facts: Mapping[str, float | str] | None = None,
) -> Machine:
    """A machine from facts of a device and of the server it sits in.

    Raises:
        InputError: No device.
    """
    if count < 1:
        raise InputError(f"{count} devices: at least one is needed")
    held = dict(server_facts or {})
    nodes = held.get("device_count", held.get("devices_per_node", facts.get("devices_per_node")))
    merged: dict[str, float | str] = {**facts, **held}
    if nodes is None and str(merged.get("link_type", "")).startswith(GPU_LINKS):
        nodes = facts.get("devices_per_server", PHYSICS["gpus_of_a_server"])
    per_node = float(nodes) if isinstance(nodes, int | float) else float(count)
    return Machine(
        device=Device(device, dict(facts)), network=Network(server or device, merged, per_node), count=count
    )


GPU_LINKS = ("NVLink", "Infinity Fabric", "PCIe")
LINK_FACTS = frozenset({"link_bandwidth_bytes_per_s", "link_bandwidth_total_bytes_per_s"})
"""Facts of which one is enough to price an exchange between devices of a server."""
NETWORK_FACTS = frozenset({"network_bandwidth_bytes_per_s", "measured_network_bandwidth_bytes_per_s"})
"""Facts of which one is enough to price an exchange between servers."""

TOLD_FACTS = frozenset({"network_bandwidth_bytes_per_s"})
"""Facts of its own network that a question may state, each way for each device: they override known ones."""


def told_facts(stated: Mapping[str, object]) -> dict[str, float | str]:
    """The facts of a network among what a question states.

    Raises:
        InputError: One is no positive number.
    """
    told: dict[str, float | str] = {}
    for name in sorted(TOLD_FACTS & stated.keys()):
        value = stated[name]
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            raise InputError(f"{name}: bytes a second of one device, such as 5e10, not {value}")
        told[name] = float(value)
    return told


def device_and_server(tree: HardwareTree, hardware: str, server: str = "") -> tuple[str, str]:
    """The ids of the device that ``hardware`` means and of the server around it; empty if none is known."""
    node = tree.node(hardware)
    if node is not None and node.device:
        return node.device, server or node.id
    return hardware, server or usual_server(tree, hardware)


def usual_server(tree: HardwareTree, device: str) -> str:
    """The server that a device usually sits in, where its own facts do not say how devices are linked.

    That is the one with the fewest devices, from eight on, whose links are known, else the largest of the
    smaller ones. Empty if none is, or if the device states its links, and either its network or no server
    does, as cards of PCIe do.
    """
    facts_of_it = tree.facts(device) if tree.node(device) else {}
    own = set(facts_of_it)
    linked = bool(LINK_FACTS & own)
    if not own or joined_by_pcie(facts_of_it) or (linked and NETWORK_FACTS & own):
        return ""
    around: list[tuple[float, str]] = []
    for identifier in tree.servers(device):
        facts = tree.facts(identifier)
        count = facts.get("device_count", 0)
        told = (LINK_FACTS & set(facts)) and (not linked or NETWORK_FACTS & set(facts))
        if isinstance(count, int | float) and told:
            around.append((float(count) if count >= PHYSICS["smallest_server"] else 1e9 - count, identifier))
    return min(around, default=(0.0, ""))[1]
