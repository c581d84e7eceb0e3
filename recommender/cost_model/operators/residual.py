"""The learned residual of an operator: the logarithm of measured over analytic time.

X: features of the training points, shape (n, d); q: query points, shape (m, d). The prediction is
the mean of a Gaussian process (a sum of kernels, each on some of the features) and a forest of
regression trees, both made for small relative errors. Both are plain arrays; prediction is numpy
alone. They are fitted in ``recommender.cost_model.fit.learning``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.physics import Floats

Narrow = NDArray[np.float32]

CHUNK = 128
"""Query points at once, so that a kernel block stays in the processor's cache."""
TREE_CHUNK = 512


@dataclass(frozen=True)  # no slots: cached properties need a dictionary
class Process:
    """A Gaussian process with known hyperparameters, ready to predict.

    Attributes:
        points: Training features, shape (n, d).
        weights: ``(K + noise)^-1 (y - mean)``, shape (n,); points far off their neighbours count as noisy.
        amplitudes: Log amplitude per kernel, shape (c,).
        scales: Log inverse length per kernel and feature, shape (c, d); -inf where a kernel does not look.
        mean: Value far from every point.
        rough: Matern 1/2 instead of 3/2.
    """

    points: Floats
    weights: Floats
    amplitudes: Floats
    scales: Floats
    mean: float
    rough: bool

    @cached_property
    def _sides(self) -> list[tuple[Narrow, Floats, NDArray[np.intp]]]:
        """Scaled training points of each kernel, the scales, and the features that it looks at."""
        return [
            ((self.points[:, used] * np.exp(row[used])).astype(np.float32), np.exp(row[used]), used)
            for row in self.scales
            for used in [np.flatnonzero(np.isfinite(row))]
        ]

    def predict(self, queries: Floats) -> Floats:
        """Posterior mean at ``queries``, shape (m,)."""
        out = np.empty(len(queries))
        weights = self.weights.astype(np.float32)
        for start in range(0, len(queries), CHUNK):
            part = queries[start : start + CHUNK]
            total = np.zeros(len(part), dtype=np.float32)
            for amplitude, (near, scale, used) in zip(self.amplitudes, self._sides, strict=True):
                far = (part[:, used] * scale).astype(np.float32)
                total += np.float32(np.exp(2 * amplitude)) * (_matern(far, near, self.rough) @ weights)
            out[start : start + CHUNK] = total
        return out + self.mean


def _matern(a: Narrow, b: Narrow, rough: bool) -> Narrow:
    """Correlation between rows of ``a`` and ``b``: Matern 1/2 or 3/2 of their distance."""
    scale = np.float32(1.0 if rough else 3.0)
    square = (scale * -2 * a) @ b.T
    square += scale * (a * a).sum(1)[:, None]
    square += scale * (b * b).sum(1)[None]
    np.maximum(square, scale * np.float32(1e-6), out=square)
    distance: Narrow = np.sqrt(square, out=square)
    near: Narrow = np.exp(-distance)
    if not rough:
        distance += 1
        near *= distance
    return near


@dataclass(frozen=True, slots=True)
class Forest:
    """Regression trees level by level: the roots first, the two children of a node side by side.

    Attributes:
        count: Trees; their roots are the first nodes.
        feature: Feature a node compares, shape (nodes,).
        threshold: It goes left at or below this, shape (nodes,); infinite at a leaf.
        child: Left child, the right one follows it; a leaf points at itself, shape (nodes,).
        value: Prediction of a leaf, shape (nodes,).
        depth: Steps that reach a leaf from any root.
    """

    count: int
    feature: NDArray[np.int32]
    threshold: Narrow
    child: NDArray[np.int32]
    value: Narrow
    depth: int

    def predict(self, queries: Floats) -> Floats:
        """Prediction of the trees, shape (m,): the value with the least mean relative error over them."""
        out = np.empty(len(queries))
        for start in range(0, len(queries), TREE_CHUNK):
            part = queries[start : start + TREE_CHUNK].astype(np.float32)
            leaves = self._leaves(part).reshape(len(part), self.count)
            out[start : start + TREE_CHUNK] = _nearest(self.value.take(leaves))
        return out

    def _leaves(self, part: Narrow) -> NDArray[np.int32]:
        """Leaf of every query in every tree; those that have reached theirs drop out now and then."""
        flat = part.ravel()
        rows = np.repeat(np.arange(len(part), dtype=np.int32) * part.shape[1], self.count)
        node = np.tile(np.arange(self.count, dtype=np.int32), len(part))
        live, at = np.arange(len(node)), node
        for step in range(self.depth):
            after = self.child.take(at) + (flat.take(rows + self.feature.take(at)) > self.threshold.take(at))
            if step % 4 == 3:
                node[live] = after
                moving = after != at
                live, rows, after = live[moving], rows[moving], after[moving]
            at = after
        node[live] = at
        return node


