"""``tunegraph calibrate``: fit the cost model to measured operators, or retrieval to known cases."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import JsonOption
from cli.output import say


def calibrate(
    context: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(help="CSV tables of measured operators, or folders of them.")
    ] = None,
    retrieval: Annotated[
        bool,
        typer.Option(
            "--retrieval",
            help="Learn from the workspace's own cases how similar problems are and what to expect.",
        ),
    ] = False,
    steps: Annotated[
        list[Path] | None,
        typer.Option("--steps", help="CSV of measured runs of whole steps: anchors estimates on them."),
    ] = None,
    output_folder: Annotated[
        Path, typer.Option("--output", help="Folder for the constants.", file_okay=False)
    ] = Path("calibration"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds and iterations.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Fit the cost model to measurements.

    The error printed is on groups left out.

    With --retrieval and no files: learn from the workspace's own cases, in minutes where they are many.
    """
    if sum((retrieval, bool(files), bool(steps))) != 1:
        raise typer.BadParameter("give one of FILES to fit operators to, --steps, or --retrieval")
    if steps:
        _steps(context, steps, output_folder, as_json=as_json)
        return
    if retrieval:
        _retrieval(context, as_json=as_json)
        return
    from cli import output
    from recommender.workspace.upkeep import UpkeepDesk

    operators = UpkeepDesk.calibrate(files or [], output_folder, quick=quick)
    rows = [
        {
            "operator": stem,
            "rows": kind.header["rows"],
            "groups": kind.header["groups"],
            "left_out_mape_percent": kind.header["left_out_mape_percent"],
            "left_out_median_percent": kind.header["left_out_median_percent"],
            "learned_residual": kind.residual.weight > 0,
        }
        for stem, kind in operators.kinds.items()
    ]
    if as_json:
        output.as_json({"folder": str(output_folder), "operators": rows, "kernels": bool(operators.kernels)})
        return
    output.table(
        ("operator", "shapes", "groups", "mean error %", "median error %", "learned part"),
        [[str(value) for value in row.values()] for row in rows],
        title=f"left-out errors; constants in {output_folder}",
    )
    if operators.kernels:
        say("kernels of profiles: constants and factors by class and type")


def _steps(context: typer.Context, files: list[Path], folder: Path, *, as_json: bool) -> None:
    from cli import output

    with open_workspace(context) as workspace:
        anchors = workspace.upkeep.calibrate_steps(files, folder)
    rows = [
        {"source": step.source, "measured_over_modelled": round(math.exp(step.log_ratio), 3)}
        for step in anchors.steps
        if step.key.site == anchors.site
    ]
    if as_json:
        output.as_json({"folder": str(folder), "steps": rows, "shipped": len(anchors.steps) - len(rows)})
        return
    output.table(
        ("run", "time, measured over modelled"),
        [[str(value) for value in row.values()] for row in rows],
        title=f"anchors in {folder}; use them with --constants {folder}",
    )


def _retrieval(context: typer.Context, *, as_json: bool) -> None:
    from cli import output

    with open_workspace(context) as workspace:
        done = workspace.upkeep.recalibrate(output.note)
    if as_json:
        output.as_json(done.to_json())
        return
    for note in done.notes:
        say(note)
    if done.similarity is not None:
        weights = sorted(done.similarity.weights.as_dict().items(), key=lambda item: -item[1])
        output.table(("block of features", "weight"), [(name, f"{weight:.2f}") for name, weight in weights])
