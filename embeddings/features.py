"""Numbers of a problem: the structured half of its vector.

Every block is scaled so that a length of 1 is one plain difference (another operator, another
device of the same family, a factor of 16 in one dimension, a factor of 4 in one hardware fact).
What such a difference is worth is not decided here but by :mod:`embeddings.weights`.

Unknown is never zero: a fact that the hardware tree lacks sits at the neutral point of its scale
and says so in an indicator of its own.
"""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from embeddings.codes import code, name_code
from kg.nouns.entities import Better, Problem, WorkloadKind
from kg.nouns.values import Settings, Value

_Key = TypeVar("_Key", bound="Hashable")

FEATURE_VERSION = 1
"""Part of every vector's origin; raised by each change of what this module returns."""

FACTS: Mapping[str, float] = {
    "memory_bytes": 64e9,
    "memory_bandwidth_bytes_per_s": 1e12,
    "peak_fp16_flops": 256e12,
    "peak_fp8_flops": 1024e12,
    "peak_int8_ops": 512e12,
    "peak_fp32_flops": 32e12,
    "compute_units": 96.0,
    "l2_bytes": 32e6,
    "shared_memory_bytes": 128e3,
    "clock_hz": 1.6e9,
    "link_bandwidth_bytes_per_s": 256e9,
    "tdp_w": 300.0,
    "release_year": 2020.0,
}
"""Facts that are features, with the point where an unknown one stands: a round number inside the range
of accelerators, in the fact's unit. It is no fact: it only says what unknown is compared with."""

_STAND_INS: Mapping[str, tuple[str, ...]] = {
    "peak_fp16_flops": ("peak_bf16_flops",),
    "peak_fp32_flops": ("peak_vector_fp32_flops",),
    "shared_memory_bytes": ("ub_bytes", "l1_bytes"),
}

_DIMENSIONS: tuple[tuple[str, ...], ...] = (
    ("m", "num_tokens", "token", "tokens", "max_num_batched_tokens", "n_batch"),
    ("n", "n_out"),
    ("k", "n_in"),
    ("b", "batch", "batch_size", "bs", "micro_batch"),
    ("isl", "seq_len", "input_len", "sequence_length", "prompt_len"),
    ("osl", "output_len"),
    ("step", "context_len", "max_model_len", "past_len"),
    ("num_heads", "q_heads", "n_head", "heads", "attention_heads", "q_head_num"),
    ("kv_heads", "n_kv_head", "num_kv_heads"),
    ("head_dim", "headdim", "q_head_dim"),
    ("hidden", "n_embd", "model_dim", "hidden_size", "hidden_dim"),
    ("inter", "n_ff", "inter_dim", "intermediate_size", "moe_intermediate_size"),
    ("experts", "e", "expert", "expert_num", "num_experts"),
    ("topk", "topk_num", "experts_per_token", "top_k"),
    ("window", "sliding_window"),
    ("page_size", "block_size"),
    ("params", "parameters"),
    ("global_batch", "max_concurrency"),
    ("layers", "num_layers"),
    ("problem_size", "problem_size[0]"),
    ("problem_size[1]",),
    ("problem_size[2]",),
)
"""Common dimensions by their meaning, each with the names that sources give it; a name without a slot is
spread over a few columns by its hash."""
_SLOT = {name: slot for slot, names in enumerate(_DIMENSIONS) for name in names}
_HASHED = 8

_SHAPE_WIDTH = len(_DIMENSIONS) + _HASHED

BLOCKS: Mapping[str, int] = {
    "kind": len(WorkloadKind),
    "operator": 16,
    "model": 8,
    "shape": _SHAPE_WIDTH,
    "precision": 8,
    "traits": 10,
    "objective": 5,
    "facts": len(FACTS),
    "known": 3,
    "tree": 16,
    "count": 2,
    "bottlenecks": 8,
    "limits": 4,
}
"""Blocks in the order in which they stand in a vector, and their widths."""

WIDTH = sum(BLOCKS.values())
"""Length of the structured half."""

_APART = 1 / math.sqrt(2)  # two orthogonal codes scaled by this are at distance 1
_BITS = re.compile(r"(?<![0-9])(?:64|32|16|8|4)(?![0-9])")
_EXPONENT = re.compile(r"e\dm\d")  # in float8_e4m3fn the bits are 8, not 4
_NAMED_BITS = {"single": 32.0, "float": 32.0, "double": 64.0, "half": 16.0}


class HardwareFacts(Protocol):
    """The part of :class:`kg.triples.hardware_tree.HardwareTree` that features need."""

    def facts(self, hardware_id: str, /) -> Mapping[str, float | str]:
        """Return facts by name, inherited ones included; empty for an unknown node."""
        ...

    def path(self, hardware_id: str, /) -> Sequence[str]:
        """Return the ids from the node up to its vendor; empty for an unknown node."""
        ...


