"""``tunegraph tune``: tune a script by starting it, one change at a time."""

from __future__ import annotations

import secrets
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.context import open_workspace, told_flags, with_defaults
from cli.options import JsonOption
from cli.output import aside
from cli.problem_options import ProblemOptions, asks
from cli.values import span_s
from kg.errors import InputError, TuningError

if TYPE_CHECKING:
    from types import FrameType

    from cli.tune.output import TuneProgress
    from recommender.tune.tune_result import TuneOutcome
    from recommender.workspace.tuning import PreparedTune
    from recommender.workspace.workspace import Workspace

NOTHING = 3
"""Exit code where nothing better is known: nothing is recommended."""
UNDECIDED = 5
"""Exit code of a winner that was not confirmed."""
_RESUMED = frozenset({"resume", "name", "accuracy", "client", "write", "report", "dry_run", "as_json"})
"""Options that a tune reads when it goes on; the others are those of its journal."""


@asks("file", "operator", "phase", "objective", "bottleneck", "from_command", "limit", "trace")
def tune(
    context: typer.Context,
    script: Annotated[
        str, typer.Argument(help="The script that starts the server, or the training run.")
    ] = "",
    question: ProblemOptions = ProblemOptions(),  # noqa: B008  frozen, and replaced by `asks`
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", help="A latency to keep: ttft_p99<=2s, tpot_p90<=50ms, e2e_p95<=10s."),
    ] = None,
    load: Annotated[
        str,
        typer.Option(
            "--load",
            help="concurrency=64, 20/s, or find: the highest rate that keeps the limits. "
            "Default: find with limits, else concurrency=16.",
        ),
    ] = "",
    rate: Annotated[str, typer.Option("--rate", help="Requests a second: the same as --load 20/s.")] = "",
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Requests with arrivals and lengths, one JSON a line.")
    ] = None,
    input_len: Annotated[int, typer.Option("--input-len", help="Tokens of a prompt.")] = 512,
    output_len: Annotated[int, typer.Option("--output-len", help="Tokens of an answer.")] = 128,
    requests: Annotated[int, typer.Option("--requests", help="Requests of a probe at least.")] = 100,
    probe_time: Annotated[str, typer.Option("--probe-time", help="Time of a probe at least.")] = "5s",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            help="What it may use, all machines together: 1h, '30 evaluations' (starts), or one of each.",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            help="Try this alone: '--max-num-seqs=64,128', '--enforce-eager=' (without it), VARIABLE=A,B, or "
            "the title or id of a change of the plan. Repeat.",
        ),
    ] = None,
    ready: Annotated[
        str, typer.Option("--ready", help="URL that answers once a command that nothing here knows is ready.")
    ] = "",
    start_time: Annotated[
        str, typer.Option("--start-time", help="A start that says nothing for so long is given up.")
    ] = "30min",
    accuracy: Annotated[
        str,
        typer.Option(
            "--accuracy", help="Command that succeeds where accuracy is kept; $TUNEGRAPH_URL is the server."
        ),
    ] = "",
    client: Annotated[
        str,
        typer.Option(
            "--client",
            help="Who puts the load: vllm, guidellm, aiperf, or a command with {url} and {out}. "
            "Default: tunegraph itself.",
        ),
    ] = "",
    train: Annotated[
        bool, typer.Option("--train", help="It is a training run, measured by its log.")
    ] = False,
    steps: Annotated[int, typer.Option("--steps", help="Steps of a training run that count.")] = 20,
    line: Annotated[
        str, typer.Option("--line", help=r"Your own number in a training log: 'tokens/s: (\S+)'.")
    ] = "",
    better: Annotated[
        Literal["lower", "higher"], typer.Option("--better", help="lower or higher, for --line.")
    ] = "lower",
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            help="A machine like this one that measures too: a host for ssh, or the words that run a command "
            "there: 'srun -w node2'. Repeat.",
        ),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Chance that a verdict is wrong.")] = 0.05,
    write: Annotated[
        str, typer.Option("--write", help="Write a confirmed winner into this new script.")
    ] = "",
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write a page of its course: .html, .pdf or .json.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print every start; start nothing.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest tune, or with that of --name.")
    ] = False,
    name: Annotated[str, typer.Option("--name", help="Of the tune that --resume goes on with.")] = "",
    seed: Annotated[int | None, typer.Option("--seed", help="Of requests and orders.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Tune a script by running it, one change at a time.

    It is started, loaded, changed and measured; a winner is written where restarts in turn confirm it.

    Example: tunegraph tune serve.sh --limit 'ttft_p99<=2s' --budget 1h --write tuned.sh
    """
    from cli.commands.tuned_script import refuse_unwritable
    from cli.output import note
    from cli.tune import output
    from recommender.report.writing import check_form
    from recommender.tune.request import TuneRequest, budget_of

    if load and rate:
        raise InputError("--load and --rate both tell the load", hint="one of them")
    if bool(script) == resume:
        raise InputError("a script to tune, or --resume", hint="tunegraph tune serve.sh")
    idle = [flag for key, flag in told_flags(context).items() if key not in _RESUMED] if resume else []
    if idle or (name and not resume):
        raise InputError(f"{', '.join(idle) or '--name'}: a tune goes on as it was begun, with --resume")
    if write:
        refuse_unwritable(Path(write))
    if report is not None:
        check_form(report)
    with open_workspace(context) as workspace:
        if resume:
            name, request = workspace.tuning.find_request(name)
            request = request.unmasked(accuracy=accuracy, client=client)
        else:
            path = Path(script)
            if not path.is_file():
                raise InputError(f"{script}: no such file")
            request = TuneRequest(
                script=str(path.absolute()),
                script_digest="",
                folder=str(Path.cwd()),
                load=load or rate,
                limits=tuple(limit or ()),
                trace="" if trace is None else str(trace.absolute()),
                requests=requests,
                probe_s=span_s(probe_time),
                input_len=input_len,
                output_len=output_len,
                budget=budget_of(budget or [], span_s),
                changes=tuple(change or ()),
                ready=ready,
                start_s=span_s(start_time),
                accuracy=accuracy,
                client=client,
                trains=train,
                server=question.server,
                steps=steps,
                line=line,
                better=better,
                alpha=alpha,
                machines=tuple(on or ()),
                seed=secrets.randbelow(2**31) if seed is None else seed,
            )
            found = request.read_script()
            if found.program:
                asked = replace(question, from_command=script)
                told = _question(context, workspace, asked, input_len, output_len)
                request = replace(request, question=told)
            request = replace(request, script_digest=found.digest)
        prepared = workspace.tuning.prepare(request)
        for text in prepared.notes:
            note(text)
        if dry_run:
            output.show_launches(prepared, as_json=as_json)
            return
        progress = output.TuneProgress(request.objective(prepared.script))
        name, outcome = _run(workspace, prepared, name, progress)
        rows = _taught(workspace, prepared, name, outcome)
        _written(report, workspace, prepared, name, outcome)
    output.show_outcome(prepared, name, outcome, rows, write=write, as_json=as_json)
    if not outcome.is_better:
        raise typer.Exit(UNDECIDED if outcome.accepted and output.is_open(outcome) else NOTHING)


def _written(
    report: Path | None, workspace: Workspace, prepared: PreparedTune, name: str, outcome: TuneOutcome
) -> None:
    """Write the page of a tune, where one is asked for."""
    if report is not None:
        from cli.commands.report import write_all
        from cli.text.language import localised
        from cli.tune.output import step_text
        from recommender.workspace.tuning import page_of

        objective = prepared.request.objective(prepared.script)
        lines = [localised(f"{step.name}: {step_text(step, objective)}") for step in outcome.steps]
        test = None if outcome.state is None else workspace.experiments.find(name)
        write_all([report], page_of(prepared, name, outcome, [*lines, outcome.why], test))


def _taught(workspace: Workspace, prepared: PreparedTune, name: str, outcome: TuneOutcome) -> int:
    """Teach the graph; the rows that are new. What was found is told in any case."""
    from cli.output import note

    try:
        rows = workspace.tuning.tell(prepared, name, outcome)
        if outcome.state is not None:
            lesson = workspace.experiments.tell(workspace.experiments.find(name))
            rows += 0 if lesson is None else lesson.rows
    except TuningError as fault:
        note(f"the graph did not learn of it: {fault}; tunegraph tune --resume --name {name} tells it again")
        return 0
    return rows


def _run(
    workspace: Workspace, prepared: PreparedTune, name: str, progress: TuneProgress
) -> tuple[str, TuneOutcome]:
    """Run a tune to its end; Ctrl-C and SIGTERM end what it started, and say how to go on."""
    from recommender.workspace.tuning import CancelledError

    cancel = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        cancel.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return workspace.tuning.run(prepared, cancel, progress, name)
    except CancelledError:
        progress.stopped()
        aside(f"Go on: tunegraph tune --resume{f' --name {name}' if name else ''}")
        raise KeyboardInterrupt from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _question(
    context: typer.Context, workspace: Workspace, options: ProblemOptions, input_len: int, output_len: int
) -> dict[str, object]:
    """The question of a plan; of this machine where no hardware is told."""
    raw = with_defaults(context, workspace, options.raw())
    shape = raw.get("shape")
    lengths = {"input_len": input_len, "output_len": output_len}
    told = {**lengths, **(shape if isinstance(shape, dict) else {})}
    if raw.get("phase") == "serving":
        raw["shape"] = told
    return {"hardware": "this machine", **raw}
