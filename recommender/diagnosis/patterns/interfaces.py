"""Sequences of operators for which there is one fused interface: the affinity rule of msprof-analyze.

The advisor matches operators of the host's timeline; here it is what they became on the device. Casts in
between are passed over.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.kernels import UNKNOWN_NS
from ingest.profiles.facts.place import FactPlace
from recommender.diagnosis.evidence import MetricReading, setting_evidence
from recommender.diagnosis.rank.kinds import kernel_kind
from recommender.diagnosis.rank.view import PLACES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Codes, Mask
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import KernelView
    from recommender.diagnosis.thresholds import Thresholds

_PRODUCT = ("batchmatmul", "matmul")
_ADD = ("add", "adds")
_SCALE = ("mul", "muls", "div", "divs", "realdiv")
_SQUARE = ("pow", "pows", "square", "mul")
_ACTIVATION = ("swish", "silu", "sigmoid")
SEQUENCES = (
    ("torch_npu.npu_fusion_attention", (_PRODUCT, _SCALE, ("softmax",), _PRODUCT)),
    ("torch_npu.npu_fusion_attention", (_PRODUCT, _SCALE, _ADD, ("softmax",), _PRODUCT)),
    ("torch_npu.npu_fusion_attention", (_PRODUCT, _SCALE, ("maskedfill",), ("softmax",), _PRODUCT)),
    ("torch_npu.npu_scaled_masked_softmax", (_SCALE, ("maskedfill",), ("softmax",))),
    ("torch_npu.npu_rms_norm", (_SQUARE, ("reducemean",), _ADD, ("rsqrt",), ("mul",))),
    ("torch_npu.npu_rotary_mul", (("neg",), ("concat",), ("mul",), ("add",))),
    ("torch_npu.npu_swiglu", (_ACTIVATION, ("mul",))),
    ("torch_npu.npu_geglu", (("gelu",), ("mul",))),
    ("torch_npu.fast_gelu", (("erf",), _ADD, ("mul", "muls"))),
    ("torch_npu.npu_group_norm_silu", (("groupnorm", "groupnormswish"), _ACTIVATION)),
    ("torch_npu.npu_add_layer_norm", (("add",), ("layernorm",))),
    ("torch_npu.optim.NpuFusedAdam or NpuFusedAdamW", (("addcmul",), ("sqrt",))),
    ("torch_npu.optim.NpuFusedSGD", (("foreachmulscalar",), ("foreachaddlist",))),
)  # fmt: skip
"""Interface, and the kinds of kernels that stand for it, one after the other. The interfaces are those of
msprof-analyze's timeline_fusion_ops; the sequences are what their definitions take operator by operator."""
NODE = "affinity-api-not-used"


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of fused interfaces that could replace operators that ran, with how often."""
    kernels = view.kernels
    if view.rank.layout in GPU_LAYOUTS:  # the interfaces are of Ascend
        return
    if view.total_us <= 0 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    label, stream = kernels.label, kernels.texts["stream"].codes
    names = [kernel_kind(text) for text in label.labels]
    order = np.lexsort((kernels.start_ns, stream))
    order = order[~label.where(name == "cast" for name in names)[order]]
    counts: Counter[str] = Counter()
    rows: list[int] = []
    for interface, kinds in SEQUENCES:
        steps = [label.where(name in step for name in names)[order] for step in kinds]
        starts = _starts(steps, stream[order])
        counts[interface] += len(starts)
        rows.extend(int(kernels.rows[order[place]]) for place in starts[:PLACES])
    named = [f"{interface} ({n}x)" for interface, n in counts.most_common(3) if n]
    most = max(counts.values(), default=0)
    yield setting_evidence(
        view,
        NODE,
        f"could stand for what ran: {', '.join(named)}" if named else "no fused interface fits what ran",
        (FactPlace(kernels.file, tuple(sorted(rows)[:PLACES])),) if rows else (),
        shown=float(thresholds.shows("unfused-operators", "fusible_chain_count", float(most))),
        readings=(MetricReading(metric="fusible_chain_count", value=float(most), unit="1"),),
    )


def _starts(steps: list[Mask], stream: Codes) -> np.ndarray:
    """Places at which all steps follow each other on one stream."""
    count = len(stream) - len(steps) + 1
    if count <= 0:
        return np.zeros(0, np.int64)
    fits = stream[:count] == stream[len(steps) - 1 :]
    for place, mask in enumerate(steps):
        fits = fits & mask[place : place + count]
    return np.flatnonzero(fits)
