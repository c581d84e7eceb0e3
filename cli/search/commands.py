"""``tunegraph search``: run a search, take part in one by hand, see where it stands, read what it found."""

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace
from cli.late import LateTyper
from cli.options import JsonOption
from cli.output import aside, say
from cli.search.running import (
    add_metrics,
    add_stop,
    begin,
    given_options,
    go_on,
    is_log,
    open_log,
    own_log,
    show_begun,
    show_result,
)
from cli.search.space import space
from cli.values import limits, pairs, span_s
from kg.errors import InputError

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


def worker(
    storage: Annotated[
        str, typer.Option("--storage", help="URL of the database that holds the search; or its journal.")
    ],
    name: NameOption = "",
    jobs: JobsOption = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Folder for its commands; by default the one in which it began."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Search file: check that this search has the same space.")
    ] = None,
    wait: Annotated[
        str, typer.Option("--wait", help="How long to wait for an unreachable storage, such as 10min.")
    ] = "10min",
    as_json: JsonOption = False,
) -> None:
    """Join a search that search run --log URL began.

    Several workers may join, on any machines.
    """
    from cli import output
    from cli.progress import ProgressDisplay
    from cli.search.running import interrupted_by_sigterm, open_log

    patience_s = span_s(wait)
    search = open_log(storage, name)
    if file is not None:
        search.check_file(file)
    _speak()
    with interrupted_by_sigterm():
        part = search.join(
            base=dict(os.environ),
            folder=folder,
            jobs=jobs,
            patience_s=patience_s,
            on_note=output.note,
            on_progress=ProgressDisplay(brief=False).update,
        )
    if as_json:
        output.as_json({"search": search.name, "log": search.storage, **part.to_json()})
    else:
        say(f"{part.evaluated} of {part.evaluations} evaluations were done here. Ended: {part.stop_reason}.")


def _speak() -> None:
    """Print a worker's messages beside its evaluations to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("recommender.search")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


app = LateTyper(
    name="search",
    help="Search for the best configuration, from what is known.",
    add_completion=False,
)


app.command()(space)
app.command()(worker)


@app.command()
def run(
    context: typer.Context,
    file: FileArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(help="After --: a command in place of the file's, {name} for a parameter."),
    ] = None,
    log: LogOption = None,
    name: NameOption = "",
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Where the command prints it: kernel_time=time_s:s is path and unit in its JSON."),
    ] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(help=r"The same by regular expression: 'kernel_time:s=time: (\S+)'."),
    ] = None,
    objective: Annotated[
        list[str] | None, typer.Option("--objective", help="Metric that decides; may be repeated.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option("--limit", help="Bound on a metric: 'peak_memory<=32GB'.")
    ] = None,
    evaluations: EvaluationsOption = None,
    time: TimeOption = None,
    cost: CostOption = None,
    price: PriceOption = None,
    patience: PatienceOption = None,
    gain: GainOption = None,
    jobs: JobsOption = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs that count.")] = None,
    warmup: Annotated[int | None, typer.Option(min=0, help="Warm-up runs before those.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Time of one run at most, such as 90s.")] = None,
    seed: SeedOption = 0,
    cold: ColdOption = False,
    allow_unmeasured_accuracy: AccuracyOption = False,
    ingest: IngestOption = True,
    evaluate: Annotated[
        bool,
        typer.Option(
            "--evaluate/--no-evaluate", help="Only begin the search: workers on other machines run it."
        ),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Run a search, warm-started from similar problems.

    Example: tunegraph search run matmul
    """
    from recommender.workspace.searches import SearchDesk

    read = SearchDesk.file(file)
    raw = dict(read.raw)
    if command:
        raw["command"] = command
    add_metrics(raw, metric or (), pattern or ())
    if objective:
        raw["objectives"] = objective
    if limit:
        raw["limits"] = [*limits(raw.get("limits")), *limit]
    raw.update(given_options(name=name or None, jobs=jobs, repeats=repeats, warmup=warmup))
    raw.update(given_options(timeout_s=None if timeout is None else span_s(timeout)))
    add_stop(raw, evaluations=evaluations, time=time, cost=cost, price=price, patience=patience, gain=gain)
    asked = replace(read, raw=raw)
    begun = begin(context, asked, log, seed, cold=cold, accuracy=allow_unmeasured_accuracy)
    if not evaluate:
        show_begun(begun, as_json=as_json)
        return
    block = raw.get("environment")
    variables = {str(key): str(item) for key, item in block.items()} if isinstance(block, dict) else {}
    go_on(context, begun, None, ingest=ingest, as_json=as_json, variables=variables)


