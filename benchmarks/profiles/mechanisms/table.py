"""Faults by mechanism: edits of time, memory and calls that say what the world does, not what shows.

Each takes the files of a run's ranks and a time to lose, spends it as the mechanism does, and leaves what
the job loses by itself where it is. Counters, shapes and calls follow from the mechanism; no threshold of an
analyser is looked at. The list was fixed before the inference was changed, and is not to follow it.
"""

from dataclasses import dataclass

from benchmarks.profiles.mechanisms import of_hosts, of_kernels, of_links
from benchmarks.profiles.mechanisms.edits import Edit, beside_products, in_pieces


@dataclass(frozen=True)
class Mechanism:
    """One way in which a run loses time.

    Attributes:
        name: What the world does.
        nodes: Ids in the knowledge that name it; the first named must be one of them.
        edit: Puts it in; false where the job has nothing that it acts on.
    """

    name: str
    nodes: frozenset[str]
    edit: Edit


_ATTENTION = ("BatchMatMul", "Mul", "Add", "SoftmaxV2", "Cast", "BatchMatMul")
_NORM = ("Cast", "Square", "ReduceMean", "Add", "Rsqrt", "Mul", "Mul")
MECHANISMS = (
    Mechanism("a device's clock falls", frozenset({"frequency-drop"}), of_kernels.throttled),
    Mechanism("autocast is off", frozenset({"precision-excess"}), of_kernels.autocast_off),
    Mechanism("an operator has no kernel", frozenset({"aicpu-operator", "unsupported-dtype"}), of_kernels.aicpu),
    Mechanism("activations computed again", frozenset({"recompute-overhead"}), of_kernels.recomputed),
    Mechanism("half the cores have no block", frozenset({"block-dim-imbalance"}), of_kernels.half_the_cores),
    Mechanism("memory is shared", frozenset({"memory-bandwidth"}), of_kernels.contended_memory),
    Mechanism("odd inner width", frozenset({"inner-axis-misalignment"}), of_kernels.odd_width),
    Mechanism("layouts do not match", frozenset({"layout-transform"}), beside_products("TransData")),
    Mechanism("types do not match", frozenset({"cast-traffic"}), beside_products("Cast")),
    Mechanism("views are made contiguous", frozenset({"memory-copies"}), beside_products("ViewCopy", every=2)),
    Mechanism("attention is not fused", frozenset({"unfused-operators", "attention-memory-traffic", "affinity-api-not-used"}),
              in_pieces(("flashattentionscore",), _ATTENTION)),
    Mechanism("norms are not fused", frozenset({"unfused-operators", "normalisation-traffic", "affinity-api-not-used"}),
              in_pieces(("norm",), _NORM)),
    Mechanism("the host's cores are shared", frozenset({"host-bound"}), of_hosts.slow_host),
    Mechanism("kernels shorter than launches", frozenset({"kernel-launch-overhead"}), of_hosts.late_launches),
    Mechanism("scalars are read", frozenset({"host-device-synchronisation"}), of_hosts.scalars_read),
    Mechanism("launches block", frozenset({"launch-blocking-set"}), of_hosts.blocking),
    Mechanism("shapes are compiled again", frozenset({"operator-compilation-latency", "dynamic-shape"}), of_hosts.recompiled),
    Mechanism("workers are too slow", frozenset({"slow-dataloader"}), of_hosts.starved),
    Mechanism("garbage is collected", frozenset({"python-gc-high-latency"}), of_hosts.collected),
    Mechanism("memory is mapped again", frozenset({"memory-allocation-stall"}),
              of_hosts.stopped(("aclrtUnmapMem", "aclrtMapMem"), (20, 80))),
    Mechanism("memory is reserved again", frozenset({"memory-allocation-stall"}),
              of_hosts.stopped(("aclrtFreePhysical", "aclrtMallocPhysical"), (8, 30))),
    Mechanism("a checkpoint is written", frozenset({"host-bound"}), of_hosts.saved),
    Mechanism("gradients in 32 bit", frozenset({"data-parallel-communication"}), of_links.more_bytes),
    Mechanism("a link is bad", frozenset({"slow-link"}), of_links.bad_cable),
    Mechanism("batches differ in length", frozenset({"dp-load-imbalance"}), of_links.uneven_batch),
    Mechanism("a straggler outside", frozenset({"collective-wait"}), of_links.straggler_elsewhere),
    Mechanism("packets are lost", frozenset({"rdma-retransmission"}), of_links.lost_packets),
)  # fmt: skip
