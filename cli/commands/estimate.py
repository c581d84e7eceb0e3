"""``tunegraph estimate``: what a configuration would cost, by the cost model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace
from cli.options import (
    CommandOption,
    ConfigOption,
    CountOption,
    HardwareOption,
    JsonOption,
    ModelOption,
    SmiOption,
    told,
    value_of,
)
from ingest.questions.launches.launch_facts import merge_facts
from kg.errors import InputError

if TYPE_CHECKING:
    from kg.nouns.entities import Problem
    from recommender.cost_model.facts.model import ModelSizes

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


def estimate(
    context: typer.Context,
    model: ModelOption = None,
    hardware: HardwareOption = None,
    count: CountOption = None,
    server: Annotated[
        str | None,
        typer.Option("--server", help="What the devices sit in, such as atlas-800t-a2: its links."),
    ] = None,
    phase: Annotated[str | None, typer.Option("--phase", help="training (the default) or serving.")] = None,
    from_command: CommandOption = None,
    config_json: ConfigOption = None,
    smi: SmiOption = None,
    settings: SetOption = None,
    sweep: SweepOption = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Write the split of the time (and the roofline) to this SVG file."),
    ] = None,
    constants: Annotated[
        Path | None, typer.Option("--constants", help="Folder written by tunegraph calibrate.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate time, throughput, memory and energy of a training or serving step, with its split."""
    from cli import output
    from recommender.cost_model import estimate as costs
    from recommender.cost_model.operators.kinds import load

    raw = merge_facts(told(from_command=from_command, config_json=config_json, smi=smi))
    given = {"model": model, "hardware": hardware, "count": count}
    raw.update({name: value for name, value in given.items() if value is not None})
    phase = phase or str(raw.get("phase", "training"))
    if phase not in costs.PHASES:
        raise InputError(f"no phase named {phase!r}", hint=f"known: {', '.join(costs.PHASES)}")
    with open_workspace(context) as workspace:
        problem, notes = workspace.problem({**raw, "phase": phase})
        where = problem.hardware.name
        facts = workspace.hardware.facts(where)
        held = workspace.names.hardware(server) if server else None
        around = workspace.hardware.facts(held.id) if held else None
        known = workspace.model_facts(problem)
    for text in (*notes, held.note if held else ""):
        if text:
            output.note(text)
    what = problem.workload.model or ""
    sizes = costs.model_of(what, str(known.get("architecture", "")), known)
    count = problem.hardware.count or 1
    machine = costs.machine(where, facts, count=count, server=held.id if held else "", server_facts=around)
    base = {**_told_settings(problem, phase, count, sizes), **_pairs(settings)}
    chosen = costs.sweep(base, {name: _values(values) for name, values in _pairs(sweep).items()})
    steps = costs.estimate(
        model=sizes,
        machine=machine,
        phase=phase,
        settings=chosen,
        operators=load(constants) if constants else None,
    )
    records = costs.as_records(steps, chosen)
    if plot is not None:
        from recommender.cost_model.plots import roofline_svg, split_svg, write

        write(plot, split_svg(records))
        write(plot.with_name(f"{plot.stem}-roofline.svg"), roofline_svg(machine.device, records))
        output.note(f"wrote {plot} and {plot.stem}-roofline.svg")
    if as_json:
        output.as_json(
            {
                "model": what,
                "hardware": where,
                "server": held.id if held else None,
                "count": count,
                "phase": phase,
                "kind": "modelled",
                "estimates": records,
            }
        )
        return
    for record in records:
        _show(record, phase=phase)


def _told_settings(problem: Problem, phase: str, count: int, sizes: ModelSizes) -> dict[str, object]:
    """What a launch sets, in the words of the cost model; what it has no setting for is noted."""
    from cli import output
    from recommender.cost_model.settings.dialects import translate
    from recommender.cost_model.settings.plans import SERVING, TRAINING

    found = translate(problem.current or {}, phase, count=count, layers=int(sizes.layers) or None)
    if found.untold:
        output.note(f"the cost model has no setting for {', '.join(found.untold)}")
    known = TRAINING if phase == "training" else SERVING
    told = {name: value for name, value in problem.workload.shape.items() if name in known}
    if problem.workload.precision:
        told["precision"] = problem.workload.precision
    return {**told, **found.settings}


def _show(record: dict[str, object], *, phase: str) -> None:
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
            "decode step" if phase == "serving" else "step",
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
    rows.append(("throughput", f"{record['throughput']:.4g}", str(record["throughput_unit"])))
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
    rows += [(f"  {name.replace('_', ' ')}", output.quantity(part, "B"), "") for name, part in memory.items()]
    power, energy = record["power_w"], record["energy_j"]
    if isinstance(power, float) and isinstance(energy, float):
        rows.append(("power of a device", f"{power:.0f} W", "estimate, +-25 %"))
        rows.append(("energy of a step", f"{energy:.4g} J", "all devices"))
    else:
        rows.append(("energy", "unknown", "idle or full power of the device is not known"))
    output.table(("", "estimate", ""), rows, title=title or "defaults")


def _pairs(given: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise InputError(f"{text!r} is not name=value")
        found[name.strip()] = value_of(value.strip()) if "," not in value else value.strip()
    return found


def _values(raw: object) -> list[object]:
    return [value_of(part.strip()) for part in str(raw).split(",") if part.strip()]
