"""``tunegraph green``: when to run, waiting until then, forecasts, and what waiting would have saved."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import settings
from cli.green.statement import (
    ByOption,
    CautionOption,
    DurationOption,
    LeastOption,
    RegionOption,
    RestartOption,
    SplitOption,
    WordsArgument,
    ZoneOption,
)
from cli.late import LateTyper
from cli.options import JsonOption
from cli.output import aside, say
from cli.values import span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from recommender.green.desk import GreenDesk
    from recommender.green.plan import GreenJob, GreenPlan
    from recommender.green.shelf import StoredRegion

app = LateTyper(
    name="green",
    help="Run jobs when the grid is clean.",
    add_completion=False,
)

app.add("statement", "cli.green.statement:statement")


def _green(context: typer.Context) -> GreenDesk:
    from recommender.green.desk import GreenDesk

    return GreenDesk.of_workspace(settings(context).workspace)


def _job(
    duration: str, by: str, *, split: bool, least_run: str, restart: str, caution: float | None
) -> GreenJob:
    from recommender.green.moments import moment_of
    from recommender.green.plan import GreenJob

    return GreenJob(
        duration_s=span_s(duration),
        deadline=moment_of(by, datetime.now(UTC)),
        can_split=split,
        least_run_s=span_s(least_run) if least_run else 0.0,
        restart_s=span_s(restart) if restart else 0.0,
        caution=_caution(caution),
    )


def _caution(told: float | None) -> float:
    from recommender.green.promises import CAUTION

    return CAUTION if told is None else told


@app.command("import")
def import_(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="CSV or JSON of carbon intensity, of one region.")],
    region: RegionOption = "",
    zone: ZoneOption = "",
    label: Annotated[str, typer.Option("--label", help="Times are the start or end of slots.")] = "start",
    kind: Annotated[str, typer.Option("--kind", help="average or marginal, if the file is silent.")] = "",
    graph: Annotated[
        bool, typer.Option("--graph", help="Put its clean and dirty hours into the graph too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read the carbon intensity of a region from files.

    History, and forecasts of services.

    Example: tunegraph green import intensity.csv --region DE
    """
    from cli import output

    if kind not in {"", "average", "marginal"}:
        raise InputError(f"--kind {kind!r}", hint="average or marginal")
    green = _green(context)
    stored, faults = green.add(files, region=region, zone=zone, label=label, kind=kind)
    series, record = stored.series, green.record(stored.series.region)
    if graph:
        from cli.context import open_workspace

        with open_workspace(context) as workspace:
            output.note(f"{workspace.green.teach(series.region)} windows of the day are in the graph")
    for text in (*series.notes, *([str(record)] if record.jobs else []), *faults[:20]):
        output.note(text)
    if as_json:
        content: dict[str, object] = {
            "region": series.region,
            "start": series.start.isoformat(),
            "end": series.end.isoformat(),
            "half_hours": len(series.values),
            "filled": int(series.is_filled.sum()),
            "kind": series.kind or None,
            "scope": series.scope or None,
            "faults": faults,
        }
        output.as_json(content)
    else:
        _show_import(stored)
    if faults:
        raise typer.Exit(2)


def _show_import(stored: StoredRegion) -> None:
    series = stored.series
    what = " ".join(filter(None, (series.kind, series.scope))) or "kind not stated"
    if len(series.values):
        days = len(series.values) / 48
        say(f"{series.region}: {days:.1f} days to {series.end:%Y-%m-%d %H:%M %Z}, {what}")
        values = series.values
        say(f"mean {values.mean():.0f} g/kWh, {values.min():.0f} to {values.max():.0f}")
    else:
        say(f"{series.region}: a published forecast, no history, {what}")


