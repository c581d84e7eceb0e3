"""A neighbour for people: what it is, how much is known of it, and its best value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.entities import Problem
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from kg.rows.trial_rows import Trial
    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from recommender.retrieval.neighbours import Neighbour


def describe(neighbour: Neighbour, graph: GraphStore, trials: TrialStore) -> dict[str, object]:
    """A neighbour with its shape, how many rows it has, and its best row."""
    problem = from_graph(graph, Problem, neighbour.problem.id)
    count = problem.hardware.count
    rows = trials.rows(neighbour.problem.id, 1)
    best = rows[0] if rows else None
    value = best.measurement.value if best else None
    shown = None if best is None else f"{best.configuration}"
    return {
        **neighbour.to_json(),
        "shape": problem.workload.shape.to_json(),
        "shape_text": str(problem.workload.shape),
        "precision": problem.workload.precision,
        "hardware_text": f"{count} x {problem.hardware.name}" if count else problem.hardware.name,
        "rows": len(trials.table(neighbour.problem.key)),
        "best_configuration": None if best is None else best.configuration.to_json(),
        "best_value": value,
        "best_unit": None if best is None else best.measurement.unit,
        "best_kind": None if best is None else str(best.kind),
        "best_text": shown if best is None or value is None else f"{_quantity(value, best)}: {shown}",
    }


def _quantity(value: float, row: Trial) -> str:
    """The value of a row with its unit; a ratio has none."""
    unit = row.measurement.unit
    return f"{value:.4g}" if unit in (None, "1") else f"{value:.4g} {unit}"
