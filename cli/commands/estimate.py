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
    from collections.abc import Mapping, Sequence

    from recommender.answers.estimate import Estimate
    from recommender.green.power_curve import ClockStep

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
        typer.Option("--server", help="Server type (sets link bandwidth), such as atlas-800t-a2."),
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
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Write the split of the time (and the roofline) to this SVG file."),
    ] = None,
    constants: Annotated[
        Path | None, typer.Option("--constants", help="Folder written by tunegraph calibrate.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate time, memory and energy of a step.

    Example: tunegraph estimate --model qwen3-32b --phase serving --hardware 910B3 --set tp=1
    """
    from cli import output

    swept = axes("--sweep", sweep)
    if pareto and not swept:
        raise InputError("--pareto: nothing to choose from", hint="add --sweep, such as --sweep tp=1,2,4,8")
    if compare and swept:
        raise InputError("--compare and --sweep: give one of them")
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
        )
    if line := assumption_line(estimated.assumed):
        output.note(line)
    for text in estimated.notes:
        output.note(text)
    if plot is not None:
        first, *others = estimated.plot(plot)
        output.note(f"wrote {first} and {', '.join(path.name for path in others)}")
    if as_json:
        output.as_json(estimated.to_json())
        return
    if len(estimated.records) == 1:
        _show(estimated.records[0], estimated.clock_steps, phase=estimated.question.phase)
    elif estimated.is_comparison:
        _show_comparison(estimated)
    else:
        _show_sweep(estimated)


def _show_comparison(estimated: Estimate) -> None:
    """Both configurations in one table, and what the second is over the first."""
    from cli import output

    rows = [
        (
            _heading(row["field"], estimated.records[0]),
            *(_shown(row["field"], value) for value in row["values"]),
            "" if row["ratio"] is None else f"{row['ratio']:.3f}x",
        )
        for row in estimated.comparison
    ]
    fits = [{True: "yes", False: "no"}.get(record["fits"], "unknown") for record in estimated.records]
    base, *_ = (record["settings"] for record in estimated.records)
    names = [
        ", ".join(f"{name}={value}" for name, value in record["settings"].items() if other.get(name) != value)
        for record, other in zip(estimated.records, (estimated.records[1]["settings"], base), strict=True)
    ]
    output.table(("", *(name or "defaults" for name in names), "second / first"),
                 [*rows, ("fits", *fits, "")])  # fmt: skip


def _show_sweep(estimated: Estimate) -> None:
    """One line a configuration; those that no other beats are marked and come first."""
    from cli import output

    records, front = estimated.records, estimated.front
    fields = estimated.pareto or (
        "time_s",
        "throughput",
        *(("ttft_s", "tpot_s") if "ttft_s" in records[0] else ()),
    )
    varied = [
        name
        for name in dict.fromkeys(name for record in records for name in record["settings"])
        if len({str(record["settings"].get(name)) for record in records}) > 1
    ]
    order = [*front, *(place for place in range(len(records)) if place not in front)]
    rows = [
        (
            *(["*" if place in front else ""] if estimated.pareto else []),
            *(str(records[place]["settings"].get(name, "")) for name in varied),
            *(_shown(field, records[place][field]) for field in fields),
            _shown("memory_total_bytes", records[place]["memory_total_bytes"]),
            {True: "yes", False: "no"}.get(records[place]["fits"], "unknown"),
        )
        for place in order
    ]
    headings = [_heading(field, records[0]) for field in fields]
    mark = ["front"] if estimated.pareto else []
    output.table((*mark, *varied, *headings, "memory", "fits"), rows)


def _heading(field: str, record: Mapping[str, object]) -> str:
    """What a table calls a field; the unit of a time or of memory stands with the value."""
    if field == "throughput":
        return str(record["throughput_unit"])
    if field.startswith("split_s."):
        return f"{field.removeprefix('split_s.')} time".replace("_", " ")
    short, unit = field.removesuffix("_total_bytes").removesuffix("_s"), ""
    for ending, symbol in (("_throughput", "tokens/s"), ("_j", "J"), ("_w", "W")):
        if field.endswith(ending):
            short, unit = short.removesuffix(ending), f", {symbol}"
    return short.replace("_", " ") + unit


def _shown(field: str, value: object) -> str:
    """A result with its unit."""
    from cli import output

    if not isinstance(value, int | float):
        return "unknown"
    unit = (
        "s"
        if field.endswith("_s") or field.startswith("split_s.")
        else "B"
        if field.endswith("_bytes")
        else ""
    )
    return output.quantity(float(value), unit).strip()


def _show(record: dict[str, object], clocks: Sequence[ClockStep], *, phase: str) -> None:
    from cli import output

    settings = record["settings"]
    title = ", ".join(f"{k}={v}" for k, v in settings.items()) if isinstance(settings, dict) else ""
    time, split, memory = record["time_s"], record["split_s"], record["memory_bytes"]
    if not (isinstance(time, float) and isinstance(split, dict) and isinstance(memory, dict)):
        return
    interval = record["time_interval_90_s"]
    low, high = interval if isinstance(interval, list) else (time, time)
    rows: list[tuple[str, str, str]] = [
        (
            "decode step" if "tpot_s" in record else "step",
            output.quantity(time, "s"),
            f"{output.quantity(low, 's')} to {output.quantity(high, 's')} (90 %)",
        )
    ]
    rows += [
        (f"  {name.replace('_', ' ')}", output.quantity(part, "s"), f"{100 * part / time:.1f} %")
        for name, part in split.items()
        if part > 0
    ]
    hidden = record["communication_hidden_s"]
    if isinstance(hidden, float) and hidden > 0:
        rows.append(("  communication hidden", output.quantity(hidden, "s"), "behind compute"))
    rate = output.figure(float(str(record["throughput"])))
    rows.append(("throughput", rate, str(record["throughput_unit"])))
    for name in ("ttft_s", "ttft_p99_s", "tpot_s", "tpot_p99_s"):
        value = record.get(name)
        if isinstance(value, float):
            rows.append((name.removesuffix("_s").replace("_", " "), output.quantity(value, "s"), ""))
    total, capacity = record["memory_total_bytes"], record["memory_capacity_bytes"]
    if isinstance(total, float) and isinstance(capacity, float):
        verdict = "fits" if record["fits"] else "does not fit"
        rows.append(
            ("memory", output.quantity(total, "B"), f"of {output.quantity(capacity, 'B')}: {verdict}")
        )
    elif isinstance(total, float) and "activations" not in memory and phase == "training":
        rows.append(("memory", output.quantity(total, "B"), "at least: activations are not known"))
    rows += [(f"  {name.replace('_', ' ')}", output.quantity(part, "B"), "") for name, part in memory.items()]
    power, energy = record["power_w"], record["energy_j"]
    if isinstance(power, float) and isinstance(energy, float):
        rows.append(("power of a device", f"{power:.0f} W", "estimate, +-25 %"))
        rows.append(("energy of a step", f"{energy:.4g} J", "all devices"))
        rows += [
            (
                f"  clock at {step.clock:.0%}",
                f"{energy * step.energy:.4g} J",
                f"{step.time - 1:+.0%} time, by curves of training on A100",
            )
            for step in clocks
        ]
    else:
        rows.append(("energy", "unknown", "idle or full power of the device is not known"))
    output.table(("", "estimate", ""), rows, title=title or "defaults")
