"""Work that does not divide evenly: shapes over the tiles of a core, blocks over the cores."""

import math
import re
from collections.abc import Callable, Iterator

import numpy as np

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.kernels import Floats, Mask, TextColumn
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.rank.kinds import ATTENTION, PRODUCTS, of_kind, shapes_of
from recommender.diagnosis.rank.units import BUSY, pipe_use
from recommender.diagnosis.rank.view import LEAST_US, KernelView
from recommender.diagnosis.thresholds import Thresholds

_UNALIGNED = re.compile(r"align[12](?!\d)")
HALF = 0.5
"""Part of the time of such a product that aligned sizes would save. Assumed: its loads are a quarter as wide
or less, and half of the time is theirs."""
_INNER, _ATTENTION = 256, 128
"""Elements of which a matrix's inner axis, and head size and length of attention, should be multiples."""


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of padding in products and attention, and of cores that idle in the last round."""
    kernels = view.kernels
    if view.total_us <= 0:
        return
    own = kernels.duration_us * view.exclusive
    if view.rank.layout in GPU_LAYOUTS:
        yield from _number_by_number(view, own)
        return
    for node, metric, kinds, padding, says in (
        ("inner-axis-misalignment", f"inner_axis_remainder_{_INNER}", PRODUCTS, _inner_waste,
         f"inner axes that are no multiple of {_INNER}"),
        ("attention-dimension-misalignment", f"attention_dimension_remainder_{_ATTENTION}", ATTENTION,
         _attention_waste, f"attention whose head size or length is no multiple of {_ATTENTION}"),
    ):  # fmt: skip
        mine = of_kind(kernels, kinds)
        waste = _waste(kernels.texts["input_shapes"], mine, padding)
        shown = thresholds.shows(node, metric, (waste > 0).astype(float))
        lost = np.where(mine, shown * own * waste, 0.0)
        part = float((waste[mine] > 0).mean()) if mine.any() else 0.0
        yield _evidence(view, node, lost, f"{says}: {view.costliest(lost)} is padding", metric, part)
    yield from _blocks(view, thresholds, own)


def _number_by_number(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Products of GPUs in kernels for sizes that are no multiples of 16 bytes, as their names say."""
    name = view.kernels.texts["name"]
    odd = name.where(bool(_UNALIGNED.search(label)) for label in name.labels)
    odd &= of_kind(view.kernels, PRODUCTS)
    if odd.any():
        lost = np.where(odd, HALF * own, 0.0)
        says = f"products load one or two numbers at a time (align1, align2): {view.costliest(lost)} could go"
        part = float(odd.mean())
        yield _evidence(view, "inner-axis-misalignment", lost, says, "share of kernels not aligned", part)


def _evidence(view: KernelView, node: str, lost: Floats, says: str, metric: str, part: float) -> SoftEvidence:
    reading = MetricReading(metric=metric, value=part, unit="1")
    return kernel_evidence(view, node, lost, says, reading, level=part)


def _waste(shapes: TextColumn, mine: Mask, padding: Callable[[str], float]) -> Floats:
    """Share of each kernel's time that goes into padding, shape (n,); 0 for those that are not ``mine``."""
    relevant = set(np.unique(shapes.codes[mine]))
    by_shape = np.array([padding(text) if i in relevant else 0.0 for i, text in enumerate(shapes.labels)])
    return by_shape[shapes.codes]


def _blocks(view: KernelView, thresholds: Thresholds, own: Floats) -> Iterator[SoftEvidence]:
    """Cores that idle in the last round of blocks, or altogether."""
    kernels = view.kernels
    if not view.cores:
        return
    core = kernels.texts["core"]
    vector = core.where(label in {"AI_VECTOR_CORE", "AIV", "MIX_AIV"} for label in core.labels)
    cores = np.where(vector, 2 * view.cores, view.cores)
    blocks = kernels.numbers["blocks"]
    known = np.nan_to_num(blocks) > 0
    rounds = np.ceil(np.where(known, blocks, 1) / cores)
    idle = np.where(known, 1 - np.where(known, blocks, 1) / (rounds * cores), 0.0)
    over = known & (blocks > cores) & (idle > 0)
    # Fewer blocks than cores cost what the cores at work are busy with: the others could take it.
    _, use, counted = pipe_use(kernels)
    under = known & (blocks < cores) & counted & ~kernels.is_aicpu & (kernels.duration_us > LEAST_US)
    idle = np.where(under, idle * use.max(axis=0), idle)
    partly = over | (under & (use.max(axis=0) >= BUSY))
    shown = thresholds.shows("block-dim-imbalance", "block_dim_remainder", partly.astype(float))
    lost = np.where(partly, shown * own * idle, 0.0)
    says = f"blocks that do not fill {view.cores:g} cube cores: {view.costliest(lost)} is idle cores"
    yield _evidence(view, "block-dim-imbalance", lost, says, "block_dim_remainder", float(partly.mean()))


def _padding(size: int, multiple: int) -> float:
    """Share of a tile row that is padding."""
    return 1 - size / (math.ceil(size / multiple) * multiple) if size > 0 else 0.0


def _inner_waste(text: str) -> float:
    return max((_padding(shape[-1], _INNER) for shape in shapes_of(text)[:2] if len(shape) > 1), default=0.0)


def _attention_waste(text: str) -> float:
    first = next((shape for shape in shapes_of(text) if len(shape) >= 3), ())
    if not first:
        return 0.0
    size = first[-1] if len(first) == 4 else 0  # BSH and SBH hide the head size in the width
    length = max(first[:-1])
    return max(_padding(size, _ATTENTION) if size else 0.0, _padding(length, _ATTENTION))
