"""Known faults, put into the files of real profiles: at least fifteen kinds, each of a chosen cost.

Each fault lengthens the step by about ``cost`` microseconds on the rank it strikes, in the way in which such a
fault shows in a profile: kernels and their counters, gaps, operators of communication, calls of the host.
A fault that a profile cannot show (no counters, no communication) does not apply there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from communication_faults import (
    bubble,
    collective_wait,
    misaligned_address,
    odd_bytes,
    retransmission,
    slow_link,
    slow_rank,
    small_packets,
)
from host_faults import allocation, blocking, collector, compilation, host, launches, loader, synchronising
from kernel_faults import (
    aicpu,
    aicpu_by_type,
    blocks,
    frequency,
    icache,
    inserted,
    is_cube,
    is_vector,
    no_bound,
    pipe,
    precision,
    recompute,
    round_trips,
    unfused,
)

if TYPE_CHECKING:
    from profile_files import Random, RankFiles, Strike


@dataclass(frozen=True)
class KnownFault:
    """A fault.

    Attributes:
        node: Id in the knowledge.
        strike: Puts it in; false if it does not apply.
        edges: Edges (effect, cause) of its chain: what of the step it lengthens, and through what.
    """

    node: str
    strike: Strike
    edges: tuple[tuple[str, str], ...] = ()


_TOP, _MOVING = "exposed-communication", "data-parallel-communication"
FAULTS = (
    KnownFault("aicpu-operator", aicpu),
    KnownFault("unsupported-dtype", aicpu_by_type, (("aicpu-operator", "unsupported-dtype"),)),
    KnownFault("memory-bandwidth", pipe("aic_mte2_ratio", "aic_mac_ratio", is_cube)),
    KnownFault("scalar-bound", pipe("aiv_scalar_ratio", "aiv_vec_ratio", is_vector)),
    KnownFault("vector-bound", pipe("aiv_vec_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("move-out-bound", pipe("aiv_mte3_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("fixpipe-bound", pipe("aic_fixpipe_ratio", "aic_mte2_ratio", is_cube)),
    KnownFault("no-bound-operator", no_bound),
    KnownFault("instruction-cache-miss", icache),
    KnownFault("block-dim-imbalance", blocks),
    KnownFault("frequency-drop", frequency),
    KnownFault("precision-excess", precision),
    KnownFault("layout-transform", inserted("TransData", "InplaceCopy")),
    KnownFault("cast-traffic", inserted("Cast", "Cast")),
    KnownFault("memory-copies", inserted("ConcatD", "Cat")),
    KnownFault("unfused-operators", unfused, (("normalisation-traffic", "unfused-operators"),)),
    KnownFault("cube-vector-round-trip", round_trips),
    KnownFault("recompute-overhead", recompute),
    KnownFault("host-bound", host),
    KnownFault("kernel-launch-overhead", launches, (("host-bound", "kernel-launch-overhead"),)),
    KnownFault("python-gc-high-latency", collector, (("host-bound", "python-gc-high-latency"),)),
    KnownFault("slow-dataloader", loader, (("host-bound", "slow-dataloader"),)),
    KnownFault("memory-allocation-stall", allocation, (("host-bound", "memory-allocation-stall"),)),
    KnownFault("host-device-synchronisation", synchronising, (("host-bound", "host-device-synchronisation"),)),
    KnownFault("launch-blocking-set", blocking,
               (("host-bound", "host-device-synchronisation"), ("host-device-synchronisation", "launch-blocking-set"))),
    KnownFault("operator-compilation-latency", compilation, (("host-bound", "operator-compilation-latency"),)),
    KnownFault("collective-wait", collective_wait, ((_TOP, "collective-wait"),)),
    KnownFault("pipeline-bubble", bubble, ((_TOP, "pipeline-bubble"),)),
    KnownFault("small-packets", small_packets, ((_TOP, _MOVING), (_MOVING, "small-packets"))),
    KnownFault("byte-misalignment", odd_bytes, ((_TOP, _MOVING), (_MOVING, "byte-misalignment"))),
    KnownFault("rdma-retransmission", retransmission, ((_TOP, _MOVING), (_MOVING, "rdma-retransmission"))),
    KnownFault("slow-link", slow_link, ((_TOP, _MOVING), (_MOVING, "slow-link"))),
    KnownFault("communication-address-misalignment", misaligned_address,
               ((_TOP, _MOVING), (_MOVING, "communication-address-misalignment"))),
    KnownFault("slow-rank", slow_rank, ((_TOP, "collective-wait"), ("collective-wait", "slow-rank"))),
)  # fmt: skip


OF_KERNELS = frozenset(fault.node for fault in FAULTS[:18])
"""Faults that make kernels longer or more, on one rank."""


def quiet(ranks: list[RankFiles]) -> None:
    """A run that only computes: no gaps, no waiting in communication, no calls that stop the host.

    Done to the files, by rules of its own, so that silence on it says something of the diagnosis.
    """
    for rank in ranks:
        order = sorted(range(len(rank.rows)), key=lambda row: rank.start[row])
        compute = sum(rank.duration[row] for row in rank.compute())
        exposed = 0.04 * compute / max(1, len(rank.rows) - len(rank.compute()))
        at = 0.0
        for row in order:
            if rank.is_communication(row):
                rank.duration[row] = min(rank.duration[row], exposed)
            rank.start[row] = at
            at += rank.duration[row] + 0.02 * compute / len(order)
        rank.preparing = 0.0
        rank.apis = [
            row
            for row in rank.apis
            if not any(
                part in row["API Name"] for part in ("ompile", "Synchron", "Malloc", "Free", "_Tiling")
            )
        ]
        for info in rank.operators():
            times = info["Communication Time Info"]
            moving = max(
                (t["Transit Time(ms)"] for t in info["Communication Bandwidth Info"].values()), default=0.0
            )
            scale = min(1.0, exposed / 1e3 / moving) if moving > 0 else 1.0
            for transfer in info["Communication Bandwidth Info"].values():
                transfer["Transit Time(ms)"] *= scale
                transfer["Bandwidth(GB/s)"] /= scale
                transfer["Size Distribution"] = {}
            times.update(
                {
                    "Elapse Time(ms)": exposed / 1e3,
                    "Transit Time(ms)": min(exposed / 1e3, moving * scale),
                    "Wait Time(ms)": 0.0,
                    "Synchronization Time(ms)": 0.0,
                    "Idle Time(ms)": 0.0,
                }
            )
        for pair in rank.pairs():
            pair["Transit Time(ms)"] *= 1e-3 if pair["Transport Type"] == "LOCAL" else 1.0


def jitter(ranks: list[RankFiles], random: Random, spread: float = 0.02) -> None:
    """Run-to-run noise of kernel times."""
    for rank in ranks:
        for row in rank.compute():
            rank.stretch(row, rank.duration[row] * float(np.clip(random.normal(0, spread), -0.06, 0.06)))
