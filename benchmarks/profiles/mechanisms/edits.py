"""Events that mechanisms act on, and edits that several of them make."""

from collections.abc import Callable

import numpy as np

from benchmarks.profiles.mechanisms.rows import call, has
from benchmarks.profiles.profile_files import Random, RankFiles

Edit = Callable[[list[RankFiles], float, Random], bool]


def kernels(rank: RankFiles, *parts: str) -> list[int]:
    """Compute kernels whose kind or name has one of the parts; all without parts; in order of time."""
    rows = [
        row
        for row in rank.compute()
        if not parts
        or any(part in (rank.text(row, "kind") + rank.text(row, "kernel")).lower() for part in parts)
    ]
    return sorted(rows, key=lambda row: rank.start[row])


def on_cores(rank: RankFiles) -> list[int]:
    return [row for row in kernels(rank) if rank.text(row, "core") not in {"AI_CPU", "DSA_SQE", "N/A"}]


def pauses(rank: RankFiles, cost: float, count: int, random: Random) -> None:
    """The host stands still ``count`` times, and the device has nothing to do."""
    rows = rank.uncovered()[1:] or rank.uncovered()
    for length in cost * random.dirichlet(np.full(count, 4.0)):
        rank.delay(rows[int(random.integers(len(rows)))], float(length))


def called(rank: RankFiles, names: dict[str, int], spent: float, level: str = "acl") -> None:
    """Calls of the host that took so long together; a profile without calls notes none."""
    for name, count in names.items():
        call(rank, level, name, spent / len(names), max(1, count))


def model_of(rank: RankFiles, kind: str, like: int, **cells: str) -> dict[str, str]:
    """Cells of a kernel of another kind that runs where a like one does."""
    cells = {rank.column("kernel"): f"aclnn{kind}_{kind}AiCore_{kind}", **cells}
    made = {**rank.rows[like], **{name: text for name, text in cells.items() if name in rank.columns}}
    if made.get(rank.column("kind"), "N/A") != "N/A":
        made[rank.column("kind")] = kind
    return made


def streaming(rank: RankFiles, random: Random) -> dict[str, str]:
    """Counters of a kernel of the vector unit that reads, touches and writes each element once."""
    shares = {"aiv_mte2_ratio": 0.55, "aiv_mte3_ratio": 0.45, "aiv_vec_ratio": 0.2, "aiv_scalar_ratio": 0.06}
    return {
        name: f"{share * random.uniform(0.85, 1.15):.3f}"
        for name, share in shares.items()
        if name in rank.columns
    }


def vector_kernel(rank: RankFiles) -> int | None:
    """A kernel of the vector unit to make others of."""
    rows = [row for row in kernels(rank) if rank.text(row, "core") == "AI_VECTOR_CORE"]
    return max(rows, key=lambda row: rank.duration[row]) if rows else None


def beside_products(kind: str, *, every: int = 1) -> Edit:
    """A kernel that computes nothing before each product and attention, as long as its operand is large."""

    def edit(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        for rank in ranks:
            like = vector_kernel(rank)
            bare = set(rank.uncovered())
            near = [row for row in kernels(rank, "matmul", "conv2d", "flashattention", "mm_") if row in bare][
                ::every
            ]
            if like is None or not near:
                return False
            weights = np.array([rank.duration[row] for row in near]) + 1.0
            for row, part in zip(near, weights / weights.sum(), strict=True):
                rank.insert(row, model_of(rank, kind, like, **streaming(rank, random)), cost * part, gap=0.3)
        return True

    return edit


def in_pieces(parts: tuple[str, ...], kinds: tuple[str, ...]) -> Edit:
    """One fused operator is run as many small ones: what it was is replaced."""

    def edit(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        for rank in ranks:
            like = vector_kernel(rank)
            bare = set(rank.uncovered())
            rows = [row for row in kernels(rank, *parts) if row in bare]
            if like is None or len(rows) < 2 or not has(rank, "Type"):
                return False
            for row in rows:
                share = (cost / len(rows) + rank.duration[row]) / len(kinds)
                for kind in kinds[:-1]:
                    made = model_of(rank, kind, like, **streaming(rank, random))
                    rank.insert(row, made, share * random.uniform(0.8, 1.2), gap=0.4)
                rank.rows[row] = model_of(rank, kinds[-1], like, **streaming(rank, random))
                rank.stretch(row, share - rank.duration[row])
        return True

    return edit
