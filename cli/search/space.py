"""``tunegraph search space``: a search file made from model and machine, or one pruned by what is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.context import open_workspace, told_flags
from cli.options import (
    CountOption,
    CurrentOption,
    HardwareOption,
    JsonOption,
    LimitOption,
    ModelOption,
    PrecisionOption,
    ShapeOption,
    SoftwareOption,
    TraitOption,
)
from cli.output import say
from cli.values import pairs, share
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.space.made.search_file import SearchFile

SHOWN = 20
_READ = {
    "--model": {
        "hardware",
        "count",
        "shape",
        "precision",
        "trait",
        "current",
        "software",
        "limit",
        "server",
        "phase",
        "settings",
        "memory_margin",
        "sensitivity",
        "low",
        "budget",
    },
    "--kernel": {"hardware", "shape", "precision", "form", "block", "spills", "bound_from"},
    "a search file": {"known", "left_out", "bound_from"},
}
"""Sources that a space is made from, and the further options that each reads."""


def space(
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(help="A search file to prune with --known.", show_default=False),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            "--known",
            help="Measurements of the same kernel on another device, or workspace for what it has (default);"
            " may be repeated.",
        ),
    ] = None,
    left_out: Annotated[
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
    trait: TraitOption = None,
    current: CurrentOption = None,
    software: SoftwareOption = None,
    limit: LimitOption = None,
    form: Annotated[str, typer.Option("--form", help="Kernels: triton, ascendc or cuda.")] = "",
    block: Annotated[
        int | None, typer.Option(min=1, help="Kernels: side of the blocks that share a scale.")
    ] = None,
    spills: Annotated[
        bool,
        typer.Option("--spills/--no-spills", help="Kernels: allow accumulators to spill out of registers."),
    ] = True,
    server: Annotated[
        str, typer.Option("--server", help="Server type (sets link bandwidth), such as atlas-800t-a2.")
    ] = "",
    phase: Annotated[str, typer.Option("--phase", help="training or serving.")] = "training",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Fixed values: seq_len=4096, global_batch=512."),
    ] = None,
    memory_margin: Annotated[
        str | None,
        typer.Option(
            help="For layouts that a command of yours will measure: share above the device's memory that is"
            " still tried, such as 0.1, or off; the memory is modelled.",
            show_default=False,
        ),
    ] = None,
    sensitivity: Annotated[
        Path | None,
        typer.Option(
            help="Statistics by layer: the precision of layer groups is searched too.", show_default=False
        ),
    ] = None,
    low: Annotated[str, typer.Option(help="The precision that groups may go down to.")] = "int8",
    budget: Annotated[str, typer.Option(help="Loss of accuracy that they may spend, such as 0.5%.")] = "",
    bound_from: Annotated[
        Path | None,
        typer.Option(
            help="A log of a kernel that failed: its compiler's limits bound the sizes.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the search file there.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a search file, or prune one by what is known.

    From a model and a machine, or a kernel.

    Example: tunegraph search space --model qwen3-32b --phase serving --hardware 910B3 --out serve.yaml
    """
    if len([item for item in (model, operator, file) if item]) != 1:
        raise InputError("give a search file to prune, or one of --model and --kernel")
    kind = "--model" if model else "--kernel" if operator else "a search file"
    _refuse_idle(context, kind)
    if file is None and hardware is None:
        raise InputError("a space is for some --hardware")
    sizes, fixed = pairs("--shape", shape), pairs("--set", settings)
    margin = None if memory_margin is None else _margin(memory_margin)
    if budget and sensitivity is None:
        raise InputError("--budget is spent by layer groups: give --sensitivity FILE")
    spent = share("--budget", budget) if budget else None
    place, devices = hardware or "", count or 1
    with open_workspace(context) as workspace:
        maker = workspace.searches.space
        if file is not None:
            is_pruned = bound_from is None or known
            made = maker.pruned(file, known or [], share=left_out) if is_pruned else maker.declared(file)
        elif operator is not None:
            made = maker.kernel(
                operator,
                sizes,
                place,
                precision=precision or "bfloat16",
                form=form,
                block=block,
                spills=spills,
            )
        else:
            made = maker.layouts(
                model or "",
                place,
                count=devices,
                server=server,
                phase=phase,
                stated=_stated(sizes, precision, trait, current, software, limit),
                fixed=fixed,
                margin=margin,
                statistics=sensitivity,
                low=low,
                budget=spent,
            )
        if bound_from is not None:
            made = workspace.searches.bounded(made, bound_from)
    _show(made, out, as_json=as_json)


def _stated(
    sizes: Mapping[str, object],
    precision: str | None,
    trait: list[str] | None,
    current: list[str] | None,
    software: list[str] | None,
    limit: list[str] | None,
) -> dict[str, object]:
    """The question of a space of layouts beside model and machine."""
    tables = {
        "shape": sizes,
        "traits": pairs("--trait", trait),
        "current": pairs("--current", current),
        "software": pairs("--software", software, bare=True, as_text=True),
        "precision": precision,
        "limits": limit,
    }
    return {name: value for name, value in tables.items() if value}


def _refuse_idle(context: typer.Context, kind: str) -> None:
    """Refuse options that nothing reads for such a space.

    Raises:
        InputError: One was given.
    """
    subjects = {"model", "operator", "file", "out", "as_json"}
    for name, flag in told_flags(context).items():
        if name in subjects | _READ[kind]:
            continue
        of = [where for where, read in _READ.items() if name in read]
        raise InputError(f"{flag} says nothing of {kind}", hint=f"it is for {' and '.join(of)}")


def _show(result: SearchFile, out: Path | None, *, as_json: bool) -> None:
    """Print the file of a search, or write it."""
    from cli import output

    for text in result.notes:
        output.note(text)
    if as_json:
        output.as_json({"file": result.file, "left_out": result.excluded, "notes": result.notes})
        return
    for item in result.excluded[:SHOWN]:
        output.note(f"left out: {item['what']}: {item['why']} ({item['source']})")
    if len(result.excluded) > SHOWN:
        output.note(f"left out: {len(result.excluded) - SHOWN} more; --json has all")
    import yaml

    text = yaml.safe_dump(result.file, sort_keys=False, allow_unicode=True, width=110)
    if out is None:
        print(text, end="")
    elif out.exists():
        raise InputError(f"{out} is there already")
    else:
        out.write_text(text, encoding="utf-8")
        say(f"wrote {out}; next: tunegraph search run {out}")


def _margin(text: str) -> float:
    """A share above the memory; infinite for off."""
    if text.strip().lower() == "off":
        return math.inf
    try:
        return share("--memory-margin", text)
    except InputError as error:
        raise InputError(str(error), hint="such as 0.1, or off") from None
