"""``tunegraph estimate``: what a configuration would cost, by the cost model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    SoftwareOption,
    facts_at_hand,
)
from cli.values import axes, pairs

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
    software: SoftwareOption = None,
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
    from ingest.questions.launches.launch_facts import merge_facts

    raw = merge_facts(facts_at_hand(from_command=from_command, config_json=config_json, smi=smi))
    given = {"model": model, "hardware": hardware, "count": count}
    raw.update({name: value for name, value in given.items() if value is not None})
    if software:
        stated = raw.get("software")
        held = stated if isinstance(stated, dict) else {}
        raw["software"] = {**held, **pairs("--software", software, as_text=True)}
    with open_workspace(context) as workspace:
        estimated = workspace.estimate(
            raw,
            phase=phase or str(raw.get("phase", "training")),
            server=server or "",
            settings=pairs("--set", settings),
            axes=axes("--sweep", sweep),
            constants=constants,
        )
    for text in estimated.notes:
        output.note(text)
    if plot is not None:
        split, roofline = estimated.write_plots(plot)
        output.note(f"wrote {split} and {roofline.name}")
    if as_json:
        output.as_json(estimated.to_json())
        return
    for record in estimated.records:
        _show(record, phase=estimated.question.phase)


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
