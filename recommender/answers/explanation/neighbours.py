"""A neighbour for people: what it is, how much is known of it, and its best value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.entities import Kind, Problem
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
    best = next(iter(trials.rows(neighbour.problem.id, 1)), None)
    if best is not None and best.kind is Kind.MODELLED:  # what was measured stands before it
        timed = (row for row in trials.rows(neighbour.problem.id) if row.measurement.value is not None)
        best = next((row for row in timed if row.kind is not Kind.MODELLED), best)
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
    """The value of a row with its unit, and that it was modelled; a ratio has no unit."""
    unit = row.measurement.unit
    text = f"{value:.4g}" if unit in (None, "1") else f"{value:.4g} {unit}"
    return f"modelled {text}" if row.kind is Kind.MODELLED else text
