"""Weights of the blocks of a problem vector, learned from transfer regret.

The weights ship as JSON with where they come from; ``tools/fitting/fit_block_weights.py`` makes them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

import data


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWeights:
    """One weight a block; the squared distance of two problems is ``sum(weight**2 * distance**2)``.

    Attributes:
        kind: Scale of the workload (kernel, operator, training, serving, HPC).
        operator: What runs.
        model: Which model, by the words of its id.
        shape: Its dimensions.
        precision: Number format.
        traits: What else sets the workload, the machine or the software apart.
        objective: The metric and its direction.
        facts: Memory, bandwidth, peaks, units, caches, year of the device.
        known: Which of those facts are known.
        tree: Place in the hardware tree.
        count: Number of devices.
        bottlenecks: Observed shares.
        limits: Bounds on other metrics.
        text: The words.
    """

    kind: float = 1.0
    operator: float = 1.0
    model: float = 1.0
    shape: float = 1.0
    precision: float = 1.0
    traits: float = 1.0
    objective: float = 1.0
    facts: float = 1.0
    known: float = 1.0
    tree: float = 1.0
    count: float = 1.0
    bottlenecks: float = 1.0
    limits: float = 1.0
    text: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a weight that would turn a difference into likeness."""
        for block, weight in self.as_dict().items():
            if not 0 <= weight < float("inf"):
                raise ValueError(f"weight of {block}: {weight}")

    def as_dict(self) -> dict[str, float]:
        """Weights by block."""
        return asdict(self)

    @classmethod
    def shipped(cls) -> BlockWeights:
        """Load the weights of ``data/retrieval/weights.json``."""
        weights = json.loads(data.text("retrieval/weights.json"))["weights"]
        return cls(**{item.name: float(weights[item.name]) for item in fields(cls)})
