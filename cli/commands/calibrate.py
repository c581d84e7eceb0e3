"""``tunegraph calibrate``: fit the cost model to measured operators or steps."""

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
    steps: Annotated[
        list[Path] | None,
        typer.Option("--steps", help="CSV of measured runs of whole steps: anchors estimates on them."),
    ] = None,
    output_folder: Annotated[
        Path, typer.Option("--output", help="Folder for the constants.", file_okay=False)
    ] = Path("calibration"),
    own: Annotated[
        bool, typer.Option("--own", help="Anchor this workspace's answers on the runs that you ingested.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds and iterations.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Fit the cost model to measurements.

    The error printed is on groups left out.
    """
    if bool(files) + bool(steps) + own != 1:
        raise typer.BadParameter("give either FILES to fit operators to, or --steps, or --own")
    if steps or own:
        _steps(context, steps or [], output_folder, own=own, as_json=as_json)
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
        output.as_json({"folder": str(output_folder), "operators": rows})
        return
    output.table(
        ("operator", "shapes", "groups", "mean error %", "median error %", "learned part"),
        [[str(value) for value in row.values()] for row in rows],
        title=f"left-out errors; constants in {output_folder}",
    )


def _steps(context: typer.Context, files: list[Path], folder: Path, *, own: bool, as_json: bool) -> None:
    from cli import output

    with open_workspace(context) as workspace:
        desk = workspace.upkeep
        anchors = desk.calibrate_own() if own else desk.calibrate_steps(files, folder)
    narrowed = [
        {
            "system": f"{key.model or 'other models'} on {key.device}",
            "engine": key.engine,
            "before": round(was, 2),
            "now": round(min(now, was) if own else now, 2),  # an answer takes the narrower of the two
        }
        for key, (was, now) in anchors.narrowed().items()
    ]
    rows = [
        {"source": step.source, "measured_over_modelled": round(math.exp(step.log_ratio), 3)}
        for step in anchors.steps
        if step.key.site == anchors.site
    ]
    if as_json:
        output.as_json(
            {
                "folder": str(folder),
                "steps": rows,
                "shipped": len(anchors.steps) - len(rows),
                "intervals": narrowed,
            }
        )
        return
    output.table(
        ("run", "time, measured over modelled"),
        [[str(value) for value in row.values()] for row in rows],
        title=f"anchors in {folder}; use them with --constants {folder}" if files else "answers rest on them",
    )
    for row in narrowed:
        engine = f" with {row['engine']}" if row["engine"] else ""
        said = f"{row['system']}{engine}: 9 of 10 times lie within a factor of "
        before = "as before" if row["now"] == row["before"] else f"before {row['before']}"
        say(f"{said}{row['now']}, {before}")
