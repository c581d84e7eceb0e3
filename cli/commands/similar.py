"""``tunegraph similar``: the known problems that are nearest."""

import math
from collections.abc import Mapping
from typing import Any

import typer

from cli.context import open_workspace, with_defaults
from cli.options import JsonOption, NumberOption
from cli.problem_options import ProblemOptions, asks

_SHOWN_SHARE = 0.15
"""Share of the squared distance from which on a kind of features is shown."""


@asks("limit", "bottleneck", "current", "software")
def similar(
    context: typer.Context,
    question: ProblemOptions,
    k: NumberOption = 10,
    as_json: JsonOption = False,
) -> None:
    """List the nearest known problems, and how near each is.

    Example: tunegraph similar --model qwen3-32b --phase serving --hardware 910B3
    """
    from cli import output

    raw = question.raw()
    with open_workspace(context) as workspace:
        problem, notes = workspace.problem(with_defaults(context, workspace, raw))
        found = workspace.ask.neighbours(problem, k)
        notes = (*notes, *workspace.snapshot.encoder.notes)
    if as_json:
        output.as_json({"notes": list(notes), "neighbours": found})
        return
    for note in notes:
        output.note(note)
    output.table(
        ("", "operator", "model", "shape", "hardware", "how far", "distance", "copying", "rows", "best"),
        (
            (
                place,
                item["operator"],
                item["model"],
                item["shape_text"],
                item["hardware_text"],
                str(item["distance_class"]).replace("_", " "),
                _differs(item),
                _cost(item["cost_of_copying_log"]),
                item["rows"],
                item["best_text"],
            )
            for place, item in enumerate(found, 1)
        ),
    )


def _cost(log: object) -> str:
    """The average cost of copying from such a distance, in percent."""
    return f"+{math.expm1(log):.0%}" if isinstance(log, float) else ""


def _differs(item: Mapping[str, Any]) -> str:
    """The distance of a neighbour and the two kinds of features that make most of it."""
    most = [name for name, share in list(item["differs_in"].items())[:2] if share >= _SHOWN_SHARE]
    return f"{item['distance']:.2f}" + (f" ({', '.join(most)})" if most else "")
