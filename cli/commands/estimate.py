"""``tunegraph estimate``: what a configuration would cost, by the cost model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace, server_of, with_defaults
from cli.options import JsonOption
from cli.problem_options import ProblemOptions, asks
from cli.values import axes, pairs
from kg.errors import InputError
from kg.nouns.situation import assumption_line

if TYPE_CHECKING:
    from recommender.answers.estimate import Estimate

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as tensor_parallel=8; may be repeated."),
]
SweepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep", help="Values to go through, such as micro_batch=1,2,4; several give every combination."
    ),
]


@asks("operator", "server")
def estimate(
    context: typer.Context,
    question: ProblemOptions,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", help="Server type, such as atlas-800t-a2, or which of several launches of a script."
        ),
    ] = None,
    settings: SetOption = None,
    sweep: SweepOption = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", help="Two sets of settings side by side, such as tp=8 tp=4,dp=2."),
    ] = None,
    pareto: Annotated[
        str | None,
        typer.Option("--pareto", help="Rows of a sweep that no other beats in these: throughput,tpot."),
    ] = None,
    operators: Annotated[
        bool, typer.Option("--operators", help="List the operators of a decode step and of a prefill.")
    ] = False,
    one_pass: Annotated[
        str | None,
        typer.Option("--pass", help="Price one pass, such as prefill,batch=8,chunk=1024,context=4096."),
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw the shares of the operators as bars, with --operators.")
    ] = False,
    constants: Annotated[
        Path | None, typer.Option("--constants", help="Folder written by tunegraph calibrate.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate time, memory and energy of a step.

    Example: tunegraph estimate --model qwen3-32b --phase serving --hardware 910B3 --set tp=1
    """
    from cli import output
    from cli.text.language import language

    swept = axes("--sweep", sweep)
    if pareto and not swept:
        raise InputError("--pareto: nothing to choose from", hint="add --sweep, such as --sweep tp=1,2,4,8")
    if compare and swept:
        raise InputError("--compare and --sweep: give one of them")
    phase, _, told = (one_pass or "").partition(",")
    raw = question.raw()
    with open_workspace(context) as workspace:
        raw = with_defaults(context, workspace, raw)
        estimated = workspace.ask.estimate(
            raw,
            server=server_of(context, server, question.hardware),
            settings=pairs("--set", settings),
            axes=swept,
            compare=[pairs("--compare", [text]) for text in compare or ()],
            pareto=[name for name in (pareto or "").split(",") if name.strip()],
            constants=constants,
            by_operator=operators or plot,
            one_pass=None
            if one_pass is None
            else {**pairs("--pass", [told] if told else []), "phase": phase.strip()},
        )
    if line := assumption_line(estimated.assumed):
        output.note(line)
    for text in estimated.notes:
        output.note(text)
    if as_json:
        output.as_json(estimated.to_json())
        return
    if line := estimated.launch_line(language()):
        output.say(line)
    if one_pass is not None:
        _show_pass(estimated)
    elif len(estimated.steps) == 1:
        _show(estimated)
    if len(estimated.steps) == 1 and (operators or plot):
        _show_passes(estimated, plot=plot)
    elif estimated.is_comparison:
        _show_comparison(estimated)
    elif len(estimated.steps) > 1:
        _show_sweep(estimated)


def _show_pass(estimated: Estimate) -> None:
    """The time of one pass of an engine, and what bounds it."""
    from cli import output

    (one,) = estimated.passes
    bounds = [(f"  bound by {bound}", output.quantity(share * one.time_s, "s"), f"{share:.1%}")
              for bound, share in one.bounds.items()]  # fmt: skip
    shape = f"{one.sequences:g} x {one.queries:g} tokens after {one.cached:g}"
    output.table(
        ("", "estimate", ""),
        [("time", output.quantity(one.time_s, "s"), "by physics alone"), *bounds],
        title=f"{one.phase} of {shape}",
    )


def _show_passes(estimated: Estimate, *, plot: bool) -> None:
    """The operators of each pass, a line each, with a bar where one is drawn."""
    from cli import output

    for one in estimated.passes:
        rows = [
            (
                call.name,
                output.figure(call.count),
                output.quantity(call.time_s, "s"),
                f"{call.share:.1%}",
                call.bound,
                *(["█" * round(16 * call.share)] if plot else []),
            )
            for call in one.operators
        ]
        shape = f"{one.sequences:g} x {one.queries:g}"
        took = output.quantity(one.time_s, "s")
        output.table(
            ("operator", "calls", "time", "share", "bound by", *([""] if plot else [])),
            rows,
            title=f"{one.phase} of {shape} tokens: {took}",
        )


_FITS = {True: "yes", False: "no", None: "unknown"}


