"""Plots of a search as SVG text: its course, and the front of two objectives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recommender.cost_model.plots import BOTTOM, COLOURS, HEIGHT, LEFT, WIDTH, label, page
from recommender.search.evaluations import value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.entities import Objective
    from recommender.search.report.history import History

TOP = 20
RIGHT = 30
_FAILED = "#d55e00"


def history_svg(history: History) -> str:
    """Every evaluation and the best so far, on a log axis; failures along the bottom."""
    costs, running = history.costs, history.best_so_far
    known = [cost for cost in costs if not math.isnan(cost)]
    if not known:
        return page("Course of the search: nothing succeeded", [])
    low, high = min(known), max(known)
    high = high if high > low else low + 0.01
    step = (WIDTH - LEFT - RIGHT) / max(len(costs) - 1, 1)

    def at(place: int, cost: float) -> tuple[float, float]:
        share = (cost - low) / (high - low)
        return LEFT + place * step, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share

    body = []
    for place, cost in enumerate(costs):
        if math.isnan(cost):
            x = LEFT + place * step
            body.append(
                f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" fill="{_FAILED}" font-size="11">x</text>'
            )
            continue
        x, y = at(place, cost)
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[0]}" fill-opacity="0.5"/>')
    corners: list[str] = []
    for place, cost in enumerate(running):
        if not math.isfinite(cost):
            continue
        x, y = at(place, cost)
        if corners:
            corners.append(f"{x:.1f},{corners[-1].split(',')[1]}")
        corners.append(f"{x:.1f},{y:.1f}")
    body.append(
        f'<polyline points="{" ".join(corners)}" fill="none" stroke="{COLOURS[1]}" stroke-width="2"/>'
    )
    objective = history.objective
    body += [label(LEFT - 8, at(0, cost)[1] + 4, _value(cost, objective)) for cost in (low, high)]
    body.append(
        label(WIDTH / 2, HEIGHT - 16, f"evaluation 1 to {len(costs)}; x failed or over a limit", "middle")
    )
    return page(f"Course of the search: {objective.metric}, and the best so far", body)


def front_svg(points: Sequence[tuple[float, float, bool]], x: Objective, y: Objective) -> str:
    """Two objectives of all that ran; the front is filled.

    Args:
        points: Value of each objective, and whether it is on the front.
        x: The objective along the bottom.
        y: The other one.
    """
    if not points:
        return page("Front: nothing ran", [])
    spans = [(min(values), max(values)) for values in ([p[0] for p in points], [p[1] for p in points])]

    def scaled(value: float, axis: int) -> float:
        low, high = spans[axis]
        return (value - low) / (high - low) if high > low else 0.5

    body = []
    for first, second, on_front in points:
        left = LEFT + scaled(first, 0) * (WIDTH - LEFT - RIGHT)
        top = HEIGHT - BOTTOM - scaled(second, 1) * (HEIGHT - BOTTOM - TOP)
        fill = COLOURS[1] if on_front else "none"
        body.append(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="4" stroke="{COLOURS[0]}" fill="{fill}"/>')
    for axis, place in ((0, "start"), (1, "end")):
        body.append(
            label(LEFT if not axis else WIDTH - RIGHT, HEIGHT - BOTTOM + 16, f"{spans[0][axis]:.4g}", place)
        )
        body.append(label(LEFT - 8, HEIGHT - BOTTOM if not axis else TOP + 4, f"{spans[1][axis]:.4g}"))
    body.append(label(WIDTH / 2, HEIGHT - 16, f"{x.metric} ({x.unit or '1'})", "middle"))
    return page(f"{y.metric} ({y.unit or '1'}) against {x.metric}; filled: nothing is better in both", body)


def _value(cost: float, objective: Objective) -> str:
    return f"{value_of(cost, objective):.4g} {objective.unit or ''}".strip()