@app.command()
def plan(
    context: typer.Context,
    duration: DurationOption = "1h",
    by: ByOption = "+24h",
    region: RegionOption = "",
    split: SplitOption = False,
    least_run: LeastOption = "",
    restart: RestartOption = "",
    caution: CautionOption = None,
    power: Annotated[
        float | None, typer.Option("--power", min=0, help="Watt of the job: gives grams of CO2.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say when a job should run, and what that saves.

    Example: tunegraph green plan --region DE --duration 8h --by +24h
    """
    from cli import output

    job = _job(duration, by, split=split, least_run=least_run, restart=restart, caution=caution)
    made = _green(context).plan(job, region=region)
    grams = _grams(made, power)
    if as_json:
        output.as_json(
            {**made.to_json(), "carbon_g": grams, "power_w": power and {"value": power, "kind": "assumed"}}
        )
        return
    _notes(made)
    for begin, end in made.pieces:
        say(f"run   {begin.astimezone():%a %Y-%m-%d %H:%M} to {end.astimezone():%a %H:%M}")
    say(f"why   {made.reason}")
    if made.waits:
        say(
            f"saves {made.saving:.1%} of the emissions of a start at once "
            f"({made.saving_low:.1%} to {made.saving_high:.1%}, 90 %)"
        )
        say(f"      chance to end dirtier: {made.chance_dirtier:.0%}")
    if made.once_g_per_kwh is not None and made.planned_g_per_kwh is not None:
        say(f"grid  {made.planned_g_per_kwh:.0f} g/kWh; at once {made.once_g_per_kwh:.0f}")
    if grams:
        say(f"emits {grams['planned']:.0f} g; at once {grams['once']:.0f} g, at an assumed {power:g} W")


def _grams(plan: GreenPlan, power: float | None) -> dict[str, float] | None:
    if power is None or plan.once_g_per_kwh is None:
        return None
    once = power / 1000 * plan.job.duration_s / 3600 * plan.once_g_per_kwh
    return {"once": round(once, 1), "planned": round(once * (1 - plan.saving), 1)}


def _notes(plan: GreenPlan) -> None:
    from cli import output

    for text in plan.notes:
        output.note(text)


@app.command()
def wait(
    context: typer.Context,
    words: WordsArgument = None,
    duration: DurationOption = "1h",
    by: ByOption = "+24h",
    region: RegionOption = "",
    split: SplitOption = False,
    least_run: LeastOption = "",
    restart: RestartOption = "",
    caution: CautionOption = None,
    pause: Annotated[
        str, typer.Option("--pause", help="Pause by: stop (keeps memory) or restart (from a checkpoint).")
    ] = "stop",
    device: Annotated[
        str | None, typer.Option("--device", help="Devices it needs, such as 0,1; '' for none.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Name under which it survives a restart.")] = "",
) -> None:
    """Run a command when the grid is clean.

    Example: tunegraph green wait --region DE --duration 8h --by +24h -- ./train.sh

    Planned anew every half hour. Started again, the same call goes on waiting. Without a series it runs at
    once.
    """
    from recommender.green.waiting.waiter import WaitRequest

    if not words:
        raise InputError(
            "no command to run", hint="tunegraph green wait --by 'tomorrow 08:00' -- python train.py"
        )
    if pause not in {"stop", "restart"}:
        raise InputError(f"--pause {pause!r}", hint="stop or restart")
    green = _green(context)
    visible = (
        os.environ.get("ASCEND_RT_VISIBLE_DEVICES") or os.environ.get("CUDA_VISIBLE_DEVICES") or "machine"
    )
    devices = [item.strip() for item in (visible if device is None else device).split(",")]
    request = WaitRequest(
        command=tuple(words),
        job=_job(duration, by, split=split, least_run=least_run, restart=restart, caution=caution),
        region=green.region_to_wait_for(region, _say),
        name=name,
        devices=tuple(filter(None, devices)),
        pauses_by=pause,
    )
    code = green.wait(request, _say)
    _teach(context, request.region)
    raise typer.Exit(code)


def _teach(context: typer.Context, region: str) -> None:
    """Put the region and what waits on it kept into the graph, where there is a workspace to write to."""
    from cli.context import open_workspace
    from kg.errors import TuningError

    if region and (settings(context).workspace / "workspace.json").exists():
        try:
            with open_workspace(context) as workspace:
                workspace.green.teach(region)
        except TuningError as fault:
            _say(f"the graph does not learn of it: {fault}")


def _say(text: str) -> None:
    aside(f"green: {text}")


@app.command()
def forecast(
    context: typer.Context,
    region: RegionOption = "",
    hours: Annotated[int, typer.Option("--hours", min=1, max=192, help="How far.")] = 48,
    as_json: JsonOption = False,
) -> None:
    """Forecast the carbon intensity of a region.

    Example: tunegraph green forecast --region DE
    """
    from cli import output

    made = _green(context).forecast(region)
    if as_json:
        output.as_json(made.to_json(2 * hours))
        return
    for text in made.outlook.notes:
        output.note(text)
    rows = []
    for slot in range(0, min(2 * hours, len(made.outlook.g_per_kwh)), 2):
        at = (made.start + timedelta(minutes=30 * slot)).astimezone()
        is_known = made.has_interval(slot)
        span = f"{made.low[slot]:.0f} to {made.high[slot]:.0f}" if is_known else "not known"
        rows.append((f"{at:%a %d %H:%M}", f"{made.outlook.g_per_kwh[slot]:.0f}", span))
    say(f"{made.region}, g/kWh, from {made.outlook.basis}\n")
    output.table(("hour", "expected", "90 %"), rows)
    for title, scores in (("error", made.score), ("theirs", made.published_score)):
        if scores:
            say(f"{title:<8}" + ", ".join(f"{key}: {value:.1f} %" for key, value in scores.items()))


@app.command()
def backtest(
    context: typer.Context,
    duration: DurationOption = "8h",
    within: Annotated[str, typer.Option("--within", help="From arrival to deadline, such as 48h.")] = "48h",
    region: RegionOption = "",
    split: SplitOption = False,
    days: Annotated[int, typer.Option("--days", min=14, help="How far to look back.")] = 365,
    caution: CautionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what waiting would have saved over the last year.

    Example: tunegraph green backtest --region DE
    """
    from cli import output

    found = _green(context).backtest(
        duration_s=span_s(duration),
        within_s=span_s(within),
        can_split=split,
        region=region,
        days=days,
        caution=_caution(caution),
    )
    if as_json:
        output.as_json(found.to_json())
        return
    say(f"{found.jobs} jobs of {duration} within {within} on {found.region}; per cent of emissions saved\n")
    output.table(
        ("rule", "saved"),
        (
            ("perfect forecast (not to be had)", f"{found.perfect:.1f}"),
            ("green wait, planned every half hour", f"{found.replanned:.1f}"),
            ("green plan, planned once", f"{found.once:.1f}"),
            ("profile of the last four weeks", f"{found.floor:.1f}"),
        ),
    )
    held = "" if found.held is None else f"; {found.held:.0f} % of the promises held within their interval"
    say(f"\nwait promised {found.promised:.1f}, kept {found.replanned:.1f}{held}")
    say(f"plan promised {found.promised_once:.1f}, kept {found.once:.1f}")
    say(f"{found.shifted:.0f} % of the jobs waited; {found.dirtier:.0f} % of those ended dirtier")
