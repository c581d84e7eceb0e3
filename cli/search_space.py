"""``tunegraph search space``: a search file made from model and machine, or one pruned by what is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from cli.context import open_workspace
from cli.options import (
    CountOption,
    HardwareOption,
    JsonOption,
    ModelOption,
    PrecisionOption,
    ShapeOption,
    pairs,
)
from kg.errors import InputError

SHOWN = 20


def space(
    context: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="A search file to prune with --known.", show_default=False)
    ] = None,
    known: Annotated[
        list[Path] | None,
        typer.Option("--known", help="Measurements of the same kernel on another device; may be repeated."),
    ] = None,
    share: Annotated[
        float, typer.Option("--share", min=0, max=0.99, help="Share of the space to leave out.")
    ] = 0.6,
    model: ModelOption = None,
    hardware: HardwareOption = None,
    count: CountOption = None,
    operator: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            help="A kernel's configurations instead: gemm, fused_moe, softmax, layernorm, rmsnorm, attention,"
            " convolution.",
        ),
    ] = None,
    shape: ShapeOption = None,
    precision: PrecisionOption = None,
    form: Annotated[str, typer.Option("--form", help="Of a kernel: triton, ascendc or cuda.")] = "",
    block: Annotated[
        int | None, typer.Option(min=1, help="Of a kernel: side of the blocks that share a scale.")
    ] = None,
    spills: Annotated[
        bool, typer.Option("--spills/--no-spills", help="Of a kernel: may sums outgrow the registers?")
    ] = True,
    server: Annotated[str, typer.Option("--server", help="What the devices sit in: its links.")] = "",
    phase: Annotated[str, typer.Option("--phase", help="training or serving.")] = "training",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="What is not searched: seq_len=4096, global_batch=512."),
    ] = None,
    memory_margin: Annotated[
        str | None,
        typer.Option(
            help="For layouts that a command of yours will measure: share above the device's memory that is"
            " still tried, such as 0.1, or off; the memory is modelled.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the search file there.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a search file: layouts of a model on a machine, or a file pruned by what other devices told."""
    from cli import output

    if sum(item is not None for item in (file, model, operator)) != 1:
        raise InputError("give a search file with --known, or --model or --kernel with --hardware")
    if file is not None:
        made, left, notes = _pruned(context, file, known or [], share)
    elif hardware is None:
        raise InputError("a space is for some --hardware")
    elif operator is not None:
        sizes = pairs("--shape", shape)
        made, left, notes = _tiles(
            context, operator, sizes, precision or "bfloat16", hardware, form, block, spills
        )
    else:
        fixed = pairs("--set", settings)
        margin = None if memory_margin is None else _margin(memory_margin)
        made, left, notes = _layouts(context, model or "", hardware, count, server, phase, fixed, margin)
    for text in notes:
        output.note(text)
    if as_json:
        output.as_json({"file": made, "left_out": left, "notes": notes})
        return
    for item in left[:SHOWN]:
        output.note(f"left out: {item['what']}: {item['why']} ({item['source']})")
    if len(left) > SHOWN:
        output.note(f"left out: {len(left) - SHOWN} more; --json has all")
    import yaml

    text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=110)
    if out is None:
        print(text, end="")
    elif out.exists():
        raise InputError(f"{out} is there already")
    else:
        out.write_text(text, encoding="utf-8")
        print(f"wrote {out}; next: tunegraph search run {out}")


_Made = tuple[dict[str, object], list[dict[str, str]], list[str]]


