"""``tunegraph sensitivity``: which layers bear low precision, and three profiles to choose from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption
from cli.output import say
from cli.values import share

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
    """Rank groups of layers by what low precision costs there.

    Example: tunegraph sensitivity losses.csv
    """
    from cli import output
    from recommender.workspace.ask import AskDesk

    most = share("--budget", budget) if budget else None
    answer = AskDesk.sensitivity(file, grouping=by, low=low, budget=most)
    if as_json:
        output.as_json(answer.to_json())
        return
    for text in answer.ranking.notes:
        output.note(text)
    if not space:
        _show(answer.ranking, answer.low)
        return
    import yaml

    if answer.unpriced:
        output.note(f"for a command; a search on the cost model knows no {', '.join(answer.unpriced)}")
    print(yaml.safe_dump(dict(answer.space), sort_keys=False), end="")


def _show(ranking: Sensitivity, low: str) -> None:
    from cli import output

    say(f"Sensitivity is {ranking.basis}; groups, least sensitive per weight first:\n")
    output.table(
        ("group", "layers", "weights", "sensitivity", "stays, because"),
        (
            (
                group.name,
                len(group.layers),
                "not stated" if group.parameters is None else f"{group.parameters:,.0f}",
                "" if group.sensitivity is None else f"{group.sensitivity:.4g}",
                group.kept,
            )
            for group in ranking.groups
        ),
    )
    say()
    output.table(
        ("profile", f"in {low}", "kept", "spent", "saved"), (_row(item, ranking) for item in ranking.profiles)
    )


def _row(item: SensitivityProfile, ranking: Sensitivity) -> tuple[str, ...]:
    spent = f"{item.spent:.3%} loss" if ranking.is_loss else f"{item.spent_share:.0%} of eco's"
    if item.within_budget is False:
        spent += ", beyond the budget"
    return (
        item.name,
        ", ".join(item.low) or "nothing",
        ", ".join(item.high) or "nothing",
        spent,
        f"{item.saved_share:.0%}",
    )