def _show_comparison(estimated: Estimate) -> None:
    """Both configurations in one table, and what the second is over the first."""
    from cli import output

    first, second = estimated.steps
    rows = [
        (
            _heading(row["field"], first.unit),
            *(_shown(row["field"], value) for value in row["values"]),
            "" if row["ratio"] is None else f"{row['ratio']:.3f}x",
        )
        for row in estimated.comparison
    ]
    one, other = first.settings, second.settings
    told = [
        (name, one.get(name, "default"), other.get(name, "default"), "")
        for name in dict.fromkeys((*one, *other))
        if one.get(name) != other.get(name)
    ]
    output.table(("", "the first", "the second", "second / first"),
                 [*told, *rows, ("fits", _FITS[first.fits], _FITS[second.fits], "")])  # fmt: skip


def _show_sweep(estimated: Estimate) -> None:
    """One line a configuration; those that no other beats are marked and come first."""
    from cli import output

    steps, front = estimated.steps, estimated.front
    fields = estimated.pareto or (
        "time_s",
        "throughput",
        *(("ttft_s", "tpot_s") if "ttft_s" in steps[0].results else ()),
    )
    varied = [
        name
        for name in dict.fromkeys(name for step in steps for name in step.settings)
        if len({str(step.settings.get(name)) for step in steps}) > 1
    ]
    order = [*front, *(place for place in range(len(steps)) if place not in front)]
    rows = [
        (
            *(["*" if place in front else ""] if estimated.pareto else []),
            *(str(steps[place].settings.get(name, "")) for name in varied),
            *(_shown(field, steps[place].field(field)) for field in (*fields, "memory_total_bytes")),
            _FITS[steps[place].fits],
        )
        for place in order
    ]
    headings = [_heading(field, steps[0].unit) for field in fields]
    mark = ["front"] if estimated.pareto else []
    output.table((*mark, *varied, *headings, "memory", "fits"), rows)


def _heading(field: str, unit_of_rate: str) -> str:
    """The heading of a field in a table; the unit of a time or of memory stands with the value."""
    if field == "throughput":
        return unit_of_rate
    if field.startswith("split_s."):
        return f"{field.removeprefix('split_s.')} time".replace("_", " ")
    short, unit = field.removesuffix("_total_bytes").removesuffix("_s"), ""
    for ending, symbol in (("_throughput", "tokens/s"), ("_j", "J"), ("_w", "W")):
        if field.endswith(ending):
            short, unit = short.removesuffix(ending), f", {symbol}"
    return short.replace("_", " ") + unit


def _shown(field: str, value: float | None) -> str:
    """A result with its unit."""
    from cli import output

    if value is None:
        return "unknown"
    is_time = field.endswith("_s") or field.startswith("split_s.")
    return output.quantity(value, "s" if is_time else "B" if field.endswith("_bytes") else "").strip()


def _show(estimated: Estimate) -> None:
    """One configuration, a line a part."""
    from cli import output

    (step,) = estimated.steps
    time, (low, high) = step.results["step_time_s"], step.time_interval_s
    rows: list[tuple[str, str, str]] = [
        (
            "decode step" if "tpot_s" in step.results else "step",
            output.quantity(time, "s"),
            f"{output.quantity(low, 's')} to {output.quantity(high, 's')} (90 %)",
        )
    ]
    rows += [
        (f"  {name.replace('_', ' ')} time", output.quantity(part, "s"), f"{100 * part / time:.1f} %")
        for name, part in step.split_s.items()
        if part > 0
    ]
    if (hidden := step.results["communication_hidden_s"]) > 0:
        rows.append(("  communication hidden", output.quantity(hidden, "s"), "behind compute"))
    rows.append(("throughput", output.figure(step.throughput), step.unit))
    for name in ("ttft_s", "ttft_p99_s", "tpot_s", "tpot_p99_s"):
        if (value := step.result(name)) is not None:
            rows.append((name.removesuffix("_s").replace("_", " "), output.quantity(value, "s"), ""))
    held, capacity, parts = output.quantity(step.memory_bytes, "B"), step.capacity_bytes, step.memory_parts
    if capacity is not None:
        verdict = "fits" if step.fits else "does not fit"
        rows.append(("memory", held, f"of {output.quantity(capacity, 'B')}: {verdict}"))
    elif "activations" not in parts and estimated.question.phase == "training":
        rows.append(("memory", held, "at least: activations are not known"))
    rows += [(f"  {name.replace('_', ' ')}", output.quantity(part, "B"), "") for name, part in parts.items()]
    power, energy = step.power_w, step.result("energy_j")
    if power is not None and energy is not None:
        rows.append(("power of a device", f"{power:.0f} W", "estimate, +-25 %"))
        rows.append(("energy of a step", f"{energy:.4g} J", "all devices"))
        rows += [
            (
                f"  {one.label}",
                f"{energy * one.energy:.4g} J",
                f"{one.time - 1:+.0%} time, by curves of training on {one.measured_on}",
            )
            for one in estimated.power_steps
        ]
    else:
        rows.append(("energy", "unknown", "idle or full power of the device is not known"))
    title = ", ".join(f"{name}={value}" for name, value in step.settings.items())
    output.table(("", "estimate", ""), rows, title=title or "defaults")
