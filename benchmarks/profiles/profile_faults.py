"""Known faults, put into the files of real profiles: at least fifteen kinds, each of a chosen cost.

Each fault lengthens the step by about ``cost`` microseconds on the rank it strikes, in the way in which such a
fault shows in a profile: kernels and their counters, gaps, operators of communication, calls of the host.
A fault that a profile cannot show (no counters, no communication) does not apply there.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.profiles.communication_faults import (
    bubble,
    collective_wait,
    contention,
    exchange,
    misaligned_address,
    more_bytes,
    odd_bytes,
    retransmission,
    slow_link,
    slow_rank,
    small_packets,
)
from benchmarks.profiles.host_faults import (
    allocation,
    blocking,
    collector,
    compilation,
    fragmentation,
    host,
    launches,
    loader,
    queue_off,
    synchronising,
)
from benchmarks.profiles.kernel_faults import (
    aicpu,
    aicpu_by_type,
    blocks,
    frequency,
    icache,
    indexing,
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
from benchmarks.profiles.profile_files import Random, RankFiles, Strike
from benchmarks.profiles.shape_faults import changing, head_size, inner_axis, uneven_batch

KERNELS, HOST, COMMUNICATION = "kernels", "host", "communication"


@dataclass(frozen=True)
class KnownFault:
    """A fault.

    Attributes:
        node: Id in the knowledge.
        about: What it strikes: kernels (longer or more of them, on one rank), the host, or communication.
        strike: Puts it in; false if it does not apply.
        chain: What of the step it lengthens, and through what, symptom first, itself left out.
    """

    node: str
    about: str
    strike: Strike
    chain: tuple[str, ...] = ()

    @property
    def edges(self) -> set[tuple[str, str]]:
        """Edges (effect, cause) of its chain."""
        return set(pairwise((*self.chain, self.node)))


_TOP, _MOVING, _WAIT, _IDLE = (
    "exposed-communication",
    "data-parallel-communication",
    "collective-wait",
    "host-bound",
)
FAULTS = (
    KnownFault("aicpu-operator", KERNELS, aicpu),
    KnownFault("unsupported-dtype", KERNELS, aicpu_by_type, ("aicpu-operator",)),
    KnownFault("index-operators", KERNELS, indexing, ("aicpu-operator",)),
    KnownFault("memory-bandwidth", KERNELS, pipe("aic_mte2_ratio", "aic_mac_ratio", is_cube)),
    KnownFault("scalar-bound", KERNELS, pipe("aiv_scalar_ratio", "aiv_vec_ratio", is_vector)),
    KnownFault("vector-bound", KERNELS, pipe("aiv_vec_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("move-out-bound", KERNELS, pipe("aiv_mte3_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("fixpipe-bound", KERNELS, pipe("aic_fixpipe_ratio", "aic_mte2_ratio", is_cube)),
    KnownFault("no-bound-operator", KERNELS, no_bound),
    KnownFault("instruction-cache-miss", KERNELS, icache),
    KnownFault("block-dim-imbalance", KERNELS, blocks),
    KnownFault("inner-axis-misalignment", KERNELS, inner_axis),
    KnownFault("attention-dimension-misalignment", KERNELS, head_size),
    KnownFault("frequency-drop", KERNELS, frequency),
    KnownFault("precision-excess", KERNELS, precision),
    KnownFault("layout-transform", KERNELS, inserted("TransData", "InplaceCopy")),
    KnownFault("cast-traffic", KERNELS, inserted("Cast", "Cast")),
    KnownFault("memory-copies", KERNELS, inserted("ConcatD", "Cat")),
    KnownFault("unfused-operators", KERNELS, unfused("Mul", "Rsqrt", "Add", "ReduceMean", "Square", "Cast"),
               ("normalisation-traffic",)),
    KnownFault("fusion-broken-by-dropout", KERNELS, unfused("Mul", "Add", "DropOutDoMask", "Mul", "Add"),
               ("unfused-operators",)),
    KnownFault("cube-vector-round-trip", KERNELS, round_trips),
    KnownFault("recompute-overhead", KERNELS, recompute),
    KnownFault("host-bound", HOST, host),
    KnownFault("kernel-launch-overhead", HOST, launches, (_IDLE,)),
    KnownFault("python-gc-high-latency", HOST, collector, (_IDLE,)),
    KnownFault("slow-dataloader", HOST, loader, (_IDLE,)),
    KnownFault("memory-allocation-stall", HOST, allocation, (_IDLE,)),
    KnownFault("memory-fragmentation", HOST, fragmentation, (_IDLE, "memory-allocation-stall")),
    KnownFault("host-device-synchronisation", HOST, synchronising, (_IDLE,)),
    KnownFault("launch-blocking-set", HOST, blocking, (_IDLE, "host-device-synchronisation")),
    KnownFault("task-queue-off", HOST, queue_off, (_IDLE,)),
    KnownFault("operator-compilation-latency", HOST, compilation, (_IDLE,)),
    KnownFault("dynamic-shape", HOST, changing, (_IDLE, "operator-compilation-latency")),
    KnownFault("collective-wait", COMMUNICATION, collective_wait, (_TOP,)),
    KnownFault("pipeline-bubble", COMMUNICATION, bubble, (_TOP,)),
    KnownFault("data-parallel-communication", COMMUNICATION, more_bytes, (_TOP,)),
    KnownFault("all-to-all-communication", COMMUNICATION, exchange("Transit Time(ms)"), (_TOP,)),
    KnownFault("ep-load-imbalance", COMMUNICATION, exchange("Wait Time(ms)"), (_TOP, _WAIT)),
    KnownFault("bandwidth-contention", COMMUNICATION, contention, (_TOP, _MOVING)),
    KnownFault("small-packets", COMMUNICATION, small_packets, (_TOP, _MOVING)),
    KnownFault("byte-misalignment", COMMUNICATION, odd_bytes, (_TOP, _MOVING)),
    KnownFault("rdma-retransmission", COMMUNICATION, retransmission, (_TOP, _MOVING)),
    KnownFault("slow-link", COMMUNICATION, slow_link, (_TOP, _MOVING)),
    KnownFault("communication-address-misalignment", COMMUNICATION, misaligned_address, (_TOP, _MOVING)),
    KnownFault("slow-rank", COMMUNICATION, slow_rank, (_TOP, _WAIT)),
    KnownFault("dp-load-imbalance", COMMUNICATION, uneven_batch, (_TOP, _WAIT)),
)  # fmt: skip


def quiet(ranks: list[RankFiles]) -> None:
    """A run that only computes: no gaps, no waiting in communication, static shapes, no calls that stop the host.

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
        for cells in rank.rows:
            if cells.get("OP State") == "dynamic":
                cells["OP State"] = "static"
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
