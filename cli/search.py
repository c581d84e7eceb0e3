"""``tunegraph search``: run a search, take part in one by hand, see where it stands, read what it found."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.context import open_workspace, settings
from cli.options import JsonOption
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from recommender.search.result import Result
    from recommender.search.runner import Runner
    from recommender.search.study import SearchLog
    from recommender.search.task import Task

app = typer.Typer(
    name="search",
    help="Search for the best configuration, starting from what is known of similar problems.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FileArgument = Annotated[
    str,
    typer.Argument(help="A search file (docs/search.md), or the name of a shipped one.", show_default=False),
]
LogArgument = Annotated[
    str, typer.Argument(help="The log of a search: its journal file, or the URL of a database.")
]
NameOption = Annotated[
    str, typer.Option("--name", help="Which search, where a log holds several.", show_default=False)
]
EvaluationsOption = Annotated[
    int | None, typer.Option("--evaluations", "-n", min=1, help="Evaluations at most.")
]
TimeOption = Annotated[str | None, typer.Option("--time", help="Time at most, such as 30min or 1h.")]
CostOption = Annotated[
    float | None, typer.Option("--cost", min=0, help="Cost at most, in the unit of --price-per-hour.")
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
PlotOption = Annotated[
    Path | None, typer.Option("--plot", help="Write the course of the search to this SVG file.")
]
LogOption = Annotated[
    str | None,
    typer.Option("--log", help="File or URL of the log; by default NAME.journal in this folder."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the search's own randomness.")]
ColdOption = Annotated[bool, typer.Option("--cold", help="Start from nothing that is known.")]
AccuracyOption = Annotated[
    bool,
    typer.Option(
        "--allow-unmeasured-accuracy", help="Also propose settings whose loss of accuracy is unknown, marked."
    ),
]
IngestOption = Annotated[
    bool, typer.Option("--ingest/--no-ingest", help="Take what was measured into the workspace at the end.")
]


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
    warmup: Annotated[int | None, typer.Option(min=0, help="Runs before those.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Time of one run at most, such as 90s.")] = None,
    seed: SeedOption = 0,
    cold: ColdOption = False,
    allow_unmeasured_accuracy: AccuracyOption = False,
    ingest: IngestOption = True,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search, from the best that is known of similar problems on."""
    from recommender.search.task_file import seconds

    raw, folder = _read(file)
    if command:
        raw["command"] = command
    _add_metrics(raw, metric or (), pattern or ())
    if objective:
        raw["objectives"] = objective
    if limit:
        raw["limits"] = [*_listed(raw.get("limits")), *limit]
    raw.update(_given(name=name or None, jobs=jobs, repeats=repeats, warmup=warmup))
    raw.update(_given(timeout_s=None if timeout is None else seconds(timeout)))
    _add_stop(raw, evaluations=evaluations, time=time, cost=cost, price=price, patience=patience, gain=gain)
    begun = _begin(context, raw, folder, file, log, seed, cold=cold, accuracy=allow_unmeasured_accuracy)
    _go_on(context, begun, None, ingest=ingest, plot=plot, as_json=as_json)