def places(hardware: HardwareFacts, name: str) -> list[str]:
    """Return a node and those above it, nearest first."""
    return list(dict.fromkeys([name, *hardware.path(name)]))


class Features:
    """Structured features, with what repeats between problems computed once.

    Attributes:
        hardware: Where facts and places in the tree come from.
    """

    def __init__(self, hardware: HardwareFacts) -> None:
        self.hardware = hardware
        self._rows: dict[str, dict[Hashable, NDArray[np.float64]]] = {block: {} for block in BLOCKS}

    def matrix(self, problems: Sequence[Problem]) -> dict[str, NDArray[np.float32]]:
        """Return the features of problems by block.

        Args:
            problems: n problems.

        Returns:
            One array for each of :data:`BLOCKS`, shape (n, its width).
        """
        return {
            "kind": self._gather("kind", [p.workload.kind for p in problems], _kind),
            "operator": self._gather("operator", [p.workload.operator for p in problems], _operator),
            "model": self._gather("model", [p.workload.model for p in problems], _model),
            "shape": _shape_matrix([p.workload.shape for p in problems]),
            "precision": self._gather("precision", [p.workload.precision for p in problems], _precision),
            "traits": self._gather("traits", [_trait_items(p) for p in problems], _traits),
            "objective": self._gather(
                "objective", [(p.objective.metric, p.objective.better) for p in problems], _objective
            ),
            "facts": self._gather("facts", [p.hardware.name for p in problems], self._facts),
            "known": self._gather("known", [p.hardware.name for p in problems], self._known),
            "tree": self._gather("tree", [p.hardware.name for p in problems], self._tree),
            "count": self._gather("count", [p.hardware.count for p in problems], _count),
            "bottlenecks": self._gather(
                "bottlenecks", [tuple(p.bottlenecks.items()) for p in problems], _bottlenecks
            ),
            "limits": self._gather(
                "limits", [tuple((m.metric, m.maximum, m.unit) for m in p.limits) for p in problems], _limits
            ),
        }

    def _gather(
        self, block: str, keys: Sequence[_Key], compute: Callable[[_Key], NDArray[np.float64]]
    ) -> NDArray[np.float32]:
        """Stack a row for each key, computed once for equal keys."""
        rows = self._rows[block]
        place: dict[Hashable, int] = {}
        distinct: list[NDArray[np.float64]] = []
        order = np.empty(len(keys), dtype=np.intp)
        for position, key in enumerate(keys):
            at = place.get(key)
            if at is None:
                at = place[key] = len(distinct)
                if key not in rows:
                    rows[key] = compute(key)
                distinct.append(rows[key])
            order[position] = at
        table = np.array(distinct, dtype=np.float32).reshape(len(distinct), BLOCKS[block])
        return table[order]

    def _levels(self, name: str) -> NDArray[np.float64]:
        """Return base-2 logarithm of each fact over its neutral point; NaN where unknown."""
        facts = self.hardware.facts(name)
        levels = np.full(len(FACTS), np.nan)
        for position, (fact, neutral) in enumerate(FACTS.items()):
            for candidate in (fact, *_STAND_INS.get(fact, ())):
                value = facts.get(candidate)
                if isinstance(value, int | float) and value > 0:
                    # A year is no ratio scale: four of them count as a factor of four.
                    years = fact == "release_year"
                    levels[position] = (value - neutral) / 2 if years else math.log2(value / neutral)
                    break
        return levels

    def _facts(self, name: str) -> NDArray[np.float64]:
        levels: NDArray[np.float64] = np.clip(np.nan_to_num(self._levels(name), nan=0.0) / 2, -3, 3)
        return levels

    def _known(self, name: str) -> NDArray[np.float64]:
        """Return which facts are known, folded: two devices known equally well are at distance 0."""
        unknown = np.isnan(self._levels(name))
        codes = [code(fact, BLOCKS["known"]) for fact, lacking in zip(FACTS, unknown, strict=True) if lacking]
        return _APART * np.sum(codes, axis=0) if codes else np.zeros(BLOCKS["known"])

    def _tree(self, name: str) -> NDArray[np.float64]:
        """Sum over the nodes of the path: siblings share all but one of them."""
        return _APART * _sum(
            [code(node, BLOCKS["tree"]) for node in places(self.hardware, name)], BLOCKS["tree"]
        )


def _sum(parts: Sequence[NDArray[np.float64]], width: int) -> NDArray[np.float64]:
    total = np.zeros(width)
    for part in parts:
        total += part
    return total


def _kind(kind: WorkloadKind) -> NDArray[np.float64]:
    row = np.zeros(len(WorkloadKind))
    row[list(WorkloadKind).index(kind)] = _APART
    return row


