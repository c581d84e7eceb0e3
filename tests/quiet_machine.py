"""CPU seconds of this machine for those of a quiet one: a limit on time holds on a slow or busy one too."""

import time
from collections.abc import Sequence

from benchmarks.kinds.command_line import BUDGET_S, CommandLine, CommandResult

REFERENCE_S = 0.1
"""CPU seconds of the yardstick where `tunegraph --help` takes 0.12, as in docs/figures.md; it took 0.24 on a machine on
which that took 0.28."""


def cpu_seconds(quiet_s: float) -> float:
    """As many seconds of this machine, now, as so many of a quiet one; never fewer."""
    took = []
    for _ in range(3):
        begun, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number * number
        took.append(time.process_time() - begun)
    return quiet_s * max(1.0, min(took) / REFERENCE_S)


def run_in_budget(line: CommandLine, words: Sequence[str]) -> CommandResult:
    """The end of a command line; one whose time was spent is run again in that of the machine as it is now."""
    result = line.run(words)
    if result.code != -2:
        return result
    line.budget_s = cpu_seconds(BUDGET_S)
    return line.run(words)
