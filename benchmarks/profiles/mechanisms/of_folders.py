"""Mechanisms of the host in folders of profiles without a trace, actions on a simulated capture as in traces.

``cost`` is the time to lose in a step.
"""

from dataclasses import replace

import numpy as np

from benchmarks.profiles.mechanisms import of_traces
from benchmarks.profiles.mechanisms.of_traces import (
    COLLECT,
    SAVE,
    WAIT,
    TracedMechanism,
    hooked,
    slow_launch_us,
)
from benchmarks.profiles.traced_runs import Run, World


@hooked("forward", phase="training")
def accumulated(run: Run, step: int, cost: float) -> None:
    """The second micro-batch of each step waits for its data, in the middle of the step."""
    run.wait()
    run.pause(cost)
    run.forward()
    run.backward()


@hooked("end", phase="training")
def saved_by_copies(run: Run, step: int, cost: float) -> None:
    """Every third step the weights are copied to the host one by one and written."""
    whole = cost * run.world.steps / max(len(range(2, run.world.steps, 3)), 1)
    if step % 3 == 2:
        for _ in range(60):
            run.copy("DtoH (Device -> Pageable)", 4.0, 0.3 * whole / 60)
        run.pause(0.7 * whole, SAVE)


@hooked("begin")
def copied_blocking(run: Run, step: int, cost: float) -> None:
    """The batch is copied from pageable memory, piece by piece, before the step's work."""
    for _ in range(8):
        run.copy("HtoD (Pageable -> Device)", cost / 10, cost / 8)


@hooked("layer")
def growing_host(run: Run, step: int, cost: float) -> None:
    """A list of Python grows from step to step, and is walked before each layer: the device runs dry."""
    share = 2 * (step + 1) / (run.world.steps + 1)
    run.now = max(run.now, run.busy_to) + cost * share / run.world.layers


def migrated(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Move the host's thread to another socket in the middle of the recording: launches then take long."""
    count = len(world.layer) * world.layers * (3 if world.is_training else 1)
    slow = slow_launch_us(world, 2 * cost / count)

    def act(run: Run, step: int, cost: float) -> None:
        run.world = replace(run.world, launch_us=slow if 2 * step >= world.steps else world.launch_us)

    return hooked("begin")(act)(world, cost, random)


@hooked("layer")
def first_steps(run: Run, step: int, cost: float) -> None:
    """The first two steps take their memory from the driver, block by block."""
    if step < 2:
        run.wait()
        each = cost * run.world.steps / run.world.layers / 8
        for _ in range(4):
            run.pause(each, ("cuda_runtime", f"{run.world.runtime}Malloc"))


def collected_rarely(world: World, cost: float, random: np.random.Generator) -> World | None:
    """The collector runs a few times, wherever the step is, and once in a step."""
    often = max(2, world.steps // 3)
    layers = {
        int(step): int(random.integers(1, world.layers - 1))
        for step in random.permutation(world.steps)[:often]
    }

    def act(run: Run, step: int, cost: float) -> None:
        if run.layer == layers.get(step):
            run.now = max(run.now, run.busy_to)
            run.pause(cost * world.steps / often, COLLECT)

    return hooked("layer")(act)(world, cost, random)


_HOST = frozenset({"host-bound", "kernel-launch-overhead"})
IN_FOLDERS = (
    TracedMechanism("a pipeline without ranges", frozenset({"slow-dataloader"}), of_traces.starved_unseen),
    TracedMechanism("workers get slower", frozenset({"slow-dataloader"}), of_traces.starved_growing),
    TracedMechanism("a micro-batch is late", frozenset({"host-bound", "slow-dataloader"}), accumulated),
    TracedMechanism("garbage is collected now and then", frozenset({"python-gc-high-latency"}), collected_rarely),
    TracedMechanism("values are read", WAIT | {"item-calls", "device-to-host-copies"}, of_traces.values_read),
    TracedMechanism("a timer synchronises", WAIT, of_traces.waits_by_hand),
    TracedMechanism("weights are copied and written", frozenset({"checkpoint-stall"}), saved_by_copies),
    TracedMechanism("checkpoints are written", frozenset({"checkpoint-stall"}), of_traces.saved),
    TracedMechanism("batches in pageable memory", WAIT | {"host-to-device-copy", "pageable-memory"}, copied_blocking),
    TracedMechanism("the cache is emptied", frozenset({"memory-allocation-stall"}), of_traces.reserved),
    TracedMechanism("first steps take memory", frozenset({"memory-allocation-stall"}), first_steps),
    TracedMechanism("the compiler runs again", frozenset({"operator-compilation-latency", "dynamic-shape"}), of_traces.compiled),
    TracedMechanism("launches take long", _HOST, of_traces.slow_host),
    TracedMechanism("the host moves", _HOST, migrated),
    TracedMechanism("a list grows", frozenset({"host-bound"}), growing_host),
    TracedMechanism("the host stands still", frozenset({"host-bound"}), of_traces.standstill),
)  # fmt: skip
"""Mechanisms of the host as a folder without a trace shows them: by tables and sums."""