def forest_of(
    roots: NDArray[np.intp],
    feature: NDArray[np.intp],
    threshold: Narrow,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    value: Floats,
    depth: int,
) -> Forest:
    """A forest from trees with children anywhere; a leaf is its own left child."""
    place = np.full(len(feature), -1, dtype=np.int64)
    place[roots] = np.arange(len(roots))
    used, level = len(roots), np.asarray(roots, dtype=np.int64)
    while len(level):
        inner = level[left[level] != level]
        place[left[inner]] = used + 2 * np.arange(len(inner))
        place[right[inner]] = used + 2 * np.arange(len(inner)) + 1
        used += 2 * len(inner)
        level = np.concatenate([left[inner], right[inner]])
    order = np.argsort(place)
    leaf = left == np.arange(len(left))
    return Forest(
        count=len(roots),
        feature=np.where(leaf, 0, feature)[order].astype(np.int32),
        threshold=np.where(leaf, np.inf, threshold)[order].astype(np.float32),
        child=np.where(leaf, place, place[left])[order].astype(np.int32),
        value=value[order].astype(np.float32),
        depth=depth,
    )


def _nearest(logs: Narrow) -> Narrow:
    """Per row, the log whose exponential has the least mean relative distance to those of the row.

    ``sum |exp(g) / exp(y) - 1|`` is least at the median of ``exp(y)`` weighted by ``exp(-y)``: where a
    kernel takes either of two times, one of them and not their mean.
    """
    ordered = np.sort(logs, axis=1)
    weight = np.cumsum(np.exp(-ordered), axis=1)
    middle = np.argmax(weight >= 0.5 * weight[:, -1:], axis=1)
    found: Narrow = ordered[np.arange(len(ordered)), middle]
    return found


@dataclass(frozen=True, slots=True)
class Residual:
    """The learned part of one operator.

    Attributes:
        process: Gaussian process, or None.
        forest: Trees, or None.
        weight: What of the correction is applied: 0 where it measured no better than physics alone.
    """

    process: Process | None
    forest: Forest | None
    weight: float

    def predict(self, queries: Floats) -> Floats:
        """Log ratio of measured to analytic time at ``queries``, shape (m,)."""
        parts = [part.predict(queries) for part in (self.process, self.forest) if part is not None]
        if not parts or self.weight == 0:
            return np.zeros(len(queries))
        return np.asarray(self.weight * np.mean(parts, axis=0), dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The parts as named arrays, the inverse of ``residual_of``."""
        return {"weight": np.array(self.weight)} | {
            f"{kind}_{field.name}": np.asarray(getattr(part, field.name))
            for kind, part in (("gp", self.process), ("tree", self.forest))
            if part is not None
            for field in fields(part)
        }


def residual_of(arrays: Mapping[str, NDArray[np.generic]]) -> Residual:
    """A residual from the arrays that ``Residual.arrays`` gives."""
    process = Process(**_part(arrays, "gp_", np.float64)) if "gp_points" in arrays else None
    forest = Forest(**_part(arrays, "tree_", np.float32)) if "tree_child" in arrays else None
    return Residual(process, forest, float(np.asarray(arrays["weight"], dtype=np.float64)))


def _part(
    arrays: Mapping[str, NDArray[np.generic]], kind: str, real: type[np.floating[Any]]
) -> dict[str, Any]:
    """The fields of a part; whole numbers in 32 bits, others as ``real``."""
    return {
        name.removeprefix(kind): array.astype(np.int32 if array.dtype.kind == "i" else real)
        if array.ndim
        else array.item()
        for name, array in arrays.items()
        if name.startswith(kind)
    }
