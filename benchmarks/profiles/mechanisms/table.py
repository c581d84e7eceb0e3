"""Faults by mechanism: edits of time, memory and calls that say what the world does, not what shows.

Each takes the files of a run's ranks and a time to lose, spends it as the mechanism does, and leaves what
the job loses by itself where it is. Counters, shapes and calls follow from the mechanism; no threshold of an
analyser is looked at. The list was fixed before the inference was changed, and is not to follow it.
"""

from dataclasses import dataclass

from benchmarks.profiles.mechanisms.edits import Edit, beside_products, in_pieces
from benchmarks.profiles.mechanisms.of_hosts import (
    blocking,
    collected,
    late_launches,
    recompiled,
    remapped,
    reserved_again,
    saved,
    scalars_read,
    slow_host,
    starved,
)
from benchmarks.profiles.mechanisms.of_kernels import (
    aicpu,
    autocast_off,
    contended_memory,
    half_the_cores,
    odd_width,
    recomputed,
    throttled,
)
from benchmarks.profiles.mechanisms.of_links import (
    bad_cable,
    lost_packets,
    more_bytes,
    straggler_elsewhere,
    uneven_batch,
)


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
    Mechanism("a device's clock falls", frozenset({"frequency-drop"}), throttled),
    Mechanism("autocast is off", frozenset({"precision-excess"}), autocast_off),
    Mechanism("an operator has no kernel", frozenset({"aicpu-operator", "unsupported-dtype"}), aicpu),
    Mechanism("activations computed again", frozenset({"recompute-overhead"}), recomputed),
    Mechanism("half the cores have no block", frozenset({"block-dim-imbalance"}), half_the_cores),
    Mechanism("memory is shared", frozenset({"memory-bandwidth"}), contended_memory),
    Mechanism("odd inner width", frozenset({"inner-axis-misalignment"}), odd_width),
    Mechanism("layouts do not match", frozenset({"layout-transform"}), beside_products("TransData")),
    Mechanism("types do not match", frozenset({"cast-traffic"}), beside_products("Cast")),
    Mechanism("views are made contiguous", frozenset({"memory-copies"}), beside_products("ViewCopy", every=2)),
    Mechanism("attention is not fused", frozenset({"unfused-operators", "attention-memory-traffic", "affinity-api-not-used"}),
              in_pieces(("flashattentionscore",), _ATTENTION)),
    Mechanism("norms are not fused", frozenset({"unfused-operators", "normalisation-traffic", "affinity-api-not-used"}),
              in_pieces(("norm",), _NORM)),
    Mechanism("the host's cores are shared", frozenset({"host-bound"}), slow_host),
    Mechanism("kernels shorter than launches", frozenset({"kernel-launch-overhead"}), late_launches),
    Mechanism("scalars are read", frozenset({"host-device-synchronisation"}), scalars_read),
    Mechanism("launches block", frozenset({"launch-blocking-set"}), blocking),
    Mechanism("shapes are compiled again", frozenset({"operator-compilation-latency", "dynamic-shape"}), recompiled),
    Mechanism("workers are too slow", frozenset({"slow-dataloader"}), starved),
    Mechanism("garbage is collected", frozenset({"python-gc-high-latency"}), collected),
    Mechanism("memory is mapped again", frozenset({"memory-allocation-stall"}), remapped),
    Mechanism("memory is reserved again", frozenset({"memory-allocation-stall"}), reserved_again),
    Mechanism("a checkpoint is written", frozenset({"host-bound"}), saved),
    Mechanism("gradients in 32 bit", frozenset({"data-parallel-communication"}), more_bytes),
    Mechanism("a link is bad", frozenset({"slow-link"}), bad_cable),
    Mechanism("batches differ in length", frozenset({"dp-load-imbalance"}), uneven_batch),
    Mechanism("a straggler outside", frozenset({"collective-wait"}), straggler_elsewhere),
    Mechanism("packets are lost", frozenset({"rdma-retransmission"}), lost_packets),
)  # fmt: skip
