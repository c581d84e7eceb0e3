"""``tunegraph calibrate``: fit the cost model to measured operators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption


def calibrate(
    files: Annotated[
        list[Path], typer.Argument(help="CSV tables of measured operators, or folders of them.")
    ],
    output_folder: Annotated[
        Path, typer.Option("--output", help="Folder for the constants.", file_okay=False)
    ] = Path("calibration"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds and iterations.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Fit the constants of the cost model to measurements; the error printed is on groups left out."""
    from datetime import UTC, datetime

    from cli import output
    from recommender.cost_model.calibrate import calibrate as fit

    operators = fit(files, output_folder, on=datetime.now(UTC).date(), quick=quick)
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
        print("kernels of profiles: constants and factors by class and type")
