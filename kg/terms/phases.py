"""Phases of work on a model, by the kind of workload."""

from __future__ import annotations

from types import MappingProxyType

from kg.nouns.entities import WorkloadKind

STEP_PHASES = MappingProxyType({WorkloadKind.TRAINING: "training", WorkloadKind.SERVING: "serving"})
"""Kinds of workload that are steps of a model, and the phase whose costs are estimated."""