@app.command()
def resume(
    context: typer.Context,
    log: LogArgument,
    name: NameOption = "",
    file: Annotated[
        str | None,
        typer.Option("--file", help="The search file: see that space, objectives and limits are the same."),
    ] = None,
    evaluations: EvaluationsOption = None,
    time: TimeOption = None,
    cost: CostOption = None,
    price: PriceOption = None,
    patience: PatienceOption = None,
    gain: GainOption = None,
    jobs: JobsOption = None,
    ingest: IngestOption = True,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a search; also where it was killed, also beside others on the same log."""
    found = _open(log, name)
    if file is not None:
        _compare(found, file)
    more: dict[str, object] = dict(found.about["task"])
    _add_stop(more, evaluations=evaluations, time=time, cost=cost, price=price, patience=patience, gain=gain)
    changed: dict[str, object] = {"stop": more["stop"]} if "stop" in more else {}
    changed |= _given(jobs=jobs)
    _go_on(context, found, changed, ingest=ingest, plot=plot, as_json=as_json)


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
    """Propose configurations for you to evaluate; tell what came out with search tell."""
    from cli import output
    from recommender.search.manual import ask_for

    if _is_log(file):
        found = _open(file, name)
    else:
        raw, folder = _read(file)
        raw.update(_given(name=name or None))
        place = log or f"{raw.get('name') or Path(file).stem}.journal"
        if _is_log(place):
            found = _open(place, name)
        else:
            found = _begin(
                context, raw, folder, file, log, seed, cold=cold, accuracy=allow_unmeasured_accuracy
            )
    asked = ask_for(found, n)
    if as_json:
        rows = [
            {
                "trial": item.number,
                "configuration": item.configuration.to_json(),
                "origin": item.origin,
                "expected": None if item.expected is None else list(item.expected),
            }
            for item in asked
        ]
        output.as_json({"search": found.name, "log": found.storage, "asked": rows})
        return
    output.table(
        ("trial", "why", "configuration"), ((item.number, item.origin, item.configuration) for item in asked)
    )
    print(f"Tell: tunegraph search tell {found.storage} TRIAL --value METRIC=NUMBER", file=sys.stderr)


@app.command()
def tell(
    log: LogArgument,
    trial: Annotated[int | None, typer.Argument(help="Which trial, as ask numbered it.")] = None,
    value: Annotated[
        list[str] | None, typer.Option(help="What came out, with its unit: kernel_time=1.2ms.")
    ] = None,
    failed: Annotated[str | None, typer.Option(help="It did not run: why.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A configuration of your own instead: name=value.")
    ] = None,
    name: NameOption = "",
    as_json: JsonOption = False,
) -> None:
    """Tell what came out of a configuration."""
    from cli import output
    from cli.options import pairs
    from recommender.search.manual import tell_of

    if (value is None) == (failed is None):
        raise InputError("tell --value METRIC=NUMBER, or --failed REASON")
    found = _open(log, name)
    numbers = {key: str(item) for key, item in pairs("--value", value, as_text=True).items()}
    number = tell_of(found, trial, pairs("--set", setting) or None, numbers, failed)
    if as_json:
        output.as_json({"search": found.name, "log": found.storage, "trial": number})
    else:
        print(f"trial {number} is told")


@app.command()
def status(log: LogArgument, name: NameOption = "", as_json: JsonOption = False) -> None:
    """Where a search stands: what ended, what runs, the best so far."""
    result = _result(_open(log, name))
    _print(result, as_json=as_json)


@app.command()
def report(
    context: typer.Context,
    log: Annotated[str, typer.Argument(help="The log of a search, or any file of measurements in order.")],
    name: NameOption = "",
    metric: Annotated[str, typer.Option(help="Of a file of others: only this metric.")] = "",
    measure: Annotated[
        bool, typer.Option("--measure", help="Evaluate what contributions need, rather than predict it.")
    ] = False,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a search: how fast it was near its best, how steady, what each parameter contributed."""
    from cli import search_report

    if _is_log(log) and (found := _own(log, name)) is not None:
        search_report.own(_result(found), measure=measure, plot=plot, as_json=as_json)
        return
    with open_workspace(context) as workspace:
        search_report.imported(Path(log), workspace.names, metric=metric, plot=plot, as_json=as_json)


def _read(file: str) -> tuple[dict[str, object], Path]:
    from recommender.search.task_file import read_task_file

    return read_task_file(file)


def _given(**options: object) -> dict[str, object]:
    return {key: item for key, item in options.items() if item is not None}


def _listed(raw: object) -> list[object]:
    if isinstance(raw, dict):
        return [f"{metric}<={value}" for metric, value in raw.items()]
    return list(raw) if isinstance(raw, list) else []


def _add_stop(
    raw: dict[str, object],
    *,
    evaluations: int | None,
    time: str | None,
    cost: float | None,
    price: float | None,
    patience: int | None,
    gain: float | None,
) -> None:
    from recommender.search.task_file import seconds

    stop = raw.get("stop") or {}
    if not isinstance(stop, dict):
        raise InputError("stop: expected names and values")
    told = _given(
        evaluations=evaluations,
        time_s=None if time is None else seconds(time),
        cost=cost,
        price_per_hour=price,
        patience=patience,
        minimum_gain=gain,
    )
    if told:
        raw["stop"] = {**stop, **told}


def _add_metrics(raw: dict[str, object], metrics: Any, patterns: Any) -> None:
    """Metrics of the options: ``name=path:unit`` and ``name:unit=pattern``; they replace the file's."""
    found: dict[str, object] = {}
    for text in metrics:
        name, sign, rest = text.partition("=")
        path, _, symbol = rest.partition(":")
        if not sign or not path:
            raise InputError(f"--metric {text!r}: expected name=path:unit", hint="kernel_time=time_s:s")
        found[name.strip()] = {"path": path} | ({"unit": symbol} if symbol else {})
    for text in patterns:
        head, sign, expression = text.partition("=")
        name, _, symbol = head.partition(":")
        if not sign or not expression:
            raise InputError(f"--pattern {text!r}: expected name:unit=pattern")
        found[name.strip()] = {"pattern": expression} | ({"unit": symbol} if symbol else {})
    if found:
        raw["metrics"] = found
        raw.pop("objectives", None)


def _begin(
    context: typer.Context,
    raw: Mapping[str, object],
    folder: Path,
    file: str,
    log: str | None,
    seed: int,
    *,
    cold: bool,
    accuracy: bool,
) -> SearchLog:
    from cli import output

    name = str(raw.get("name") or Path(file).stem)
    with open_workspace(context) as workspace:
        prepared = workspace.prepare_search(
            raw,
            name=name,
            folder=folder,
            base=dict(os.environ),
            seed=seed,
            cold=cold,
            allow_unmeasured_accuracy=accuracy,
        )
    for text in prepared.notes:
        output.note(text)
    if prepared.sources:
        best = prepared.sources[0]
        output.note(
            f"starting from {len(prepared.sources)} similar problems, nearest: {best.name}"
            f" (similarity {best.similarity:.2f}, {len(best.costs)} rows)"
        )
    return prepared.begin(log or f"{name}.journal")


def _is_log(text: str) -> bool:
    """Whether a text names a log: a URL, or a file that is no YAML."""
    return "://" in text or (Path(text).is_file() and Path(text).suffix not in {".yaml", ".yml"})


def _open(log: str, name: str) -> SearchLog:
    from recommender.search.study import SearchLog

    return SearchLog.open(log, name=name)


def _own(log: str, name: str) -> SearchLog | None:
    """The search in a log; None if something else wrote it."""
    from kg.errors import TuningError

    try:
        return _open(log, name)
    except TuningError:
        if "://" in log or name:
            raise
        return None


def _task(log: SearchLog) -> Task:
    from recommender.search.assembly import task_of

    return task_of(log)


def _result(log: SearchLog) -> Result:
    from recommender.search.result import Result

    return Result.of(log, _task(log))


def _compare(log: SearchLog, file: str) -> None:
    """Refuse to go on with a search whose file says another space."""
    from recommender.search.task import Task

    raw, _ = _read(file)
    before = _task(log)
    now = Task.of(
        {**raw, **{key: before.raw[key] for key in ("cost_model",) if key in before.raw}},
        name=log.name,
        allow_unmeasured_accuracy=bool(log.about.get("allow_unmeasured_accuracy")),
    )
    if now.digest != log.about["digest"]:
        raise InputError(
            f"{file} is not what {log.storage} searches: {_difference(before, now)}",
            hint="go on without --file to search the old space, or begin a new search with --log",
        )


def _difference(before: Task, now: Task) -> str:
    old = {item.name: item for item in before.space.parameters}
    new = {item.name: item for item in now.space.parameters}
    if changed := sorted(name for name in {*old, *new} if old.get(name) != new.get(name)):
        return f"the parameter{'s' * (len(changed) > 1)} {', '.join(changed)} changed"
    if set(map(str, before.space.constraints)) != set(map(str, now.space.constraints)):
        return "the constraints changed"
    return "objectives or limits changed"


def _go_on(
    context: typer.Context,
    log: SearchLog,
    more: Mapping[str, object] | None,
    *,
    ingest: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    from cli import output
    from cli.progress import Shown
    from recommender.measuring.outcome import CancelledError
    from recommender.search.assembly import runner_of

    shown = Shown()
    runner = runner_of(log, base=dict(os.environ), on_progress=shown.update, more=more)
    shown.task = runner.task
    try:
        with shown:
            _until_told(runner)
    except (KeyboardInterrupt, CancelledError):
        print(f"Go on: tunegraph search resume {log.storage}", file=sys.stderr)
        raise KeyboardInterrupt from None
    result = _result(log)
    _print(result, as_json=as_json)
    if plot is not None:
        from recommender.search.plots import history_svg, write

        write(plot, history_svg(result.history))
        output.note(f"wrote {plot}")
    if ingest:
        _take_in(context, log)


def _until_told(runner: Runner) -> None:
    """Run; a request to terminate is an interruption, after which the search can go on."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        runner.run()
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_in(context: typer.Context, log: SearchLog) -> None:
    """Take what was measured into the workspace; a database elsewhere is left to its user."""
    from cli import output
    from kg.errors import WorkspaceError
    from recommender.workspace import Workspace

    path = Path(log.storage.removeprefix("sqlite:///"))
    if not path.is_file():
        output.note("the log is in a database: export it to ingest it")
        return
    chosen = settings(context)
    try:
        with Workspace.editor(chosen.workspace, cache=chosen.cache, command="search") as editor:
            summary = editor.ingest([path])
    except WorkspaceError as fault:
        output.note(f"not taken into the workspace: {fault}; tunegraph ingest {path}")
        return
    output.note(f"{summary.added.rows} new rows in the workspace: the next search is warmer")


def _print(result: Result, *, as_json: bool) -> None:
    from cli import output, search_report

    if as_json:
        output.as_json(result.to_json())
    else:
        search_report.show(result)
