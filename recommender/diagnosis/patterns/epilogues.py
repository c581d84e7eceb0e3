"""Round trips between cube and vector cores: a small operator reads what a matrix product has just written.

P: elements of the product; O: of the operator's other inputs; R: of its result. Apart, P is written and read
once more. In the product's epilogue only O is read and R written, so of its P + O + R the reading of O stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import MetricReading, kernel_evidence
from recommender.diagnosis.rank.kinds import ELEMENTWISE, PRODUCTS, kernel_kind, of_kind, pair_counts, volumes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Kernels
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import KernelView
    from recommender.diagnosis.thresholds import Thresholds

_NOT_FUSED = frozenset({"cast", "softmax", "reducemean", "reducesum"})
"""Casts are traffic of their own, and what reduces over a row needs all of the row first."""
NODE = "cube-vector-round-trip"
METRIC = "epilogue_count"


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of operators that an epilogue could hold; those in longer chains are left to ``chains``."""
    kernels = view.kernels
    if not thresholds.has(NODE, METRIC) or kernels is None or view.total_us <= 0:
        return
    if not (kernels.start_ns != UNKNOWN_NS).any():
        return
    if not any(text.strip(" ;") for text in kernels.texts["output_shapes"].labels):
        return
    readers, products = _pairs(kernels)
    in_chains = pair_counts(view.chains[0], len(kernels))
    kept = thresholds.shows("unfused-operators", "fusible_chain_count", in_chains[readers]) < 0.5
    readers, products = readers[kept], products[kept]
    outputs = volumes(kernels.texts["output_shapes"])
    product = outputs[products]
    traffic = volumes(kernels.texts["input_shapes"])[readers] + outputs[readers]
    saved = np.clip((product + outputs[readers]) / np.maximum(traffic, 1.0), 0, 1)
    lost = np.zeros(len(kernels))
    shown = float(thresholds.shows(NODE, METRIC, float(len(readers))))
    lost[readers] = shown * (kernels.duration_us * view.exclusive)[readers] * saved
    made = int(of_kind(kernels, PRODUCTS).sum())
    part = len(readers) / made if made else 0.0
    yield kernel_evidence(
        view,
        NODE,
        lost,
        f"{len(readers)} of {made} matrix products are written out and read by a small operator right after: "
        f"{view.costliest(lost)} could go in their epilogue",
        MetricReading(metric=METRIC, value=float(len(readers)), unit="1"),
        level=part,
    )


def _pairs(kernels: Kernels) -> tuple[np.ndarray, np.ndarray]:
    """Rows of small operators, and of the products just before them on their stream that they read."""
    label, shapes, results = kernels.label, kernels.texts["input_shapes"], kernels.texts["output_shapes"]
    small = label.where(_is_small(kernel_kind(text)) for text in label.labels) & ~kernels.is_aicpu
    product = of_kind(kernels, PRODUCTS) & (kernels.start_ns != UNKNOWN_NS)
    stream = kernels.texts["stream"].codes
    order = np.lexsort((kernels.start_ns, stream))
    before, after = order[:-1], order[1:]
    beside = product[before] & small[after] & (stream[before] == stream[after])
    before, after = before[beside], after[beside]
    reads = np.array(
        [_first(results[b]) in _parts(shapes[a]) for b, a in zip(before, after, strict=True)], np.bool_
    )
    return after[reads], before[reads]


def _is_small(kind: str) -> bool:
    return kind in ELEMENTWISE and kind not in _NOT_FUSED


def _first(shapes: str) -> tuple[str, ...]:
    return _parts(shapes)[0]


def _parts(shapes: str) -> list[tuple[str, ...]]:
    """Sizes of each tensor, ones left out; a tensor that was not collected fits none."""
    tensors = [
        tuple(size.strip() for size in part.strip('" ').split(",") if size.strip() != "1")
        for part in shapes.split(";")
    ]
    return [sizes if any(sizes) else ("?", str(place)) for place, sizes in enumerate(tensors)]
