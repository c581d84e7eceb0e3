"""Links between devices: time of a collective inside a node and across nodes.

A2 servers are a full mesh of single links: two devices see one link, eight see seven each. A3 nodes
have a switched plane; their collectives are the measured table. Across nodes each device has its
own network port. Bytes, ranks; times are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kg.errors import MissingFactError
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_of
from recommender.cost_model.operators.collective import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.operators.kinds import Operators
CARDS = (2.0, 4.0, 8.0)


def joined_by_pcie(facts: Mapping[str, float | str]) -> bool:
    """True if only PCIe joins devices with these facts."""
    return str(facts.get("link_type", "")).startswith("PCIe")


@dataclass(frozen=True, slots=True)
class Network:
    """Links of the devices of a job.

    Attributes:
        id: Node of the hardware tree, for messages.
        facts: Facts of server and device, the server's first.
        per_node: Devices of a node.
    """

    id: str
    facts: Mapping[str, float | str]
    per_node: float

    def _number(self, *names: str) -> float:
        for name in names:
            value = self.facts.get(name)
            if isinstance(value, int | float) and value > 0:
                return float(value)
        raise MissingFactError(f"{self.id}: {names[-1]} is not known", hint="name a server, or add the fact")

    @property
    def mesh(self) -> bool:
        """True if every pair of devices has its own link."""
        return "mesh" in str(self.facts.get("link_topology", ""))

    @property
    def direct(self) -> bool:
        """True if the GPUs of a node are joined by NVLink."""
        return str(self.facts.get("link_type", "")).startswith("NVLink")

    @property
    def cards(self) -> bool:
        """True if nothing but PCIe joins the devices of a node."""
        return joined_by_pcie(self.facts)

    def start_us(self, ranks: Floats) -> tuple[Floats, Floats]:
        """Start of a collective inside a node: by the host, and in a captured graph."""
        if self.cards:
            captured = np.interp(ranks, CARDS, [*physics_of("cards_start_us").values()])
            return captured + PHYSICS["gpu_start_us"] - PHYSICS["gpu_captured_start_us"], captured
        host, graph = (
            (PHYSICS["gpu_start_us"], PHYSICS["gpu_captured_start_us"])
            if self.direct
            else (PHYSICS["collective_start_us"], PHYSICS["captured_start_us"])
        )
        return np.full_like(ranks, host), np.full_like(ranks, graph)

    @property
    def plane(self) -> bool:
        """True if the node is of the kind whose collectives were measured (A3)."""
        return str(self.facts.get("link_type", "")).startswith("UB")

    def inside(self, ranks: Floats) -> Floats:
        """One-way bandwidth of a device towards ``ranks - 1`` others of its node, byte/s."""
        if self.mesh:
            pair = self._number(
                "reference_link_bandwidth_bytes_per_s",
                "measured_link_read_bytes_per_s",
                "link_bandwidth_bytes_per_s",
            )
            return np.asarray(pair * np.maximum(ranks - 1, 1))
        if self.cards:
            return self._number("pcie_bandwidth_bytes_per_s") * np.interp(
                ranks, CARDS, [*physics_of("cards_share").values()]
            )
        total = self._number("link_bandwidth_total_bytes_per_s", "link_bandwidth_bytes_per_s")
        # a total counts both directions (NVLink, HCCS)
        return np.full_like(
            ranks, total * (0.5 if "link_bandwidth_total_bytes_per_s" in self.facts else 1.0) * 0.8
        )

    @property
    def outside(self) -> float:
        """One-way bandwidth of a device to another node, byte/s."""
        # cards of one host that no link joins talk over its PCIe
        names = ("measured_network_bandwidth_bytes_per_s", "network_bandwidth_bytes_per_s")
        cards = "PCIe between cards" in str(self.facts.get("link_topology", ""))
        return self._number(*(["pcie_bandwidth_bytes_per_s"] if cards else []), *names)


@dataclass(frozen=True, slots=True)
class Target:
    """Target that a step is priced for.

    Attributes:
        operators: Calibrated operators.
        device: The device that runs it.
        network: Its links.
    """

    operators: Operators
    device: Device
    network: Network


def collective_us(
    network: Network,
    operators: Operators,
    name: str,
    size: Floats,
    ranks: Floats,
    stride: Floats,
    captured: NDArray[np.bool_] | bool = False,
) -> Floats:
    """Time of one collective; 0 where there is one rank.

    Args:
        network: Links.
        operators: For measured tables.
        name: Operation, as in ``recommender.cost_model.operators.collective``.
        size: Bytes: one rank's share for all-gather and reduce-scatter, else all of a rank's data.
        ranks: Members of the group.
        stride: Distance of neighbouring ranks in the numbering of devices: a group of ``ranks`` with
            this stride spans ``ranks * stride`` devices.
        captured: Whether a captured graph starts it, not the host.

    Raises:
        MissingFactError: A bandwidth that the group needs is not known.
    """
    size, ranks, stride = np.broadcast_arrays(
        np.asarray(size, dtype=np.float64),
        np.asarray(ranks, dtype=np.float64),
        np.asarray(stride, dtype=np.float64),
    )
    out = np.zeros(size.shape)
    far = np.broadcast_to(
        np.where(captured, PHYSICS["captured_network_start_us"], PHYSICS["network_start_us"]), size.shape
    )
    active = (ranks > 1) & (size > 0)
    if not np.any(active):
        return out
    code = OPERATIONS[name]
    local = np.clip(np.floor(network.per_node / stride), 1, ranks)
    nodes = np.ceil(ranks / local)
    share = np.where(code >= 2, size / ranks, size)
    times = 2.0 if name == "all_reduce" else 1.0
    within = active & (local > 1)
    if np.any(within):
        inner = share * nodes if name != "all_to_all" else share
        if network.plane:
            members = np.minimum(local[within], PHYSICS["measured_ranks"])
            # among more ranks than were measured as many bytes of a rank move
            bytes_ = inner[within] * local[within] / (members if code < 2 else 1.0)
            rows = np.column_stack([np.full(members.shape, float(code)), members, bytes_])
            reference = operators.reference
            out[within] += operators["collective"].times_us(reference, rows)
        else:
            members = local[within]
            sent_us = inner[within] * (members - 1) / network.inside(members) * 1e6
            by_host, by_graph = network.start_us(members)
            start = np.where(np.broadcast_to(captured, size.shape)[within], by_graph, by_host)
            passes = start + times * sent_us
            if network.direct and name == "all_reduce":
                # each pass has a start; one is enough where every device reads all that the others have
                # (one and two shots of vLLM's csrc/custom_all_reduce.cuh)
                passes = np.minimum(start + members * sent_us, passes + start)
            out[within] += passes
    across = active & (nodes > 1)
    if np.any(across):
        sent = times * share[across] * (nodes[across] - 1)
        if name == "all_to_all":
            sent = sent * local[across]
        out[across] += far[across] + sent / network.outside * 1e6
    return out


def point_us(network: Network, size: Floats, far: NDArray[np.bool_]) -> Floats:
    """Time to send ``size`` bytes to one other device, on another node where ``far``."""
    size, far = np.broadcast_arrays(np.asarray(size, dtype=np.float64), far)
    out = np.zeros(size.shape)
    near = (size > 0) & ~far
    if np.any(near):
        two = np.array([2.0])
        out[near] = network.start_us(two)[0] + size[near] / network.inside(two) * 1e6
    away = (size > 0) & far
    if np.any(away):
        out[away] = PHYSICS["network_start_us"] + size[away] / network.outside * 1e6
    return out
