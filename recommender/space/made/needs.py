"""Rules of a kernel that rest on a fact of the device; skipped with a note where the fact is unknown."""

from collections.abc import Mapping
from dataclasses import dataclass

from recommender.cost_model.facts.device import Device
from recommender.space.made.generated import SpaceDraft, rule

MOST_THREADS = 1024
"""Threads of a block (CUDA C++ Programming Guide, technical specifications; the same in HIP)."""
CUDA_GUIDE = "CUDA C++ Programming Guide, technical specifications"
STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory that a block of any CUDA device may declare (the same)."""
MOST_REGISTERS = 255
"""32-bit registers of a thread (the same)."""
FRACTAL = 16
"""Side of the blocks of 16-bit numbers that a cube of Ascend multiplies."""


@dataclass(frozen=True, slots=True)
class Need:
    """A need of a configuration that a fact of the device bounds.

    Attributes:
        fact: What the device has, as a fact of the knowledge.
        used: How much is taken, an expression over the parameters.
        reason: In words.
        source: Where the rule is from.
    """

    fact: str
    used: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRequest:
    """A kernel for which a space is made.

    Attributes:
        sizes: Of the problem, by name.
        element_bytes: Of an operand's element.
        device: Where it runs.
        block: Side of the blocks that share a scale; None where the operands are not quantised by blocks.
        grouped: Whether it is many products, each of some of the rows: then blocks are not told by the sizes.
        spills: Whether sums may outgrow the registers of a thread.
    """

    sizes: Mapping[str, int]
    element_bytes: float
    device: Device
    block: int | None = None
    grouped: bool = False
    spills: bool = True

    def ask(self, draft: SpaceDraft, *needs: Need) -> None:
        """Put needs into a draft as constraints, and those that cannot be asked with the fact they lack."""
        for need in needs:
            held = self.device.get(need.fact)
            if held is None:
                draft.skipped.append(f"{need.reason}: {need.fact} of {self.device.id} is not known")
            else:
                reason = f"{need.reason}, {held:.0f}"
                draft.constraints.append(rule(f"{need.used} <= {held:.0f}", reason, need.source))


def is_nvidia(device: Device) -> bool:
    """True for a device whose compute capability is CUDA's."""
    return str(device.facts.get("compute_capability", ""))[:1].isdigit()


def is_amd(device: Device) -> bool:
    """True for a device whose compute capability is a target of AMD's."""
    return str(device.facts.get("compute_capability", "")).startswith("gfx")
