"""Mechanisms of the host in folders of profiles without a trace, hooks on a simulated capture as in traces.

``cost`` is the time to lose in a step.
"""

from dataclasses import replace

import numpy as np

from benchmarks.profiles.mechanisms.of_traces import (
    SAVE,
    WAIT,
    TracedMechanism,
    compiled,
    hook_at,
    reserved,
    saved,
    slow_host,
    standstill,
    starved_growing,
    starved_unseen,
    values_read,
    waits_by_hand,
)
from benchmarks.profiles.traced_runs import Run, World, with_hook


def accumulated(world: World, cost: float, random: np.random.Generator) -> World | None:
    """The second micro-batch of each step waits for its data, in the middle of the step."""

    def act(run: Run, step: int) -> None:
        run.wait()
        run.pause(cost)
        run.forward()
        run.backward()

    return with_hook(world, hook_at("forward", act)) if world.is_training else None


def saved_by_copies(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Every third step the weights are copied to the host one by one and written."""

    def act(run: Run, step: int) -> None:
        if step % 3 == 2:
            saves = len(range(2, world.steps, 3))
            for _ in range(60):
                run.copy("DtoH (Device -> Pageable)", 4.0, 0.3 * cost * world.steps / saves / 60)
            run.pause(0.7 * cost * world.steps / saves, ("python_function", SAVE))

    return with_hook(world, hook_at("end", act)) if world.is_training and world.steps > 5 else None


def copied_blocking(world: World, cost: float, random: np.random.Generator) -> World:
    """The batch is copied from pageable memory, piece by piece, before the step's work."""

    def act(run: Run, step: int) -> None:
        for _ in range(8):
            run.copy("HtoD (Pageable -> Device)", cost / 10, cost / 8)

    return with_hook(world, hook_at("begin", act))


def growing_host(world: World, cost: float, random: np.random.Generator) -> World:
    """A list of Python grows from step to step, and is walked before each layer: the device runs dry."""

    def act(run: Run, step: int) -> None:
        run.now = max(run.now, run.busy_to) + 2 * cost * (step + 1) / (world.steps + 1) / world.layers

    return with_hook(world, hook_at("layer", act))


def migrated(world: World, cost: float, random: np.random.Generator) -> World:
    """Move the host's thread to another socket in the middle of the recording: launches then take long."""
    count = len(world.layer) * world.layers * (3 if world.is_training else 1)
    slow = sum(t for _, t in world.layer) * world.size / len(world.layer) * 1.1 + 2 * cost / count

    def act(run: Run, step: int) -> None:
        run.world = replace(run.world, launch_us=slow if 2 * step >= world.steps else world.launch_us)

    return with_hook(world, hook_at("begin", act))


def first_steps(world: World, cost: float, random: np.random.Generator) -> World:
    """The first two steps take their memory from the driver, block by block."""

    def act(run: Run, step: int) -> None:
        if step < 2:
            run.wait()
            for _ in range(4):
                run.pause(cost * world.steps / world.layers / 8, ("cuda_runtime", f"{world.runtime}Malloc"))

    return with_hook(world, hook_at("layer", act))


def collected_rarely(world: World, cost: float, random: np.random.Generator) -> World:
    """The collector runs a few times, wherever the step is, and once in a step."""
    often = max(2, world.steps // 3)
    steps = {
        int(step): int(random.integers(1, world.layers - 1))
        for step in random.permutation(world.steps)[:often]
    }
    at: dict[int, int] = {}

    def act(run: Run, step: int) -> None:
        at[step] = at.get(step, -1) + 1
        if at[step] == steps.get(step):
            run.now = max(run.now, run.busy_to)
            run.pause(cost * world.steps / often, ("python_function", "<built-in function collect>"))

    clear = hook_at("begin", lambda run, step: at.clear() if step == 0 else None)
    return with_hook(world, clear, hook_at("layer", act))


_HOST = frozenset({"host-bound", "kernel-launch-overhead"})
IN_FOLDERS = (
    TracedMechanism("a pipeline without ranges", frozenset({"slow-dataloader"}), starved_unseen),
    TracedMechanism("workers get slower", frozenset({"slow-dataloader"}), starved_growing),
    TracedMechanism("a micro-batch is late", frozenset({"host-bound", "slow-dataloader"}), accumulated),
    TracedMechanism("garbage is collected now and then", frozenset({"python-gc-high-latency"}), collected_rarely),
    TracedMechanism("values are read", WAIT | {"item-calls", "device-to-host-copies"}, values_read),
    TracedMechanism("a timer synchronises", WAIT, waits_by_hand),
    TracedMechanism("weights are copied and written", frozenset({"checkpoint-stall"}), saved_by_copies),
    TracedMechanism("checkpoints are written", frozenset({"checkpoint-stall"}), saved),
    TracedMechanism("batches in pageable memory", WAIT | {"host-to-device-copy", "pageable-memory"}, copied_blocking),
    TracedMechanism("the cache is emptied", frozenset({"memory-allocation-stall"}), reserved),
    TracedMechanism("first steps take memory", frozenset({"memory-allocation-stall"}), first_steps),
    TracedMechanism("the compiler runs again", frozenset({"operator-compilation-latency", "dynamic-shape"}), compiled),
    TracedMechanism("launches take long", _HOST, slow_host),
    TracedMechanism("the host moves", _HOST, migrated),
    TracedMechanism("a list grows", frozenset({"host-bound"}), growing_host),
    TracedMechanism("the host stands still", frozenset({"host-bound"}), standstill),
)  # fmt: skip
"""Mechanisms of the host as a folder without a trace shows them: by tables and sums."""
