"""The ``task`` of a record: the workload and its limits."""

import math
from collections.abc import Callable

from ingest.door.values import JsonObject, settings
from kg.nouns.entities import Limit, Workload, WorkloadKind
from kg.terms.metrics import canonical_metric
from kg.terms.precisions import canonical_precision, is_precision
from kg.terms.units import unit

_OWN = {"kind", "op", "model", "shape", "dtype", "slo", "objective", "traits"}
"""Fields of a task that are no traits."""


def read_workload(
    task: JsonObject, metric: str, model: Callable[[str], str], faults: list[str]
) -> Workload | None:
    """The workload of a task.

    Args:
        task: The record's ``task``.
        metric: Canonical name of the metric; a task objective of the same name says nothing new.
        model: Gives the canonical name of a model.
        faults: Takes what is wrong.

    Returns:
        None if something is wrong.
    """
    before = len(faults)
    kind = workload_kind(task.get("kind"), faults)
    operator = task.get("op")
    if not isinstance(operator, str) or not operator.strip():
        faults.append("task.op: missing" if operator is None else "task.op: no name")
    name = task.get("model")
    if name is not None and (not isinstance(name, str) or not name.strip()):
        faults.append("task.model: no name")
    shape, own_traits = task.get("shape"), task.get("traits")
    for field, item in (("shape", shape), ("traits", own_traits)):
        if item is not None and not isinstance(item, dict):
            faults.append(f"task.{field}: not an object")
    traits = {key: item for key, item in task.items() if key not in _OWN}
    objective = task.get("objective")
    if isinstance(objective, str) and canonical_metric(objective, kind) != metric:
        traits["objective"] = objective
    precision = _precision(task.get("dtype"), traits, faults)
    if len(faults) > before or not isinstance(operator, str):
        return None
    if isinstance(own_traits, dict):
        traits.update(own_traits)
    operator, precision = _one_spelling(operator.strip(), precision, traits)
    try:
        return Workload(
            kind=kind,
            operator=operator,
            model=model(name.strip()) if isinstance(name, str) else None,
            shape=settings(shape if isinstance(shape, dict) else {}, keep_null=False),
            precision=precision,
            traits=settings(traits, keep_null=False),
        )
    except ValueError as fault:
        faults.append(f"task: {fault}")
        return None


def workload_kind(raw: object, faults: list[str]) -> WorkloadKind:
    """The scale of a task; kernel where it cannot be read, with a fault."""
    try:
        return WorkloadKind(str(raw))
    except ValueError:
        faults.append(
            "task.kind: missing"
            if raw is None
            else f"task.kind: {str(raw)[:40]!r} is none of {', '.join(WorkloadKind)}"
        )
        return WorkloadKind.KERNEL


def read_limits(slo: object, faults: list[str]) -> tuple[Limit, ...]:
    """Limits of a service-level objective such as ``{"tpot_ms": 50}``: metric, unit and maximum."""
    if slo is None:
        return ()
    if not isinstance(slo, dict):
        faults.append("task.slo: not an object")
        return ()
    limits = []
    for name, maximum in slo.items():
        metric, _, suffix = str(name).rpartition("_")
        try:
            known = unit(suffix)
        except ValueError:
            faults.append(f"task.slo.{str(name)[:40]}: ends in no unit, as tpot_ms does")
            continue
        if isinstance(maximum, bool) or not isinstance(maximum, int | float) or not 0 < maximum < math.inf:
            faults.append(f"task.slo.{str(name)[:40]}: no positive number")
            continue
        limits.append(
            Limit(
                metric=canonical_metric(metric, WorkloadKind.SERVING),
                maximum=known.to_si(float(maximum)),
                unit=known.symbol,
            )
        )
    return tuple(limits)


def _precision(raw: object, traits: dict[str, object], faults: list[str]) -> str | None:
    """The number format; of several by role the text ``role=format,...``.

    What stands among them and is no number format (``"act_type": "ActivationType.Silu"``) is a trait.
    """
    if raw is None:
        return None
    if isinstance(raw, str):
        return canonical_precision(raw) or None
    if not isinstance(raw, dict):
        faults.append("task.dtype: neither text nor an object")
        return None
    formats = {}
    for role, item in raw.items():
        if isinstance(item, str) and is_precision(item):
            formats[str(role).lower()] = canonical_precision(item)
        else:
            traits[role] = item
    if list(formats) == ["dtype"]:
        return formats["dtype"]
    return ",".join(f"{role}={name}" for role, name in sorted(formats.items())) or None


def _one_spelling(operator: str, precision: str | None, traits: dict[str, object]) -> tuple[str, str | None]:
    """Fused MoE tables name the expert's second GEMM and eight-bit floats in more than one way."""
    if operator == "fused_moe_down":
        operator, traits["gemm"] = "fused_moe", "down"
    if operator == "fused_moe" and precision is not None:
        if precision.endswith("_down"):
            precision, traits["gemm"] = precision.removesuffix("_down"), "down"
        if precision == "fp8":  # vLLM before fp8_w8a8 wrote dtype=float8
            precision = "fp8_w8a8"
    return operator, precision
