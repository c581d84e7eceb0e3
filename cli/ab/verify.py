"""The options of ``tunegraph recommend --verify``."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.ab.commands import AlphaOption, GuardOption, MetricOption, PatternOption
from cli.ab.consent import AllowTrustOption, AllowValueOption

__all__ = [
    "AllowTrustOption",
    "AllowValueOption",
    "AlphaOption",
    "BudgetOption",
    "GuardOption",
    "MetricOption",
    "PairsOption",
    "PatternOption",
    "VerifyOption",
]

VerifyOption = Annotated[
    str,
    typer.Option(
        "--verify",
        help="Test the first three against the current settings: {name} is a setting, {options} flags.",
    ),
]
BudgetOption = Annotated[str, typer.Option("--verify-time", help="Time of all runs at most: 90s, 30min, 2h.")]
PairsOption = Annotated[int, typer.Option("--verify-pairs", min=1, help="Pairs at most.")]
