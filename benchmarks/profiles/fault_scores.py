"""Counts of how often a way to name causes names a known fault, and how sure it says it is."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from benchmarks.profiles import profile_faults
from benchmarks.profiles.profile_faults import KnownFault


class Score:
    """Counts of one way."""

    def __init__(self) -> None:
        self.singles: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        self.pairs: list[bool] = []
        self.edges = [0, 0, 0]
        self.claims: list[tuple[float, bool]] = []
        self.healthy: list[bool] = []

    def single(self, fault: KnownFault, found: Sequence[tuple[str, float, tuple[str, ...]]]) -> None:
        names = [name for name, _, _ in found]
        self.singles[fault.node].append((names[:1] == [fault.node], fault.node in names))
        self.claims += [(chance, name == fault.node or is_of_chain(name, fault)) for name, chance, _ in found]
        wanted = fault.edges
        # A fault put into the kernels of one rank makes that rank the slow one: the edge that says so is true,
        # and counts neither way because it is not what was put in.
        told = {edge for _, _, chain in found[:1] for edge in pairwise(chain)} - {("slow-rank", fault.node)}
        if wanted or told:
            self.edges[0] += len(wanted & told)
            self.edges[1] += len(told)
            self.edges[2] += len(wanted)

    def figures(self) -> dict[str, object]:
        rows = [row for rows in self.singles.values() for row in rows]
        right, told, wanted = self.edges
        return {
            "n_single": len(rows), "top1": mean(a for a, _ in rows), "top3": mean(b for _, b in rows),
            "n_kinds": len(self.singles),
            "worst_kind_top1": min((mean(a for a, _ in rows) or 0.0 for rows in self.singles.values()), default=None),
            "n_pairs": len(self.pairs), "pair_both": mean(self.pairs),
            "chain_edge_f1": 2 * right / (told + wanted) if told + wanted else None,
            "n_healthy": len(self.healthy), "false_accusation": mean(self.healthy),
            "calibration_error": calibration(self.claims), "n_claims": len(self.claims),
            "said_and_held": reliability(self.claims),
        }  # fmt: skip


def is_of_chain(name: str, fault: KnownFault) -> bool:
    """Whether a name is an effect through which the fault works: true, if not the deepest.

    A fault in the kernels of one rank of several makes that rank the slow one.
    """
    return any(name in edge for edge in fault.edges) or (
        name == "slow-rank" and fault.about == profile_faults.KERNELS
    )


def mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(float(np.mean(listed)), 4) if listed else None


def calibration(claims: list[tuple[float, bool]], bins: int = 5) -> float | None:
    """Expected calibration error: confidence against how often it is right, in bins of equal number."""
    if not claims:
        return None
    table = reliability(claims, bins)
    return round(sum(abs(said - held) * n for said, held, n in table) / len(claims), 4)


def reliability(claims: list[tuple[float, bool]], bins: int = 5) -> list[tuple[float, float, int]]:
    """Mean confidence, share that was right and number, bin by bin."""
    ordered = sorted(claims)
    parts = np.array_split(np.arange(len(ordered)), min(bins, max(1, len(ordered))))
    return [
        (
            round(float(np.mean([ordered[i][0] for i in part])), 4),
            round(float(np.mean([ordered[i][1] for i in part])), 4),
            len(part),
        )
        for part in parts
        if len(part)
    ]
