"""Options that the verbs of ``tunegraph search`` share."""

from __future__ import annotations

from typing import Annotated

import typer

FileArgument = Annotated[
    str,
    typer.Argument(help="A search file (docs/search.md), or the name of a shipped one.", show_default=False),
]
LogArgument = Annotated[
    str, typer.Argument(help="The log of a search: its journal file, or the URL of a database.")
]
NameOption = Annotated[
    str, typer.Option("--name", help="Name of the search, if the log holds several.", show_default=False)
]
EvaluationsOption = Annotated[
    int | None, typer.Option("--evaluations", "-n", min=1, help="Evaluations at most.")
]
TimeOption = Annotated[str | None, typer.Option("--time", help="Time at most, such as 30min or 1h.")]
CostOption = Annotated[
    float | None,
    typer.Option("--cost", min=0, help="Cost at most, in the unit of --price-per-hour."),
]
PriceOption = Annotated[
    float | None,
    typer.Option("--price-per-hour", min=0, help="Price of an hour of evaluation; 1 counts hours."),
]
PatienceOption = Annotated[
    int | None, typer.Option("--patience", min=1, help="End after so many evaluations without gain.")
]
GainOption = Annotated[
    float | None,
    typer.Option("--min-gain", min=0, help="End when less than this gain is expected; 0.01 is 1 %."),
]
JobsOption = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Evaluations at the same time.")]
LogOption = Annotated[
    str | None,
    typer.Option("--log", help="File or URL of the log; by default NAME.journal in this folder."),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of the search.")]
ColdOption = Annotated[bool, typer.Option("--cold", help="Ignore what similar problems taught.")]
AccuracyOption = Annotated[
    bool,
    typer.Option(
        "--allow-unmeasured-accuracy", help="Also propose settings whose loss of accuracy is unknown, marked."
    ),
]
IngestOption = Annotated[
    bool, typer.Option("--ingest/--no-ingest", help="Take what was measured into the workspace at the end.")
]