def _operator(name: str) -> NDArray[np.float64]:
    return _APART * name_code(name, BLOCKS["operator"])


def _model(name: str | None) -> NDArray[np.float64]:
    return np.zeros(BLOCKS["model"]) if name is None else _APART * name_code(name, BLOCKS["model"])


def _precision(name: str | None) -> NDArray[np.float64]:
    """Return the code of a format's name, its mean bits (log2, 1 for a factor of 4), 1 if stated."""
    row = np.zeros(BLOCKS["precision"])
    if name is None:
        return row
    row[:-2] = _APART * name_code(name, len(row) - 2)
    lowered = _EXPONENT.sub("", name.lower())
    bits = [float(number) for number in _BITS.findall(lowered)]
    bits = bits or [number for word, number in _NAMED_BITS.items() if word in lowered]
    if bits:
        row[-2] = (math.log2(sum(bits) / len(bits)) - 4) / 2
    row[-1] = 0.5
    return row


def _trait_items(problem: Problem) -> tuple[tuple[str, Value], ...]:
    """Return the traits without a scale, and the words among the dimensions."""
    hardware, workload = problem.hardware, problem.workload
    words = [(name, value) for name, value in workload.shape.items() if _number_of(value) is None]
    return (
        *workload.traits.items(),
        *((name, value) for name, value in words if isinstance(value, str | bool)),
        *((f"hardware.{name}", value) for name, value in hardware.traits.items()),
        *((f"software.{name}", str(value)) for name, value in problem.software.items()),
    )


def _traits(items: tuple[tuple[str, Value], ...]) -> NDArray[np.float64]:
    width = BLOCKS["traits"]
    parts = []
    for name, value in items:
        number = _number_of(value)
        if number is not None and not name.startswith("software."):
            parts.append(code(name, width) * _magnitude(number) / 4)
        elif value is not None:
            parts.append(_APART * code(f"{name}={value}", width))
    return _sum(parts, width)


def _objective(key: tuple[str, Better]) -> NDArray[np.float64]:
    metric, better = key
    direction = 0.5 if better is Better.HIGHER else -0.5
    return np.append(_APART * name_code(metric, BLOCKS["objective"] - 1), direction)


def _count(count: int | None) -> NDArray[np.float64]:
    """Return base-2 logarithm of the number of devices, 1 for a factor of 4, and 1 if it is stated."""
    return np.array([0.0, 0.0]) if count is None else np.array([math.log2(count) / 2, 0.5])


def _bottlenecks(items: tuple[tuple[str, Value], ...]) -> NDArray[np.float64]:
    """Sum codes weighted by share; an unknown share counts as a half, not as zero."""
    shares = [(name, float(share) if isinstance(share, int | float) else 0.5) for name, share in items]
    return _sum([share * code(name, BLOCKS["bottlenecks"]) for name, share in shares], BLOCKS["bottlenecks"])


def _limits(items: tuple[tuple[str, float, str], ...]) -> NDArray[np.float64]:
    """Sum codes of the limited metrics, longer by 1 for a bound larger by a factor of 2**16."""
    width = BLOCKS["limits"]
    parts = []
    for metric, maximum, unit in items:
        parts.append(_APART * code(metric, width))
        if maximum > 0:
            parts.append(code(f"{metric} in {unit}", width) * math.log2(maximum) / 16)
    return _sum(parts, width)


def _shape_matrix(shapes: Sequence[Settings]) -> NDArray[np.float32]:
    """Return logarithms of the dimensions, each at the slot of its name; 1 for a factor of 16."""
    slots = len(_DIMENSIONS)
    out = np.zeros((len(shapes), _SHAPE_WIDTH), dtype=np.float32)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for row, shape in enumerate(shapes):
        for name, value in shape.items():
            for dimension, number in _sizes(name, value):
                slot = _SLOT.get(dimension)
                if slot is None:
                    out[row, slots:] += code(dimension, _HASHED) * (_magnitude(number) / 4)
                else:
                    rows.append(row)
                    columns.append(slot)
                    values.append(_magnitude(number) / 4)
    np.add.at(out, (rows, columns), values)
    return out


def _sizes(name: str, value: Value) -> list[tuple[str, float]]:
    """Return sizes under canonical names: ``fixed.Filter_Height`` is ``filter_height``."""
    if isinstance(value, tuple):
        return [pair for at, item in enumerate(value) for pair in _sizes(f"{name}[{at}]", item)]
    number = _number_of(value)
    return [] if number is None else [(name.rpartition(".")[2].lower(), number)]


def _number_of(value: Value) -> float | None:
    """Return a value as a number, also where a source writes it as text; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return None


def _magnitude(number: float) -> float:
    """Return ``log2(1 + |x|)`` with the sign of x: zero differs from one, and large sizes stay ratios."""
    return math.copysign(math.log2(1 + abs(number)), number)