def _layouts(
    context: typer.Context,
    model: str,
    hardware: str,
    count: int | None,
    server: str,
    phase: str,
    fixed: dict[str, object],
    margin: float | None,
) -> _Made:
    from dataclasses import asdict

    from recommender.cost_model.estimate import machine
    from recommender.cost_model.model import model_of
    from recommender.search.spaces.layouts import layout_space

    raw: dict[str, object] = {"model": model, "phase": phase, "hardware": hardware, "count": count or 1}
    with open_workspace(context) as workspace:
        problem, notes = workspace.problem(raw)
        facts = workspace.hardware.facts(problem.hardware.name)
        held = workspace.names.hardware(server) if server else None
        around = workspace.hardware.facts(held.id) if held else None
        sizes_of = workspace.model_facts(problem)
    name = problem.workload.model or model
    sizes = model_of(name, str(sizes_of.get("architecture", "")), sizes_of)
    where = machine(
        problem.hardware.name,
        facts,
        count=count or 1,
        server=held.id if held else "",
        server_facts=around,
    )
    found = layout_space(sizes, where, phase=phase, fixed=fixed, margin=margin or 0.0)
    section: dict[str, object] = {"phase": phase, "fixed": fixed}
    if held:
        section["server"] = held.id
    told = ""
    if found.configurations is not None:
        unasked = found.skipped or margin == math.inf
        what = "configurations, memory not checked" if unasked else "configurations fit the memory"
        told = f"{found.configurations} {what} (modelled)"
    if margin is None:
        numbers: dict[str, object] = {"cost_model": section}
    else:
        numbers = {"modelled_memory": {**section, "margin": margin if math.isfinite(margin) else False}}
        told += "; add a command and its metrics (docs/search.md)"
    return (
        {
            "name": f"{name}-{count or 1}x{problem.hardware.name}-{phase}",
            "problem": {**raw, "model": name, "hardware": problem.hardware.name},
            **numbers,
            "parameters": dict(found.parameters),
            "constraints": [dict(rule) for rule in found.constraints],
            "objectives": ["throughput"],
            "stop": {"evaluations": 60, "patience": 10},
        },
        [asdict(item) for item in found.left],
        [*notes, *(f"rule skipped: {text}" for text in found.skipped), *([told] if told else [])],
    )


def _count(configurations: int | None) -> str:
    return "more than a million" if configurations is None else f"{configurations:,}"


def _margin(text: str) -> float:
    """A share above the memory; infinite for off."""
    if text.strip().lower() == "off":
        return math.inf
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise InputError(f"--memory-margin {text}: no share", hint="such as 0.1, or off")
    return found


def _tiles(
    context: typer.Context,
    operator: str,
    shape: dict[str, object],
    precision: str,
    hardware: str,
    form: str,
    block: int | None,
    spills: bool,
) -> _Made:
    from dataclasses import asdict

    from recommender.cost_model.device import Device
    from recommender.search.spaces.kernels import kernel_space

    with open_workspace(context) as workspace:
        resolved = workspace.names.hardware(hardware)
        facts = workspace.hardware.facts(resolved.id)
    device = Device(resolved.id, dict(facts))
    found = kernel_space(operator, shape, precision, device, form=form, block=block, spills=spills)
    return (
        {
            "name": f"{operator}-{resolved.id}",
            "problem": {"op": operator, "shape": shape, "precision": precision, "hardware": resolved.id},
            "parameters": dict(found.parameters),
            "constraints": [dict(rule) for rule in found.constraints],
        },
        [asdict(item) for item in found.left],
        [
            *([resolved.note] if resolved.note else []),
            *(f"rule skipped: {text}" for text in found.skipped),
            *found.notes,
            f"{_count(found.configurations)} configurations; add a command and its metrics (docs/search.md)",
        ],
    )


def _pruned(context: typer.Context, file: str, known: list[Path], share: float) -> _Made:
    from recommender.search.known_tables import sources_of
    from recommender.search.pruning import prune
    from recommender.search.space_file import read_space
    from recommender.search.task_file import read_task_file

    if not known:
        raise InputError("pruning needs --known: measurements of the same kernel on other devices")
    raw, _ = read_task_file(file)
    with open_workspace(context) as workspace:
        sources = sources_of(known, workspace.names, similarity=1.0)
    found = prune(
        read_space({key: raw[key] for key in ("parameters", "constraints") if key in raw}),
        sources,
        share=share,
    )
    left = [
        {
            "what": f"{pair.names[0]}={pair.values[0]} with {pair.names[1]}={pair.values[1]}",
            "why": f"{math.exp(pair.price):.2f}x the best at least"
            if math.isfinite(pair.price)
            else "failed",
            "source": ", ".join(found.sources),
        }
        for pair in found.pairs
    ]
    rules = [
        {"expression": item.expression, "reason": item.reason, "source": item.source}
        for item in found.space.constraints
    ]
    notes = [f"{found.before} configurations, {found.after} left ({found.removed:.0%} gone)"]
    return {**raw, "constraints": rules}, left, notes