@app.command()
def resume(
    context: typer.Context,
    log: LogArgument,
    name: NameOption = "",
    file: Annotated[
        str | None,
        typer.Option("--file", help="Search file: check that space, objectives and limits are the same."),
    ] = None,
    evaluations: EvaluationsOption = None,
    time: TimeOption = None,
    cost: CostOption = None,
    price: PriceOption = None,
    patience: PatienceOption = None,
    gain: GainOption = None,
    jobs: JobsOption = None,
    ingest: IngestOption = True,
    as_json: JsonOption = False,
) -> None:
    """Go on with a search that ended or was killed.

    Others may work on the same log.

    Example: tunegraph search resume blocked-matmul.journal
    """
    search = open_log(log, name)
    if file is not None:
        search.check_file(file)
    more = given_options(stop=search.log.metadata.file.get("stop"), jobs=jobs)
    add_stop(more, evaluations=evaluations, time=time, cost=cost, price=price, patience=patience, gain=gain)
    go_on(context, search, more, ingest=ingest, as_json=as_json)


@app.command()
def ask(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A search file to begin with, or the log of a search.")],
    n: Annotated[int, typer.Option("-n", min=1, max=1000, help="How many.")] = 1,
    log: LogOption = None,
    name: NameOption = "",
    seed: SeedOption = 0,
    cold: ColdOption = False,
    allow_unmeasured_accuracy: AccuracyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose configurations for you to evaluate.

    Report what came out with search tell.

    Example: tunegraph search ask my-search.yaml
    """
    from cli import output

    if is_log(file):
        search = open_log(file, name)
    else:
        from recommender.workspace.searches import SearchDesk

        read = SearchDesk.file(file)
        read = read.having(**given_options(name=name or None))
        place = log or read.log_name
        if is_log(place):
            search = open_log(place, name)
        else:
            search = begin(context, read, log, seed, cold=cold, accuracy=allow_unmeasured_accuracy)
    trials = search.ask(n)
    if as_json:
        rows = [
            {
                "trial": item.number,
                "configuration": item.configuration.to_json(),
                "origin": item.origin,
                "expected": None if item.expected is None else list(item.expected),
            }
            for item in trials
        ]
        output.as_json({"search": search.name, "log": search.storage, "asked": rows})
        return
    output.table(
        ("trial", "why", "configuration"), ((item.number, item.origin, item.configuration) for item in trials)
    )
    aside(f"Tell: tunegraph search tell {search.storage} TRIAL --value METRIC=NUMBER")


@app.command()
def tell(
    log: LogArgument,
    trial: Annotated[int | None, typer.Argument(help="Which trial, as ask numbered it.")] = None,
    value: Annotated[
        list[str] | None, typer.Option(help="A measured value with its unit: kernel_time=1.2ms.")
    ] = None,
    failed: Annotated[str | None, typer.Option(help="It did not run; the reason.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A configuration of your own instead: name=value.")
    ] = None,
    name: NameOption = "",
    as_json: JsonOption = False,
) -> None:
    """Report the result of one configuration."""
    from cli import output

    if (value is None) == (failed is None):
        raise InputError("tell --value METRIC=NUMBER, or --failed REASON")
    search = open_log(log, name)
    numbers = {key: str(item) for key, item in pairs("--value", value, as_text=True).items()}
    number = search.tell(trial, configuration=pairs("--set", setting) or None, values=numbers, failed=failed)
    if as_json:
        output.as_json({"search": search.name, "log": search.storage, "trial": number})
    else:
        say(f"trial {number} is told")


@app.command()
def status(log: LogArgument, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Show what ended, what runs, and the best so far.

    Example: tunegraph search status blocked-matmul.journal
    """
    show_result(open_log(log, name).result(), as_json=as_json)


@app.command()
def report(
    context: typer.Context,
    log: Annotated[str, typer.Argument(help="The log of a search, or any file of measurements in order.")],
    name: NameOption = "",
    metric: Annotated[str, typer.Option(help="In another tool's file: only this metric.")] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Evaluate what contributions need, rather than predict it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how fast a search converged, and what contributed.

    Example: tunegraph search report blocked-matmul.journal
    """
    from cli.search import report as search_report

    if is_log(log) and (search := own_log(log, name)) is not None:
        search_report.show_report(search.report(base=dict(os.environ), measure=measure), as_json=as_json)
        return
    with open_workspace(context) as workspace:
        courses = workspace.searches.of_other_tools(Path(log), metric=metric)
    search_report.show_courses(log, courses, as_json=as_json)
