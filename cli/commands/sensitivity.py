"""``tunegraph sensitivity``: which layers bear low precision, and three profiles to choose from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption
from kg.errors import InputError

if TYPE_CHECKING:
    from recommender.answers.sensitivity import Sensitivity, SensitivityProfile


def sensitivity(
    file: Annotated[Path, typer.Argument(help="Statistics by layer: CSV, JSON, or .safetensors weights.")],
    by: Annotated[str, typer.Option("--by", help="What goes together: kind, block or layer.")] = "kind",
    low: Annotated[str, typer.Option("--low", help="The low precision, such as int8 or fp8.")] = "int8",
    budget: Annotated[
        str, typer.Option("--budget", help="Loss that may be spent, such as 0.5%: needs measured losses.")
    ] = "",
    space: Annotated[
        bool, typer.Option("--space", help="Print the ranking as parameters of a search file (YAML).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Rank groups of layers by how much low precision in them is expected to cost."""
    from cli import output
    from ingest.layers.layer_statistics import read_layers
    from recommender.answers.sensitivity import rank
    from recommender.answers.sensitivity import space as space_of
    from recommender.cost_model.facts.device import precision
    from recommender.cost_model.settings.plans import GROUPS

    low = precision(low)
    most = share_of(budget) if budget else None
    found = rank(read_layers(file), grouping=by, budget=most)
    written = space_of(found, low=low, source=file.name, budget=most)
    if as_json:
        output.as_json({"low": low, **asdict(found), "space": written})
        return
    for text in found.notes:
        output.note(text)
    if not space:
        _show(found, low)
        return
    import yaml

    names = written["parameters"]
    if unpriced := [name for name in (names if isinstance(names, dict) else ()) if name not in GROUPS]:
        output.note(f"for a command; a search on the cost model knows no {', '.join(unpriced)}")
    print(yaml.safe_dump(written, sort_keys=False), end="")


def share_of(text: str) -> float:
    """A loss as a number: ``0.5%`` is 0.005."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"--budget {text!r} is no loss", hint="such as 0.5% or 0.005")
    return value


def _show(found: Sensitivity, low: str) -> None:
    from cli import output

    print(f"Sensitivity is {found.basis}; groups, least sensitive per weight first:\n")
    output.table(
        ("group", "layers", "weights", "sensitivity", "stays, because"),
        (
            (
                group.name,
                len(group.layers),
                "not told" if group.parameters is None else f"{group.parameters:,.0f}",
                "" if group.sensitivity is None else f"{group.sensitivity:.4g}",
                group.kept,
            )
            for group in found.groups
        ),
    )
    print()
    output.table(
        ("profile", f"in {low}", "kept", "spent", "saved"), (_row(item, found) for item in found.profiles)
    )


def _row(item: SensitivityProfile, found: Sensitivity) -> tuple[str, ...]:
    spent = f"{item.spent:.3%} loss" if found.is_loss else f"{item.spent_share:.0%} of eco's"
    if item.within_budget is False:
        spent += ", beyond the budget"
    return (
        item.name,
        ", ".join(item.low) or "nothing",
        ", ".join(item.high) or "nothing",
        spent,
        f"{item.saved_share:.0%}",
    )
